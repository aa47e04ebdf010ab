//! userspace: what the user has set, within the limits; until then the present frequency stays.

use super::{Policy, Rule};
use fairground_model::Tunable;

pub(super) static RULE: Rule = Rule { begin: set, look: None };

/// Kernel: cpufreq_userspace.c cpufreq_set(), v4.12–
fn set(policy: &Policy) -> Option<u32> {
    Some(policy.spec.within(policy.governor().khz(Tunable::SetspeedKhz).unwrap_or(policy.cur_khz())))
}
