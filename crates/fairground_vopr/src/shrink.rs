//! Makes a failing case smaller: what can go without the failure going is taken away.

use crate::case::Case;
use fairground_machine::CostModel;
use fairground_model::{Change, Instr};
use fairground_stdx::{Id, Ns, ProgramId, TaskId};

/// Rounds over all parts of a case; a part that went may free another.
const ROUNDS: usize = 3;

/// The smallest case that was found of which `fails` still says so.
pub(crate) fn shrink(case: Case, fails: impl Fn(&Case) -> bool) -> Case {
    let mut small = case;
    for _ in 0..ROUNDS {
        let before = small.clone();
        for step in [shorten, drop_last_tasks, empty_programs, drop_changes, plain_kernel, plain_machine, drop_instructions] {
            step(&mut small, &fails);
        }
        if small == before {
            break;
        }
    }
    small
}

type Fails<'a> = &'a dyn Fn(&Case) -> bool;

/// Takes a change of the case over if it fails still.
fn attempt(case: &mut Case, fails: Fails<'_>, change: impl FnOnce(&mut Case)) -> bool {
    let mut smaller = case.clone();
    change(&mut smaller);
    let taken = smaller != *case && fails(&smaller);
    if taken {
        *case = smaller;
    }
    taken
}

fn shorten(case: &mut Case, fails: Fails<'_>) {
    while case.duration > Ns(1_000) && attempt(case, fails, |case| case.duration = Ns(case.duration.0 / 2)) {}
    attempt(case, fails, |case| case.duration = Ns(case.duration.0 * 3 / 4));
}

/// Rows in the middle stay, as ids are row numbers: they are emptied instead.
fn drop_last_tasks(case: &mut Case, fails: Fails<'_>) {
    while case.tasks.tasks.len() > 1 && !last_is_named(case) && attempt(case, fails, drop_last) {}
}

fn drop_last(case: &mut Case) {
    let keep = case.tasks.tasks.len() - 1;
    case.tasks.tasks = case.tasks.tasks.iter().take(keep).cloned().collect();
}

/// Whether a program or a change names the last task.
fn last_is_named(case: &Case) -> bool {
    let last = TaskId::from_index(case.tasks.tasks.len() - 1);
    let forked = |instr: &Instr| matches!(*instr, Instr::Fork { task } if task == last);
    let changed = |change: &Change| match *change {
        Change::Nice { task, .. } | Change::Affinity { task, .. } | Change::Policy { task, .. } | Change::Slice { task, .. } => {
            task == last
        }
        Change::Feature { .. } | Change::FreqCapacity { .. } => false,
    };
    case.tasks.programs.iter().any(|program| program.code.iter().any(forked))
        || case.tasks.changes.iter().any(|timed| changed(&timed.change))
}

fn empty_programs(case: &mut Case, fails: Fails<'_>) {
    for program in (0..case.tasks.programs.len()).map(ProgramId::from_index) {
        attempt(case, fails, |case| case.tasks.programs[program].code.clear());
    }
}

fn drop_changes(case: &mut Case, fails: Fails<'_>) {
    for row in (0..case.tasks.changes.len()).rev() {
        attempt(case, fails, |case| drop(case.tasks.changes.remove(row)));
    }
}

fn plain_kernel(case: &mut Case, fails: Fails<'_>) {
    for row in (0..case.changes.len()).rev() {
        attempt(case, fails, |case| drop(case.changes.remove(row)));
    }
}

fn plain_machine(case: &mut Case, fails: Fails<'_>) {
    if let Ok(zero) = CostModel::preset("zero") {
        attempt(case, fails, |case| case.machine.costs = zero);
    }
    attempt(case, fails, |case| case.machine.tick_jitter = Ns::ZERO);
    attempt(case, fails, |case| case.machine.tick_offset = Ns::ZERO);
    attempt(case, fails, |case| {
        for cpu in case.machine.cpus.iter_mut() {
            (cpu.capacity, cpu.freq_capacity) = (1024, 1024);
        }
    });
    for task in (0..case.tasks.tasks.len()).map(TaskId::from_index) {
        attempt(case, fails, |case| {
            let spec = &mut case.tasks.tasks[task];
            (spec.nice, spec.policy, spec.affinity, spec.first_cpu) = (0, Default::default(), None, None);
        });
    }
}

/// Replaces what is no computing (without which loops would take no time) by a jump to what follows.
fn drop_instructions(case: &mut Case, fails: Fails<'_>) {
    for program in (0..case.tasks.programs.len()).map(ProgramId::from_index) {
        for row in (0..case.tasks.programs[program].code.len()).rev() {
            let computes = matches!(
                case.tasks.programs[program].code[row],
                Instr::Run { .. } | Instr::RunBetween { .. } | Instr::RunTime { .. } | Instr::Jump { .. }
            );
            if !computes {
                attempt(case, fails, |case| case.tasks.programs[program].code[row] = Instr::Jump { to: row as u32 + 1 });
            }
        }
    }
}
