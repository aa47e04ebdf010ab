//! Tunables that another part of a case needs to be other than the kernel has them.

use crate::dice::Dice;
use fairground_model::{Change, TaskSet};
use fairground_sched::Profile;

/// Tunables that one system in four may have otherwise, each in half of those: name, least and most.
const OTHERS: [(&str, u64, u64); 4] = [
    ("sched_migration_cost_ns", 1, 5_000_000),
    ("sched_cfs_bandwidth_slice_us", 1, 20_000),
    ("sched_util_clamp_min_rt_default", 0, 1024),
    ("sched_tunable_scaling", 0, 2),
];

/// Writes some of them. The limit of real-time tasks gets a period of which a short run sees several.
pub(crate) fn tunables(dice: &mut Dice, profile: &mut Profile, set: &TaskSet) {
    // Only then a synchronous wake-up may preempt.
    if dice.once_in(6) {
        write(profile, "sched_migration_cost_ns", "0".to_string());
    }
    if !dice.once_in(4) {
        return;
    }
    for (name, low, high) in OTHERS {
        let value = if dice.once_in(3) { low } else { dice.time(low, high) };
        if dice.once_in(2) {
            write(profile, name, value.to_string());
        }
    }
    if dice.once_in(2) {
        // Where the most is smaller than 1024 the least must be set too, and be no more than that.
        let most = dice.between(0, 1024);
        write(profile, "sched_util_clamp_min", dice.between(0, most).to_string());
        write(profile, "sched_util_clamp_max", most.to_string());
    }
    if dice.once_in(2) {
        let period_us = dice.time(1_000, 50_000);
        // Deadline tasks were drawn for 95 % of each CPU.
        let least = if has_deadline(set) { 95 } else { 1 };
        let runtime_us = (period_us * dice.between(least, 100)).div_ceil(100);
        write(profile, "sched_rt_runtime_us", runtime_us.to_string());
        write(profile, "sched_rt_period_us", period_us.to_string());
    }
}

/// Leaves out what a kernel does not have.
fn write(profile: &mut Profile, name: &str, value: String) {
    if let Ok(written) = profile.clone().with_tunable(name, &value) {
        *profile = written;
    }
}

fn has_deadline(set: &TaskSet) -> bool {
    let becomes = |change: &Change| matches!(change, Change::Policy { policy, .. } if policy.deadline().is_some());
    set.tasks.iter().any(|task| task.policy.deadline().is_some()) || set.changes.iter().any(|timed| becomes(&timed.change))
}
