//! From a share of utilisation to a frequency.

use super::Share;
use crate::seam::{FreqMargin, FreqUtil};

/// The wish in kHz, before it is resolved to an operating point; divisions round down.
///
/// ```text
/// F = highest frequency where the kernel knows the present one, else the present one
/// (F + F/4) · util / max          on-frequency
/// F · (util + util/4) / max       on-utilisation
/// F · util / max                  where the utilisation has its quarter already (bounded); then F = cur + cur/4 if not invariant
/// ```
///
/// Kernel: cpufreq_schedutil.c get_next_freq(), sched/cpufreq.h map_util_freq() from v5.0, v4.12–
pub(super) fn raw_khz(util: FreqUtil, margin: FreqMargin, invariant: bool, max_khz: u32, cur_khz: u32, share: Share) -> u32 {
    let reference = u64::from(if invariant { max_khz } else { cur_khz });
    let raw = match (util, margin) {
        (FreqUtil::Bounded, _) => {
            let reference = if invariant { reference } else { reference + reference / 4 };
            reference * share.util / share.max
        }
        (_, FreqMargin::OnFrequency) => (reference + reference / 4) * share.util / share.max,
        (_, FreqMargin::OnUtil) => reference * (share.util + share.util / 4) / share.max,
    };
    u32::try_from(raw).unwrap_or(u32::MAX)
}
