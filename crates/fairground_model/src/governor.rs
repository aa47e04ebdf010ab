//! Frequency governors: who chooses the frequency of a policy, and by which tunables.
//!
//! One row describes a governor to all who need not know what it decides: machine files, scenarios, lists and random systems. What it
//! decides is in a file of its name in `fairground_sched/src/cpufreq/`, which `governors!` ties to its row.

use crate::freq::FreqPolicy;
use fairground_stdx::Ns;

/// How the value of a tunable is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunableUnit {
    /// A length of time with its unit, kept in ns.
    Time,
    /// A frequency in kHz, one of the policy's operating points.
    Khz,
    /// A whole number.
    Number,
}

/// A tunable of governors.
#[derive(Clone, Copy, Debug)]
pub struct TunableRow {
    /// The key in machine files.
    pub key: &'static str,
    /// How its value is written.
    pub unit: TunableUnit,
    /// The least value.
    pub low: u64,
    /// The greatest value.
    pub high: u64,
    /// What it sets, as a sentence.
    pub sentence: &'static str,
}

macro_rules! tunables {
    ($($name:ident $key:literal $unit:ident $low:literal..=$high:literal $text:literal;)*) => {
        /// A tunable of governors.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tunable { $(#[doc = $text] $name,)* }
        impl Tunable {
            /// All tunables in order.
            pub const ALL: &'static [Tunable] = &[$(Tunable::$name),*];
            /// What it is.
            pub const fn row(self) -> &'static TunableRow {
                match self {
                    $(Tunable::$name => {
                        &TunableRow { key: $key, unit: TunableUnit::$unit, low: $low, high: $high, sentence: $text }
                    })*
                }
            }
        }
    };
}

tunables! {
    RateLimit "rate_limit" Time 1..=100_000_000_000 "The least time between two changes (rate_limit_us).";
    SamplingRate "sampling_rate" Time 1..=100_000_000_000 "The period over which busy time is measured.";
    UpThreshold "up_threshold" Number 1..=100 "Percent of busy time above which the frequency goes up.";
    DownThreshold "down_threshold" Number 1..=99 "Percent of busy time below which the frequency goes down.";
    FreqStep "freq_step" Number 1..=100 "A step, in percent of the highest frequency.";
    SamplingDownFactor "sampling_down_factor" Number 1..=100_000
        "By how much ondemand lengthens its period at the highest frequency; how many periods conservative waits before it goes down.";
    SetspeedKhz "setspeed_khz" Khz 1..=100_000_000 "The frequency that the user has set (scaling_setspeed).";
    MinKhz "min_khz" Khz 1..=100_000_000 "The lowest frequency that may be chosen (scaling_min_freq).";
    MaxKhz "max_khz" Khz 1..=100_000_000 "The highest frequency that may be chosen (scaling_max_freq).";
    StartKhz "start_khz" Khz 1..=100_000_000
        "The frequency at the beginning of the run; the lowest unless the governor has another of its own.";
}

impl Tunable {
    /// Those that every governor has.
    pub const COMMON: [Tunable; 3] = [Tunable::MinKhz, Tunable::MaxKhz, Tunable::StartKhz];
    /// Pairs of which the first lies below the second; the third says whether they may be equal.
    const ORDER: [(Tunable, Tunable, bool); 2] =
        [(Tunable::MinKhz, Tunable::MaxKhz, true), (Tunable::DownThreshold, Tunable::UpThreshold, false)];
}

/// A governor.
#[derive(Debug)]
pub struct GovernorRow {
    /// The name in machine files.
    pub name: &'static str,
    /// What it does, as a sentence.
    pub sentence: &'static str,
    /// Its tunables beside those that all have, with their defaults; none = the default follows from the policy.
    pub tunables: &'static [(Tunable, Option<u64>)],
    /// The frequency at the beginning of a run; none = that of the machine.
    pub start: fn(&FreqPolicy) -> Option<u32>,
    /// Something outside of it may set the frequency.
    pub lets_others_set: bool,
}

/// The table of governors, handed to the macro `$rows`. A row names the file of the scheduler that decides.
///
/// Kernel: cpufreq_ondemand.c MICRO_FREQUENCY_UP_THRESHOLD, v4.12–
/// Kernel: cpufreq_conservative.c DEF_FREQUENCY_UP_THRESHOLD, DEF_FREQUENCY_DOWN_THRESHOLD, DEF_FREQUENCY_STEP, v4.12–
#[macro_export]
macro_rules! governors {
    ($rows:ident) => {
        $rows! {
            Fixed fixed {
                sentence: "No governor: CPUs run at `freq_capacity`, unless a scenario changes that.",
                tunables: [],
                start: |policy| policy.start_within_limits(),
                lets_others_set: true,
            }
            Schedutil schedutil {
                sentence: "The scheduler chooses by utilisation, whenever that changes and the rate limit allows.",
                tunables: [(Tunable::RateLimit, None)],
                start: FreqPolicy::start_low,
                lets_others_set: false,
            }
            Performance performance {
                sentence: "Always the highest frequency; intel_pstate and amd-pstate in active mode come close.",
                tunables: [],
                start: |policy| Some(policy.limits().1),
                lets_others_set: false,
            }
            Powersave powersave {
                sentence: "Always the lowest frequency.",
                tunables: [],
                start: |policy| Some(policy.limits().0),
                lets_others_set: false,
            }
            Userspace userspace {
                sentence: "The frequency that was set last (`setspeed`).",
                tunables: [(Tunable::SetspeedKhz, None)],
                start: FreqPolicy::start_as_set,
                lets_others_set: true,
            }
            Ondemand ondemand {
                sentence: "Each period: the highest frequency above `up_threshold` % busy, else in proportion.",
                tunables: [
                    (Tunable::SamplingRate, None),
                    (Tunable::UpThreshold, Some(95)),
                    (Tunable::SamplingDownFactor, Some(1)),
                ],
                start: FreqPolicy::start_low,
                lets_others_set: false,
            }
            Conservative conservative {
                sentence: "Each period: a step up above `up_threshold` % busy, down below `down_threshold`.",
                tunables: [
                    (Tunable::SamplingRate, None),
                    (Tunable::UpThreshold, Some(80)),
                    (Tunable::DownThreshold, Some(20)),
                    (Tunable::FreqStep, Some(5)),
                    (Tunable::SamplingDownFactor, Some(1)),
                ],
                start: FreqPolicy::start_low,
                lets_others_set: false,
            }
        }
    };
}

macro_rules! kinds {
    ($($kind:ident $name:ident {
        sentence: $sentence:literal, tunables: $tunables:tt, start: $start:expr, lets_others_set: $others:literal,
    })*) => {
        /// Who chooses.
        ///
        /// Kernel: cpufreq.c struct cpufreq_governor, v4.12–
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GovernorKind { $(#[doc = $sentence] $kind,)* }

        impl GovernorKind {
            /// All governors in order.
            pub const ALL: &'static [GovernorKind] = &[$(GovernorKind::$kind),*];
            /// What it is.
            pub const fn row(self) -> &'static GovernorRow {
                match self {
                    $(GovernorKind::$kind => &GovernorRow {
                        name: stringify!($name),
                        sentence: $sentence,
                        tunables: &$tunables,
                        start: $start,
                        lets_others_set: $others,
                    },)*
                }
            }
        }
    };
}
governors!(kinds);

impl GovernorKind {
    /// The name in machine files.
    pub fn name(self) -> &'static str {
        self.row().name
    }
    /// The governor of that name.
    pub fn by_name(name: &str) -> Option<GovernorKind> {
        GovernorKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
    /// Its tunables: its own, then those that all have.
    pub fn tunables(self) -> impl Iterator<Item = Tunable> {
        self.row().tunables.iter().map(|row| row.0).chain(Tunable::COMMON)
    }
    /// Whether it has a tunable.
    pub fn has(self, tunable: Tunable) -> bool {
        self.tunables().any(|own| own == tunable)
    }
}

/// A governor with its tunables; what is not set has the kernel's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Governor {
    /// Who chooses.
    pub kind: GovernorKind,
    values: [Option<u64>; Tunable::ALL.len()],
}

impl Default for Governor {
    fn default() -> Governor {
        Governor::of(GovernorKind::Fixed)
    }
}

impl Governor {
    /// A governor with the kernel's defaults.
    pub fn of(kind: GovernorKind) -> Governor {
        Governor { kind, values: [None; Tunable::ALL.len()] }
    }
    /// The same with a tunable set.
    #[must_use]
    pub fn with(mut self, tunable: Tunable, value: impl Into<u64>) -> Governor {
        self.set(tunable, Some(value.into()));
        self
    }
    /// Sets a tunable, or leaves it at its default.
    pub fn set(&mut self, tunable: Tunable, value: Option<u64>) {
        self.values[tunable as usize] = value;
    }
    /// What a tunable was set to.
    pub fn said(&self, tunable: Tunable) -> Option<u64> {
        self.values[tunable as usize]
    }
    /// What a tunable is: as it was set, or its default; none = it follows from the policy.
    pub fn get(&self, tunable: Tunable) -> Option<u64> {
        let default = || self.kind.row().tunables.iter().find(|row| row.0 == tunable).and_then(|row| row.1);
        self.said(tunable).or_else(default)
    }
    /// A tunable with a unit of time.
    pub fn time(&self, tunable: Tunable) -> Option<Ns> {
        self.get(tunable).map(Ns)
    }
    /// A tunable that is a frequency.
    pub fn khz(&self, tunable: Tunable) -> Option<u32> {
        self.get(tunable).and_then(|khz| u32::try_from(khz).ok())
    }
    /// A tunable that has a default of its own.
    pub fn number(&self, tunable: Tunable) -> u64 {
        self.get(tunable).expect("invariant: the rows of governors give the default of each number")
    }
    /// Two tunables of which the first should be lower, and whether they may be equal.
    pub fn contradiction(&self) -> Option<(Tunable, Tunable, bool)> {
        let wrong = |&(low, high, equal): &(Tunable, Tunable, bool)| {
            let pair = self.get(low).zip(self.get(high));
            pair.is_some_and(|(low, high)| low > high || low == high && !equal)
        };
        Tunable::ORDER.into_iter().find(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_lies_in_the_range_of_its_tunable_and_every_number_has_one() {
        for &kind in GovernorKind::ALL {
            assert_eq!(GovernorKind::by_name(kind.name()), Some(kind));
            assert_eq!(Governor::of(kind).contradiction(), None, "{}", kind.name());
            for &(tunable, default) in kind.row().tunables {
                let row = tunable.row();
                assert!(default.is_none_or(|value| (row.low..=row.high).contains(&value)), "{} {}", kind.name(), row.key);
                assert_eq!(default.is_some(), row.unit == TunableUnit::Number, "{} {}", kind.name(), row.key);
            }
        }
    }

    #[test]
    fn thresholds_contradict_one_another_with_defaults_too() {
        let conservative = Governor::of(GovernorKind::Conservative);
        let below = Some((Tunable::DownThreshold, Tunable::UpThreshold, false));
        assert_eq!(conservative.with(Tunable::UpThreshold, 20_u32).contradiction(), below, "20 is the default of the other");
        assert_eq!(conservative.with(Tunable::UpThreshold, 21_u32).contradiction(), None);
        assert_eq!(Governor::of(GovernorKind::Ondemand).with(Tunable::UpThreshold, 1_u32).contradiction(), None);
        let one_point = conservative.with(Tunable::MinKhz, 5_u32).with(Tunable::MaxKhz, 5_u32);
        assert_eq!(one_point.contradiction(), None, "one frequency is a range");
    }
}
