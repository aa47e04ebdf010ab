//! conservative: a step up where the load is high, a step down where it is low.

use super::{Policy, Rule};
use fairground_model::Tunable;

pub(super) static RULE: Rule =
    Rule { begin: Policy::within_limits, look: Some(|sched, cx, asked| sched.dbs_update_util_handler(cx, asked, update)) };

/// The frequency that a load asks for, if it is another one.
///
/// Kernel: cpufreq_conservative.c cs_dbs_update(), v4.12–
fn update(policy: &mut Policy, load: u32) -> Option<u32> {
    let governor = *policy.governor();
    let (low, high) = policy.spec.limits();
    let step = (governor.number(Tunable::FreqStep) * u64::from(high) / 100).max(1) as u32;
    let mut wanted = policy.load.requested_khz;
    if !(low..=high).contains(&wanted) {
        wanted = policy.cur_khz();
    }
    if let Some(periods) = policy.load.idle_periods {
        let down = u64::from(step).saturating_mul(periods);
        wanted = u64::from(wanted).saturating_sub(down).max(u64::from(low)) as u32;
    }
    policy.load.requested_khz = wanted;
    if u64::from(load) > governor.number(Tunable::UpThreshold) {
        policy.load.down_skip = 0;
        if wanted == high {
            return None;
        }
        wanted = wanted.saturating_add(step).min(high);
        policy.load.requested_khz = wanted;
        return Some(policy.spec.at_most(wanted).max(low));
    }
    policy.load.down_skip += 1;
    if u64::from(policy.load.down_skip) < governor.number(Tunable::SamplingDownFactor) {
        return None;
    }
    policy.load.down_skip = 0;
    if u64::from(load) >= governor.number(Tunable::DownThreshold) || wanted == low {
        return None;
    }
    wanted = wanted.saturating_sub(step).max(low);
    policy.load.requested_khz = wanted;
    Some(policy.spec.within(wanted))
}
