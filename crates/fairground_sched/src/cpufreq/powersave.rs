//! powersave: always the lowest frequency.

use super::Rule;

/// Kernel: cpufreq_powersave.c cpufreq_gov_powersave_limits(), v4.12–
pub(super) static RULE: Rule = Rule { begin: |policy| Some(policy.spec.limits().0), look: None };
