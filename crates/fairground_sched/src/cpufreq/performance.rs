//! performance: always the highest frequency.

use super::Policy;

/// Kernel: cpufreq_performance.c cpufreq_gov_performance_limits(), v4.12–
pub(super) fn target(policy: &Policy) -> u32 {
    policy.spec.limits().1
}
