//! What becomes of groups in the course of a run: held against the order of the changes, before the run.

use crate::nouns::at::{Act, At};
use crate::nouns::cgroup::{GroupAct, IDLE, REMOVE};
use crate::nouns::groups::Groups;
use crate::nouns::limits::LimitWrite;
use crate::nouns::workload::Workload;
use crate::text::Wrong;
use crate::text::fields::Spanned;
use fairground_model::cgroup::parent;
use fairground_model::{CpuMax, Instr, Mistakes, Program, Start, TaskSet, TaskSpec};
use fairground_sched::profile::Profile;
use fairground_sched::seam::{GroupIdle, Refill, Seam};
use fairground_stdx::{Ns, TgId};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Finds files that the kernel does not have.
pub(crate) fn check_files(groups: &Groups, rows: &[Spanned<At>], workloads: &[Workload], profile: &Profile, m: &mut Mistakes) {
    let written = |about: fn(&GroupAct) -> bool| {
        let about = move |act: &Act| if let Act::Group(act) = act { about(act) } else { false };
        rows.iter().filter(move |row| about(&row.value.act)).map(|row| &row.span)
    };
    if !profile.group_idle.has_file() {
        let (message, hint) = no_file::<GroupIdle>(IDLE, profile, GroupIdle::has_file);
        for span in groups.idles().chain(written(|act| matches!(act, GroupAct::Idle(..)))) {
            m.at(span.clone(), message.clone(), hint.clone());
        }
    }
    let limits = |about: fn(&LimitWrite) -> bool| groups.limits().filter(move |row| about(&row.value)).map(|row| &row.span);
    if !profile.refill.has_file() {
        let (message, hint) = no_file::<Refill>("of bursts (cpu.max.burst)", profile, Refill::has_file);
        let changes = written(|act| matches!(act, GroupAct::Limit(_, limit) if limit.file().is_burst()));
        for span in limits(|limit| limit.file().is_burst()).chain(changes) {
            m.at(span.clone(), message.clone(), hint.clone());
        }
        in_workloads((groups, workloads), |limit| limit.burst > Ns::ZERO, &message, &hint, m);
    }
}

/// What to say of a file that is there with later kernels only.
fn no_file<S: Seam>(file: &str, profile: &Profile, has_file: fn(S) -> bool) -> Wrong {
    let since = S::HISTORY.iter().find(|row| has_file(row.1)).map(|row| row.0);
    let hint = match since {
        Some(version) => format!("Kernels have it from {version} on: choose such a profile, or leave it out."),
        None => "Leave it out.".to_string(),
    };
    (format!("profile `{}` has no file {file}", profile.name), hint)
}

/// Finds the groups to which workloads give what their `[[group]]` does not: one mistake for each workload.
fn in_workloads(
    (groups, workloads): (&Groups, &[Workload]),
    about: fn(&CpuMax) -> bool,
    message: &str,
    hint: &str,
    m: &mut Mistakes,
) {
    let declared = |path: &str| groups.limit_of(path).is_some_and(|limit| about(&limit));
    for workload in workloads {
        let mut brought = workload.tasks.groups.iter().filter(|group| about(&group.limit) && !declared(&group.name));
        let Some(group) = brought.next() else { continue };
        let message = format!("group `{}`: {message}", group.name);
        match &workload.span {
            Some(span) => m.at(span.clone(), message, hint),
            None => m.whole(message, hint),
        }
    }
}

/// Goes through the changes in order of time: nothing is done to a group that was removed, the weight of an idle group is not
/// written, and a group is removed when nobody is in it, as far as that is certain before the run.
pub(crate) fn check(rows: &[Spanned<At>], tasks: &TaskSet, m: &mut Mistakes) {
    let mut in_time: Vec<&Spanned<At>> = rows.iter().collect();
    in_time.sort_by_key(|row| row.value.time);
    let mut idle: BTreeSet<&str> = tasks.groups.iter().filter(|group| group.idle).map(|group| group.name.as_str()).collect();
    let mut removed: BTreeMap<&str, Ns> = BTreeMap::new();
    for Spanned { value: At { time, act }, span } in in_time {
        let Act::Group(act) = act else { continue };
        let (GroupAct::Move(path, _)
        | GroupAct::Weight(path, _)
        | GroupAct::Limit(path, _)
        | GroupAct::Clamp(path, _)
        | GroupAct::Idle(path, _)
        | GroupAct::Remove(path)) = act;
        if let Some(at) = removed.get(path.as_str()) {
            let message = format!("`{act}` at {time}: the group was removed at {at}");
            m.at(span.clone(), message, "Do it earlier, or do not remove the group.");
            continue;
        }
        match act {
            GroupAct::Weight(..) if idle.contains(path.as_str()) => {
                let message = format!("`{act}` at {time}: the weight of an idle group cannot be written (EINVAL)");
                m.at(span.clone(), message, format!("Write `{IDLE} {path} 0` before."));
            }
            GroupAct::Idle(_, true) => drop(idle.insert(path)),
            GroupAct::Idle(_, false) => drop(idle.remove(path.as_str())),
            GroupAct::Remove(_) => {
                removed.insert(path, *time);
                remains(path, *time, rows, tasks, &removed, span, m);
            }
            GroupAct::Weight(..) | GroupAct::Limit(..) | GroupAct::Clamp(..) | GroupAct::Move(..) => {}
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
