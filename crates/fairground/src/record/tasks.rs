//! What `/proc` says of each task.

use super::groups::Hierarchies;
use super::root::{Root, text_of};
use fairground_formats::fgr::{SnapGroup, SnapTask};
use fairground_model::cgroup::{ROOT, nice_to_shares, parent};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Kernel: sched.h PF_KTHREAD, v4.12–
const PF_KTHREAD: u64 = 0x0020_0000;

/// All threads, and the autogroups that they are in. Of one that ends meanwhile nothing is told.
///
/// A task has an autogroup if it is in no other one of `groups`: in cgroup v2 its path may name groups without the cpu controller, which count
/// as the root group (task_wants_autogroup()).
pub(super) fn read(
    root: &Root,
    hierarchies: &Hierarchies,
    groups: &[SnapGroup],
    has_autogroups: bool,
) -> (Vec<SnapTask>, Vec<SnapGroup>) {
    let known: BTreeSet<&str> = groups.iter().filter(|group| !group.is_cpuset).map(|group| group.path.as_str()).collect();
    let is_root =
        |path: &str| std::iter::successors(Some(path), |path| parent(path)).all(|path| path == ROOT || !known.contains(path));
    let mut tasks = Vec::new();
    let mut autogroups = BTreeMap::new();
    let mut processes: Vec<u32> = root.names("proc").iter().filter_map(|name| name.parse().ok()).collect();
    processes.sort_unstable();
    for pid in processes {
        let process = root.path(&format!("proc/{pid}"));
        let autogroup = if has_autogroups { autogroup_of(&process) } else { None };
        let mut threads: Vec<u32> =
            super::root::names_of(&process.join("task")).iter().filter_map(|name| name.parse().ok()).collect();
        threads.sort_unstable();
        for tid in threads {
            let thread = process.join("task").join(tid.to_string());
            let Some(mut task) = text_of(&thread.join("stat")).ok().and_then(|stat| of_stat(&stat, tid, pid)) else { continue };
            let cgroup = text_of(&thread.join("cgroup")).unwrap_or_default();
            task.group = hierarchies.path_of(&cgroup);
            if task.group.as_deref().is_none_or(is_root)
                && let Some((path, nice)) = &autogroup
            {
                autogroups.insert(path.clone(), *nice);
                task.group = Some(path.clone());
            }
            task.affinity = text_of(&thread.join("status")).ok().and_then(|status| value(&status, "Cpus_allowed_list"));
            let sched = text_of(&thread.join("sched")).unwrap_or_default();
            let number = |key: &str| value(&sched, key).and_then(|number| number.parse::<u64>().ok());
            task.slice_ns = number("se.slice");
            let clamp = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
            task.uclamp = clamp("uclamp.min").zip(clamp("uclamp.max"));
            tasks.push(task);
        }
    }
    let group = |(path, nice)| SnapGroup { path, shares: Some(nice_to_shares(nice)), ..SnapGroup::default() };
    (tasks, autogroups.into_iter().map(group).collect())
}

/// The autogroup of a process, and the nice value that weighs it: `/autogroup-432 nice 0`. Empty of one in the root group.
fn autogroup_of(process: &Path) -> Option<(String, i8)> {
    let text = text_of(&process.join("autogroup")).ok()?;
    let (path, nice) = text.trim().split_once(" nice ")?;
    Some((path.to_string(), nice.trim().parse().ok()?))
}

/// The value of `key : value`, as `/proc/PID/sched` and `status` have it.
fn value(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))?;
    Some(line.trim().to_string()).filter(|value| !value.is_empty())
}

/// A thread by its `stat` file (proc(5)): the name stands in brackets and may hold any.
fn of_stat(stat: &str, tid: u32, pid: u32) -> Option<SnapTask> {
    let (begin, end) = (stat.find('(')?, stat.rfind(')')?);
    let comm = stat.get(begin + 1..end)?.to_string();
    let fields: Vec<&str> = stat.get(end + 1..)?.split_whitespace().collect();
    // Field 3, the state, is the first one behind the name.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at).and_then(|text| text.parse::<u64>().ok());
    if matches!(field(3), Some("Z" | "X")) {
        return None;
    }
    Some(SnapTask {
        tid,
        pid,
        comm,
        nice: field(19).and_then(|nice| nice.parse().ok()),
        start_ticks: number(22),
        rt_priority: number(40),
        policy: number(41),
        kthread: number(9).is_some_and(|flags| flags & PF_KTHREAD != 0),
        ..SnapTask::default()
    })
}
