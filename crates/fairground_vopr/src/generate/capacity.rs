//! Utilization clamps, and capacity that is lost: at the start and in mid-run.

use crate::dice::Dice;
use fairground_model::{Change, TaskSet, TimedChange, UtilClamp};
use fairground_sched::Profile;
use fairground_sched::seam::Pressure;
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId, TgId};

/// A least up to here and a most from here on never contradict each other, whatever else is asked for.
const MIDDLE: u64 = 512;

/// A request for one of both values.
fn one(dice: &mut Dice) -> UtilClamp {
    match dice.once_in(2) {
        true => UtilClamp { min: Some(dice.between(0, MIDDLE) as u32), max: None },
        false => UtilClamp { min: None, max: Some(dice.between(MIDDLE, 1024) as u32) },
    }
}

/// Lets some tasks and groups ask for clamps, and CPUs lose capacity, where the kernel knows that.
pub(crate) fn capacity(dice: &mut Dice, profile: &Profile, cpus: usize, duration: Ns, set: &mut TaskSet) {
    if dice.once_in(3) {
        some_clamps(dice, profile, cpus, duration, set);
    }
}

/// The same in each case.
pub(super) fn some_clamps(dice: &mut Dice, profile: &Profile, cpus: usize, duration: Ns, set: &mut TaskSet) {
    let (of_tasks, of_groups) = (profile.uclamp.has_tasks(), profile.uclamp.has_groups());
    for spec in set.tasks.iter_mut().filter(|_| of_tasks) {
        if dice.once_in(2) {
            spec.clamp = one(dice).with(one(dice));
        }
    }
    for spec in set.groups.iter_mut().filter(|_| of_groups) {
        if dice.once_in(2) {
            spec.clamp = one(dice).with(one(dice));
        }
    }
    let removed = |group: TgId, set: &TaskSet| {
        set.changes.iter().any(|timed| matches!(timed.change, Change::RemoveGroup { group: gone } if gone == group))
    };
    for _ in 0..dice.between(0, 6) {
        let at = Instant::from_ns(dice.between(0, duration.0 - 1));
        let change = match dice.index(3) {
            0 if of_tasks => Change::Clamp { task: TaskId::from_index(dice.index(set.tasks.len())), clamp: one(dice) },
            1 if of_groups && !set.groups.is_empty() => {
                let group = TgId::from_index(dice.index(set.groups.len()));
                if removed(group, set) {
                    continue;
                }
                Change::GroupClamp { group, clamp: one(dice) }
            }
            2 if profile.pressure != Pressure::None => {
                Change::Pressure { cpu: CpuId::from_index(dice.index(cpus)), lost: dice.between(0, 1023) as u32 }
            }
            _ => continue,
        };
        set.changes.push(TimedChange { at, change });
    }
    set.changes.sort_by_key(|timed| timed.at);
}
