//! What programs set of their own tasks: policy, nice value, slice, affinity and timer slack. A change from outside does not
//! outlast that, so a run that begins with the change has other programs: they set the new value.

use fairground_model::{Change, Instr, Policy, Start, TaskSet};
use fairground_stdx::{CpuMask, Ns, TaskId};

/// A value that is kept, whatever the program sets.
pub(super) enum Kept {
    Nice(i8),
    Policy(Policy),
    Slice(Option<Ns>),
    Affinity(CpuMask),
    Slack(Ns),
}

impl Kept {
    /// What a change from outside sets of a task, if a program could set it too.
    pub(super) fn of(change: &Change) -> Option<(TaskId, Kept)> {
        Some(match *change {
            Change::Nice { task, nice } => (task, Kept::Nice(nice)),
            Change::Policy { task, policy } => (task, Kept::Policy(policy)),
            Change::Slice { task, slice } => (task, Kept::Slice(slice)),
            Change::Affinity { task, cpus } => (task, Kept::Affinity(cpus)),
            _ => return None,
        })
    }
    /// The step that sets this value in place of a step that sets another one.
    fn in_place_of(&self, step: &Instr) -> Option<Instr> {
        Some(match (self, step) {
            (&Kept::Nice(nice), Instr::SetNice { .. }) => Instr::SetNice { nice },
            (&Kept::Policy(policy), Instr::SetPolicy { .. }) => Instr::SetPolicy { policy },
            (&Kept::Slice(slice), Instr::SetSlice { .. }) => Instr::SetSlice { slice },
            (&Kept::Affinity(cpus), Instr::SetAffinity { .. }) => Instr::SetAffinity { cpus: Box::new(cpus) },
            (&Kept::Slack(slack), Instr::SetTimerSlack { .. }) => Instr::SetTimerSlack { slack },
            _ => return None,
        })
    }
}

/// Keeps a value of a task: wherever its program sets another one, it sets this.
pub(super) fn keep(set: &mut TaskSet, task: TaskId, kept: &Kept) {
    let Some(own) = set.tasks.get(task).map(|spec| spec.program) else { return };
    let spec = &mut set.tasks[task];
    // A forked task that has no value of its own has that of its parent, and does not exist at the beginning.
    if spec.start == Start::Forked {
        match *kept {
            Kept::Nice(nice) => spec.nice = nice,
            Kept::Policy(policy) => spec.policy = policy,
            _ => {}
        }
    }
    let mut program = set.programs[own].clone();
    let mut changed = false;
    for step in &mut program.code {
        if let Some(other) = kept.in_place_of(step) {
            (*step, changed) = (other, true);
        }
    }
    if changed {
        set.tasks[task].program = set.programs.push(program);
    }
}

/// Whether a step of a program makes a change of this kind, as `[[at]]` calls it.
pub(super) fn is_of_kind(step: &Instr, kind: &str) -> bool {
    match step {
        Instr::SetNice { .. } => kind == "nice",
        Instr::SetPolicy { .. } => kind == "policy",
        Instr::SetSlice { .. } => kind == "slice",
        Instr::SetAffinity { .. } => kind == "affinity",
        Instr::SetTimerSlack { .. } => kind == "slack",
        _ => false,
    }
}
