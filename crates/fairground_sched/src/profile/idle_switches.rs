//! Switches that a kernel has and that do nothing in it, or nothing in the model of it: turning them is refused by name.

use super::Profile;
use crate::seam::{ForkPlace, OfflineClock, RtBandwidth};
use fairground_model::features::Feat;

/// A switch, in which profiles it does nothing, and why.
struct IdleSwitch {
    feat: Feat,
    is_idle: fn(&Profile) -> bool,
    sentence: &'static str,
}

const IDLE_SWITCHES: &[IdleSwitch] = &[
    IdleSwitch {
        feat: Feat::HZ_BW,
        is_idle: |_| true,
        sentence: "it keeps the tick of CPUs with full dynticks, which are not modelled yet",
    },
    IdleSwitch {
        feat: Feat::PARANOID_AVG,
        is_idle: |_| true,
        sentence: "sums of virtual time have 128 bits here and never overflow",
    },
    IdleSwitch {
        feat: Feat::RT_RUNTIME_SHARE,
        is_idle: |profile| profile.rt_bandwidth != RtBandwidth::Throttle,
        sentence: "real-time tasks are not stopped in this kernel, so no CPU has runtime to borrow",
    },
    IdleSwitch {
        feat: Feat::PLACE_DEADLINE_INITIAL,
        is_idle: |profile| profile.fork_place == ForkPlace::AtFork,
        sentence: "a new task is placed at the fork, and once more when it is queued, then with a whole request",
    },
    IdleSwitch {
        feat: Feat::DOUBLE_TICK,
        is_idle: |profile| profile.pick.is_eevdf(),
        sentence: "a tick has no test of its own with EEVDF, so nothing is left out while the timer is armed",
    },
    IdleSwitch {
        feat: Feat::WARN_DOUBLE_CLOCK,
        is_idle: |profile| profile.offline_clock == OfflineClock::Once,
        sentence: "no path of this kernel is known that reads a run queue's clock twice under one lock",
    },
];

impl Profile {
    /// Why turning a switch does nothing in this profile; `None` where it does something.
    pub fn idle_switch(&self, feat: Feat) -> Option<&'static str> {
        IDLE_SWITCHES.iter().find(|row| row.feat == feat && (row.is_idle)(self)).map(|row| row.sentence)
    }
}
