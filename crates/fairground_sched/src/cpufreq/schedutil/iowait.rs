//! A task that wakes up after it waited for a device asks for more, so that the device does not wait for it.
//!
//! ```text
//! looks         wake   wake   wake   other  other  other
//! from-eighth    128    256    512    256    128     0        of 1024
//! ```

use super::Share;
use crate::seam::IowaitBoost;
use fairground_model::FreqPolicy;

/// What the boost of a CPU is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Boost {
    level: u64,
    /// It was raised since the last evaluation.
    pending: bool,
}

/// Where a boost begins and ends: kHz, or 1/1024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    least: u64,
    most: u64,
}

/// Kernel: cpufreq_schedutil.c IOWAIT_BOOST_MIN, v5.2–
const EIGHTH: u64 = 128;
const WHOLE: u64 = 1024;

impl Bounds {
    pub(super) fn of(rule: IowaitBoost, policy: &FreqPolicy) -> Bounds {
        let (min, max) = (u64::from(policy.min_khz()), u64::from(policy.max_khz()));
        match rule {
            IowaitBoost::Highest => Bounds { least: max, most: max },
            IowaitBoost::DoubledFrequency => Bounds { least: min, most: max },
            IowaitBoost::DoubledCapacity => Bounds { least: WHOLE * min / max, most: WHOLE },
            IowaitBoost::FromEighth => Bounds { least: EIGHTH, most: WHOLE },
        }
    }
}

impl Boost {
    /// A look, which a task that waited for a device has caused, or something else. `late`: the last one is more than a tick ago.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_iowait_boost(), v4.14– (sugov_set_iowait_boost() before)
    pub(super) fn look(&mut self, rule: IowaitBoost, bounds: Bounds, iowait: bool, late: bool) {
        if rule == IowaitBoost::Highest {
            if iowait {
                self.level = bounds.most;
            } else if late {
                self.level = 0;
            }
            return;
        }
        if self.level > 0 && late {
            *self = Boost { level: if iowait { bounds.least } else { 0 }, pending: iowait };
        } else if iowait && !self.pending {
            self.pending = true;
            self.level = if self.level > 0 { (self.level * 2).min(bounds.most) } else { bounds.least };
        }
    }

    /// The share that a CPU asks for: its own, or that of the boost if it is higher. The boost fades.
    ///
    /// Kernel: cpufreq_schedutil.c sugov_iowait_apply(), v4.20– (sugov_iowait_boost() before)
    pub(super) fn apply(&mut self, rule: IowaitBoost, bounds: Bounds, own: Share, late: bool) -> Share {
        if self.level == 0 {
            return own;
        }
        if rule == IowaitBoost::Highest {
            let share = higher(own, Share { util: self.level, max: bounds.most });
            self.level /= 2;
            return share;
        }
        if late {
            *self = Boost::default();
            return own;
        }
        if self.pending {
            self.pending = false;
        } else {
            self.level /= 2;
            if self.level < bounds.least {
                self.level = 0;
                return own;
            }
        }
        match rule {
            IowaitBoost::Highest | IowaitBoost::DoubledFrequency => higher(own, Share { util: self.level, max: bounds.most }),
            IowaitBoost::DoubledCapacity | IowaitBoost::FromEighth => {
                Share { util: own.util.max((self.level * own.max) >> 10), max: own.max }
            }
        }
    }
}

/// The boost, if it is a higher share.
fn higher(own: Share, boost: Share) -> Share {
    if own.util * boost.max < own.max * boost.util { boost } else { own }
}
