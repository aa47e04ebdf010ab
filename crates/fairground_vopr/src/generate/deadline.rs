//! Deadline tasks, and tasks that become deadline tasks or stop being so. Together they ask for so little that any one CPU that is left
//! on line would grant it, servers of fair tasks included: a refusal would end the run.

use super::programs::some_policy;
use crate::dice::Dice;
use fairground_machine::Machine;
use fairground_model::{Change, DlParams, Instr, Policy, TaskSet, TimedChange};
use fairground_stdx::{Instant, Ns, TaskId};

/// Makes some tasks of some cases deadline tasks, at the beginning or later.
pub(crate) fn deadline(dice: &mut Dice, machine: &Machine, duration: Ns, set: &mut TaskSet) {
    some_deadline(dice, machine, duration, set, 4);
}

/// The same in one of so many cases.
pub(super) fn some_deadline(dice: &mut Dice, machine: &Machine, duration: Ns, set: &mut TaskSet, cases: u64) {
    let least = machine.cpus.iter().map(|cpu| u64::from(cpu.capacity)).min().unwrap_or(0);
    // In millionths of a CPU: 90 % of its capacity, less the server.
    let total = (900_000 * least / 1024).saturating_sub(60_000);
    let free = |task: &TaskId| set.tasks[*task].affinity.is_none() && !set.tasks[*task].kthread;
    let mut tasks: Vec<TaskId> = set.tasks.ids().filter(free).collect();
    if tasks.is_empty() || total == 0 || !dice.once_in(cases) {
        return;
    }
    let count = dice.between(1, tasks.len().min(12) as u64) as usize;
    while tasks.len() > count {
        tasks.swap_remove(dice.index(tasks.len()));
    }
    let moves_cpus = |instr: &Instr| matches!(instr, Instr::SetAffinity { .. });
    let stays = !set.changes.iter().any(|timed| matches!(timed.change, Change::Affinity { .. }))
        && !set.programs.iter().flat_map(|program| &program.code).any(moves_cpus);
    // A task that comes back before its share is free asks for it twice.
    let changes = if stays { dice.between(0, 8) } else { 0 };
    let share = total / count as u64 / if changes > 0 { 2 } else { 1 };
    if share < 1_000 {
        return;
    }
    for &task in &tasks {
        if changes == 0 || dice.once_in(2) {
            set.tasks[task].policy = params(dice, share);
        }
    }
    for _ in 0..changes {
        let at = Instant::from_ns(dice.between(0, duration.0 - 1));
        let policy = if dice.once_in(2) { params(dice, share) } else { some_policy(dice) };
        set.changes.push(TimedChange { at, change: Change::Policy { task: tasks[dice.index(tasks.len())], policy } });
    }
    set.changes.sort_by_key(|timed| timed.at);
}

/// Parameters of at most that share, in millionths.
fn params(dice: &mut Dice, share: u64) -> Policy {
    let period = dice.between(2_000_000, 200_000_000);
    let runtime = (period * dice.between(share / 2, share) / 1_000_000).max(1024);
    let deadline = if dice.once_in(3) { dice.between(runtime, period) } else { period };
    Policy::Deadline(DlParams { runtime: Ns(runtime), deadline: Ns(deadline), period: Ns(period), reclaim: dice.once_in(4) })
}
