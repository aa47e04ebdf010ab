//! powersave: always the lowest frequency.

use super::Policy;

/// Kernel: cpufreq_powersave.c cpufreq_gov_powersave_limits(), v4.12–
pub(super) fn target(policy: &Policy) -> u32 {
    policy.spec.limits().0
}
