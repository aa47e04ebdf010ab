//! ondemand: above a threshold of busy time the highest frequency at once, else one in proportion to the load.

use super::{Policy, Rule};
use fairground_model::Tunable;

pub(super) static RULE: Rule =
    Rule { begin: Policy::within_limits, look: Some(|sched, cx, asked| sched.dbs_update_util_handler(cx, asked, update)) };

/// The frequency that a load asks for.
///
/// Kernel: cpufreq_ondemand.c od_update(), v4.12–
fn update(policy: &mut Policy, load: u32) -> Option<u32> {
    let (low, high) = policy.spec.limits();
    if u64::from(load) > policy.governor().number(Tunable::UpThreshold) {
        if policy.cur_khz() < high {
            policy.load.rate_mult = policy.governor().number(Tunable::SamplingDownFactor);
        }
        return (policy.cur_khz() != high).then_some(high);
    }
    policy.load.rate_mult = 1;
    Some(policy.spec.nearest(in_proportion(policy, load).clamp(low, high)))
}

/// min + load · (max − min) / 100, of the table's ends whatever the limits.
fn in_proportion(policy: &Policy, load: u32) -> u32 {
    let (min, max) = (policy.spec.min_khz(), policy.spec.max_khz());
    min + (u64::from(load) * u64::from(max - min) / 100) as u32
}
