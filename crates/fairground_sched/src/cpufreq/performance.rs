//! performance: always the highest frequency.

use super::Rule;

/// Kernel: cpufreq_performance.c cpufreq_gov_performance_limits(), v4.12–
pub(super) static RULE: Rule = Rule { begin: |policy| Some(policy.spec.limits().1), look: None };
