//! conservative: a step up where the load is high, a step down where it is low.

use super::Policy;

/// Percent of busy time above which the frequency goes up, and below which it goes down.
///
/// Kernel: cpufreq_conservative.c DEF_FREQUENCY_UP_THRESHOLD, DEF_FREQUENCY_DOWN_THRESHOLD, v4.12–
const UP_THRESHOLD: u32 = 80;
const DOWN_THRESHOLD: u32 = 20;
/// A step, in percent of the highest frequency.
///
/// Kernel: cpufreq_conservative.c DEF_FREQUENCY_STEP, v4.12–
const FREQ_STEP: u32 = 5;

/// The frequency that a load asks for, if it is another one.
///
/// Kernel: cpufreq_conservative.c cs_dbs_update(), v4.12–
pub(super) fn update(policy: &mut Policy, load: u32) -> Option<u32> {
    let governor = *policy.governor();
    let (low, high) = policy.spec.limits();
    let step = (u64::from(governor.freq_step.unwrap_or(FREQ_STEP)) * u64::from(high) / 100).max(1) as u32;
    let mut wanted = policy.load.requested_khz;
    if !(low..=high).contains(&wanted) {
        wanted = policy.cur_khz();
    }
    if let Some(periods) = policy.load.idle_periods {
        let down = u64::from(step).saturating_mul(periods);
        wanted = u64::from(wanted).saturating_sub(down).max(u64::from(low)) as u32;
    }
    policy.load.requested_khz = wanted;
    if load > governor.up_threshold.unwrap_or(UP_THRESHOLD) {
        policy.load.down_skip = 0;
        if wanted == high {
            return None;
        }
        wanted = wanted.saturating_add(step).min(high);
        policy.load.requested_khz = wanted;
        return Some(policy.spec.at_most(wanted).max(low));
    }
    policy.load.down_skip += 1;
    if policy.load.down_skip < governor.sampling_down_factor.unwrap_or(1) {
        return None;
    }
    policy.load.down_skip = 0;
    if load >= governor.down_threshold.unwrap_or(DOWN_THRESHOLD) || wanted == low {
        return None;
    }
    wanted = wanted.saturating_sub(step).max(low);
    policy.load.requested_khz = wanted;
    Some(policy.resolve(wanted))
}
