//! userspace: what the user has set, within the limits; until then the present frequency stays.

use super::Policy;

/// Kernel: cpufreq_userspace.c cpufreq_set(), v4.12–
pub(super) fn target(policy: &Policy) -> u32 {
    policy.resolve(policy.governor().setspeed_khz.unwrap_or(policy.cur_khz()))
}
