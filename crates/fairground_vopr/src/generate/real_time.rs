//! Real-time tasks, and tasks that become real-time tasks or stop being so.

use super::programs::some_policy;
use crate::dice::Dice;
use fairground_model::{Change, Instr, Policy, RtPriority, TaskSet, TimedChange};
use fairground_stdx::{Instant, Ns, TaskId};

/// Makes some tasks of some cases real-time tasks, at the beginning or later, by themselves or from outside.
pub(crate) fn real_time(dice: &mut Dice, duration: Ns, set: &mut TaskSet) {
    if dice.once_in(4) {
        some_real_time(dice, duration, set);
    }
}

/// The same in each case.
pub(super) fn some_real_time(dice: &mut Dice, duration: Ns, set: &mut TaskSet) {
    let share = dice.between(2, 6);
    for task in set.tasks.iter_mut() {
        if dice.once_in(share) {
            task.policy = rt_policy(dice);
        }
    }
    for instr in set.programs.iter_mut().flat_map(|program| &mut program.code) {
        if matches!(instr, Instr::SetPolicy { .. } | Instr::SetTimerSlack { .. }) && dice.once_in(2) {
            *instr = Instr::SetPolicy { policy: any_policy(dice) };
        }
    }
    for _ in 0..dice.between(0, 8) {
        let mut at = dice.between(0, duration.0 - 1);
        if dice.once_in(2) {
            at -= at % 1_000_000;
        }
        let task = TaskId::new(dice.index(set.tasks.len()) as u32);
        let change = Change::Policy { task, policy: any_policy(dice) };
        set.changes.push(TimedChange { at: Instant::from_ns(at), change });
    }
    set.changes.sort_by_key(|timed| timed.at);
}

/// Few priorities, so that many tasks have the same.
pub(super) fn rt_policy(dice: &mut Dice) -> Policy {
    let priority = RtPriority::new(dice.pick(&[1, 1, 2, 50, 99])).unwrap_or(RtPriority::MIN);
    if dice.once_in(2) { Policy::Fifo(priority) } else { Policy::RoundRobin(priority) }
}

fn any_policy(dice: &mut Dice) -> Policy {
    if dice.once_in(2) { rt_policy(dice) } else { some_policy(dice) }
}
