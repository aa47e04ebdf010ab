//! Control groups that a recording tells.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{RecordedTrace, read_any, read_file, read_repaired};
use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;

/// The groups in which a task was one after the other, by its pid.
fn history(trace: &RecordedTrace, pid: u32) -> Vec<&str> {
    trace.groups.iter().filter(|of| trace.tasks[of.task].pid == pid).map(|of| of.path.as_str()).collect()
}

/// `perf record --all-cgroups` of a shell that puts two of its children into groups, and moves one of them later.
#[test]
fn samples_of_perf_tell_the_group_of_the_task_that_runs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/perf_data/samples/groups.data.gz");
    let packed = std::fs::read(path).unwrap();
    let trace = read_any(&packed[..], "groups.data.gz").unwrap();
    assert_eq!(trace.stats.skipped, 0, "{:?}", trace.stats.notes);
    let paths: BTreeSet<&str> = trace.groups.iter().map(|of| of.path.as_str()).collect();
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["/", "/exam/db", "/exam/web"]);
    let histories: Vec<Vec<&str>> = trace.tasks.iter().map(|task| history(&trace, task.pid)).collect();
    assert!(histories.contains(&vec!["/", "/exam/web"]), "{histories:?}");
    assert!(histories.contains(&vec!["/", "/exam/db", "/exam/web"]), "{histories:?}");
    // A child is where its parent was, from its birth on.
    assert!(histories.contains(&vec!["/exam/db"]) && histories.contains(&vec!["/exam/web"]), "{histories:?}");
    assert!(trace.stats.grouped_tasks >= 6 && trace.stats.group_moves >= 3, "{:?}", trace.stats);
    assert!(trace.stats.quality().contains("their weights are not"), "{}", trace.stats.quality());
    // Groups pass through the repair in the same order.
    let plain = fairground_formats::unpack(&packed[..], 1 << 20).unwrap();
    let repaired = read_repaired(Cursor::new(&plain), "groups.data", &[]).unwrap();
    let told = |trace: &RecordedTrace| trace.groups.iter().map(|of| (of.task, of.path.clone())).collect::<Vec<_>>();
    assert_eq!(told(&repaired), told(&read_file(Cursor::new(&plain), "groups.data", &[]).unwrap()));
    for length in (0..plain.len()).step_by(101) {
        let _ = read_any(&plain[..length], "groups.data");
    }
}

const TEXT: &str = "\
 bash-10      [000] d..1.  1.000001: cgroup_attach_task: dst_root=0 dst_id=44 dst_level=2 dst_path=/exam/web pid=10 comm=ba sh
 bash-10      [000] d..2.  1.000002: sched_process_fork: comm=bash pid=10 child_comm=bash child_pid=11
 bash-10      [000] d..2.  1.000003: cgroup_attach_task: dst_root=4 dst_id=9 dst_level=1 dst_path=/v1 pid=10 comm=bash
 bash-10      [000] d..2.  1.000004: sched_switch: prev_comm=bash prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=bash next_pid=11 next_prio=120
 bash-11      [000] d..2.  1.000005: cgroup_transfer_tasks: dst_root=0 dst_id=45 dst_level=1 dst_path=/x pid=11 comm=ba pid=1 comm=y
 bash-11      [000] d..2.  1.000006: cgroup_attach_task: dst_root=0 dst_path=/broken
 bash-11      [000] d..2.  1.000007: sched_switch: prev_comm=bash prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
";

#[test]
fn tracepoints_of_cgroups_in_text() {
    let trace = read_any(TEXT.as_bytes(), "trace.txt").unwrap();
    assert_eq!(history(&trace, 10), ["/exam/web"]);
    let of_child: Vec<&str> = history(&trace, 11);
    assert_eq!(of_child.first(), Some(&"/exam/web"), "inherited");
    assert_eq!(of_child.len(), 2, "{of_child:?}");
    assert_eq!((trace.stats.events, trace.stats.skipped, trace.stats.not_used), (3, 1, 1), "{:?}", trace.stats.notes);
    assert_eq!((trace.stats.grouped_tasks, trace.stats.group_moves), (2, 1));
    let before: Vec<usize> = trace.groups.iter().map(|of| of.before).collect();
    assert_eq!(before, [0, 0, 2]);
    let told: Vec<(u64, bool)> = trace.groups.iter().map(|of| (of.at.ns(), of.comes)).collect();
    // Before the first event there is no time yet; a child is where its parent is.
    assert_eq!(told, [(0, true), (0, false), (3_000, true)]);
    let without =
        read_any(TEXT.lines().filter(|line| !line.contains("cgroup")).collect::<Vec<_>>().join("\n").as_bytes(), "t").unwrap();
    assert!(without.groups.is_empty() && !without.stats.quality().contains("groups of "));
}
