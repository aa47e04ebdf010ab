//! ondemand: above a threshold of busy time the highest frequency at once, else one in proportion to the load.

use super::Policy;

/// Percent of busy time above which the frequency goes up, where idle time is known to the microsecond (NO_HZ).
///
/// Kernel: cpufreq_ondemand.c MICRO_FREQUENCY_UP_THRESHOLD, v4.12–
const UP_THRESHOLD: u32 = 95;

/// The frequency that a load asks for.
///
/// Kernel: cpufreq_ondemand.c od_update(), v4.12–
pub(super) fn update(policy: &mut Policy, load: u32) -> Option<u32> {
    let governor = *policy.governor();
    let (low, high) = policy.spec.limits();
    if load > governor.up_threshold.unwrap_or(UP_THRESHOLD) {
        if policy.cur_khz() < high {
            policy.load.rate_mult = u64::from(governor.sampling_down_factor.unwrap_or(1));
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
