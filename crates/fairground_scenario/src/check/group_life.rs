//! What becomes of groups in the course of a run: held against the order of the changes, before the run.

use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::{GroupAct, REMOVE};
use crate::nouns::groups::Groups;
use crate::nouns::workload::Workload;
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::cgroup::{FileWrite, GroupWrite, Version, parent};
use fairground_model::version::KernelVersion;
use fairground_model::{Instr, Mistakes, Program, Start, TaskGroupSpec, TaskSet, TaskSpec};
use fairground_sched::profile::Profile;
use fairground_sched::seam::{GroupIdle, Refill, Seam, Uclamp};
use fairground_stdx::{Ns, TgId};
use std::collections::BTreeMap;
use std::ops::Range;

/// Finds files that the kernel does not have. Of workloads only the first group that is given more than its `[[group]]` says is named.
pub(crate) fn check_files(groups: &Groups, rows: &[Spanned<At>], workloads: &[Workload], profile: &Profile, m: &mut Mistakes) {
    let in_time = rows.iter().filter_map(|row| match &row.value.act {
        Act::Group(GroupAct::Write(_, write)) => Some((write, &row.span)),
        _ => None,
    });
    for (write, span) in groups.writes().map(|row| (&row.value, &row.span)).chain(in_time) {
        if let Some((message, hint)) = no_file(write, profile) {
            m.at(span.clone(), message, hint);
        }
    }
    let writes = |group: &TaskGroupSpec| GroupWrite::between(&TaskGroupSpec::new("", None), group, Version::V2);
    for workload in workloads {
        let brought = workload.tasks.groups.iter().find_map(|group| {
            let declared = groups.specs.iter().find(|declared| declared.name == group.name).map(writes).unwrap_or_default();
            let mut brought = writes(group).into_iter().filter(|write| !declared.contains(write));
            let wrong = brought.find_map(|write| no_file(&FileWrite::of(write, Version::V2)?, profile))?;
            Some((group, wrong))
        });
        let Some((group, (message, hint))) = brought else { continue };
        let message = format!("group `{}`: {message}", group.name);
        match &workload.span {
            Some(span) => m.at(span.clone(), message, hint),
            None => m.whole(message, hint),
        }
    }
}

/// What to say of a file that is there with later kernels only.
fn no_file(write: &FileWrite, profile: &Profile) -> Option<Wrong> {
    let since = match write.write() {
        GroupWrite::Idle(_) => since(profile.group_idle, GroupIdle::has_file),
        GroupWrite::Burst(_) => since(profile.refill, Refill::has_file),
        GroupWrite::ClampMin(_) | GroupWrite::ClampMax(_) => since(profile.uclamp, Uclamp::has_groups),
        _ => None,
    }?;
    let hint = format!("Kernels have it from {since} on: choose such a profile, or leave it out.");
    Some((format!("profile `{}` has no file {}", profile.name, write.file().name), hint))
}

/// The first kernel that has a file, if this one has not.
fn since<S: Seam>(seam: S, has_file: fn(S) -> bool) -> Option<KernelVersion> {
    let first = S::HISTORY.iter().find(|row| has_file(row.1));
    first.map(|row| row.0).filter(|_| !has_file(seam))
}

/// Goes through the changes in order of time: nothing is done to a group that was removed, and a group is
/// removed when nobody is in it, as far as that is certain before the run.
pub(crate) fn check(rows: &[Spanned<At>], tasks: &TaskSet, m: &mut Mistakes) {
    let mut in_time: Vec<&Spanned<At>> = rows.iter().collect();
    in_time.sort_by_key(|row| row.value.time);
    let mut removed: BTreeMap<&str, Ns> = BTreeMap::new();
    for Spanned { value: At { time, act }, span } in in_time {
        let Act::Group(act) = act else { continue };
        let path = act.path();
        if let Some(at) = removed.get(path) {
            let message = format!("`{act}` at {time}: the group was removed at {at}");
            m.at(span.clone(), message, "Do it earlier, or do not remove the group.");
            continue;
        }
        if let GroupAct::Remove(_) = act {
            removed.insert(path, *time);
            remains(path, *time, rows, tasks, &removed, span, m);
        }
    }
}

/// Says who is certainly in the group when it is removed, or comes into it later.
fn remains(
    path: &str,
    time: Ns,
    rows: &[Spanned<At>],
    tasks: &TaskSet,
    removed: &BTreeMap<&str, Ns>,
    span: &Range<usize>,
    m: &mut Mistakes,
) {
    let Some(id) = tasks.groups.iter_enumerated().find(|row| row.1.name == path).map(|row| row.0) else { return };
    let child = tasks.groups.iter().find(|group| parent(&group.name) == Some(path) && !removed.contains_key(group.name.as_str()));
    let (message, hint) = if let Some(child) = child {
        let message = format!("group `{path}` cannot be removed while group `{}` is in it (EBUSY)", child.name);
        (message, format!("Remove that one first: `{REMOVE} {}`.", child.name))
    } else if let Some(task) = tasks.tasks.iter().find(|task| task.group == Some(id) && stays(task, time, rows, tasks)) {
        let message = format!("group `{path}` cannot be removed while task `{}` is in it (EBUSY)", task.name);
        (message, format!("Move it out first: `cgroup.procs / {}`.", task.name))
    } else if let Some(task) = tasks.tasks.iter().find(|task| enters(&tasks.programs[task.program], id)) {
        let message = format!("group `{path}` is removed, and a step of task `{}` goes into it", task.name);
        (message, "Whether the step comes earlier is known in the run only: keep the group.".to_string())
    } else {
        return;
    };
    m.at(span.clone(), message, hint);
}

/// Whether a task that lies in a group from its start is there at `time`, or comes there later: nobody moves it, and it has no end.
fn stays(task: &TaskSpec, time: Ns, rows: &[Spanned<At>], tasks: &TaskSet) -> bool {
    let moved = rows.iter().any(|row| matches!(&row.value.act, Act::Group(GroupAct::Move(_, name)) if *name == task.name));
    let program = &tasks.programs[task.program];
    let moves = program.code.iter().any(|instr| matches!(instr, Instr::SetGroup { .. }));
    let later = matches!(task.start, Start::At(at) if at.ns() >= time.0);
    let born = matches!(task.start, Start::At(_));
    !moved && !moves && born && (later || endless(program))
}

/// Whether a program surely goes on for ever: no step leads out of it.
fn endless(program: &Program) -> bool {
    let end = program.code.len() as u32;
    let out = |instr: &Instr| match *instr {
        Instr::Exit => true,
        Instr::Jump { to } | Instr::Repeat { to, .. } | Instr::JumpIfBefore { to, .. } => to >= end,
        _ => false,
    };
    matches!(program.code.last(), Some(Instr::Jump { .. })) && !program.code.iter().any(out)
}

fn enters(program: &Program, group: TgId) -> bool {
    program.code.contains(&Instr::SetGroup { group: Some(group) })
}
