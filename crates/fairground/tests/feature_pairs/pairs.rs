//! Which scenario shows what a switch does.

use fairground_model::Reason;
use fairground_model::features::Feat;

/// In what the two runs of a pair differ.
pub(crate) enum Seen {
    /// In their records.
    Records,
    /// In how often something was done or told.
    Reason(Reason),
    /// In the number of interrupts between CPUs.
    Ipis,
}

impl Seen {
    /// The same in words.
    pub(crate) fn words(&self) -> String {
        match self {
            Seen::Records => "the records of the run".to_string(),
            Seen::Reason(reason) => format!("the number of `{}`", reason.slug()),
            Seen::Ipis => "the number of interrupts between CPUs, and their times".to_string(),
        }
    }
}

/// A switch and the scenario in which it matters.
pub(crate) struct Pair {
    pub(crate) feat: Feat,
    /// A file of `scenarios/features/`.
    pub(crate) scenario: &'static str,
    /// Other switches that it needs.
    pub(crate) with: &'static [&'static str],
    /// Settings that it needs.
    pub(crate) set: &'static [&'static str],
    /// The kernels for which it is; empty = all.
    pub(crate) kernels: &'static [&'static str],
    pub(crate) seen: Seen,
}

impl Pair {
    /// The scenario with what else is set.
    pub(crate) fn text(&self) -> String {
        let more: Vec<&str> = self.with.iter().chain(self.set).copied().collect();
        if more.is_empty() { self.scenario.to_string() } else { format!("{} with {}", self.scenario, more.join(", ")) }
    }
}

const fn pair(feat: Feat, scenario: &'static str) -> Pair {
    Pair { feat, scenario, with: &[], set: &[], kernels: &[], seen: Seen::Records }
}

pub(crate) static PAIRS: &[Pair] = &[
    pair(Feat::GENTLE_FAIR_SLEEPERS, "sleeper-credit"),
    pair(Feat::START_DEBIT, "new-tasks"),
    pair(Feat::NEXT_BUDDY, "crowd"),
    pair(Feat::LAST_BUDDY, "crowd"),
    Pair {
        kernels: &["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6"],
        with: &["NEXT_BUDDY"],
        ..pair(Feat::CACHE_HOT_BUDDY, "waiting-buddies")
    },
    Pair { with: &["NEXT_BUDDY", "NO_PICK_BUDDY"], ..pair(Feat::CACHE_HOT_BUDDY, "waiting-buddies") },
    pair(Feat::WAKEUP_PREEMPTION, "crowd"),
    pair(Feat::HRTICK, "crowd"),
    pair(Feat::HRTICK_DL, "deadline-runtime"),
    Pair { with: &["HRTICK"], ..pair(Feat::DOUBLE_TICK, "crowd") },
    pair(Feat::NONTASK_CAPACITY, "interrupts"),
    pair(Feat::TTWU_QUEUE, "two-sockets"),
    pair(Feat::SIS_AVG_CPU, "search"),
    Pair { kernels: &["v4.12", "v4.20", "v5.1", "v5.10", "v5.19"], ..pair(Feat::SIS_PROP, "search") },
    Pair { kernels: &["v6.1", "v6.6"], with: &["NO_SIS_UTIL"], ..pair(Feat::SIS_PROP, "search") },
    pair(Feat::SIS_UTIL, "search"),
    Pair { seen: Seen::Reason(Reason::WarnDoubleClock), ..pair(Feat::WARN_DOUBLE_CLOCK, "offline-quota") },
    Pair { seen: Seen::Ipis, ..pair(Feat::RT_PUSH_IPI, "rt-push") },
    pair(Feat::RT_RUNTIME_SHARE, "rt-hog"),
    pair(Feat::LB_MIN, "light-tasks"),
    pair(Feat::ATTACH_AGE_LOAD, "class-changes"),
    pair(Feat::WA_IDLE, "two-sockets"),
    pair(Feat::WA_WEIGHT, "two-sockets-loaded"),
    pair(Feat::WA_BIAS, "equal-loads"),
    pair(Feat::UTIL_EST, "estimates"),
    pair(Feat::UTIL_EST_FASTUP, "estimates"),
    Pair {
        set: &["preemption=voluntary"],
        seen: Seen::Reason(Reason::ReschedLatencyWarn),
        ..pair(Feat::LATENCY_WARN, "long-section")
    },
    pair(Feat::ALT_PERIOD, "periods"),
    pair(Feat::BASE_SLICE, "periods"),
    pair(Feat::LB_BIAS, "two-sockets-loaded"),
    pair(Feat::FORCE_SD_OVERLAP, "siblings"),
    pair(Feat::NI_RANDOM, "dry-cpus"),
    pair(Feat::NI_RATE, "dry-cpus"),
    pair(Feat::PLACE_LAG, "lag"),
    pair(Feat::PLACE_DEADLINE_INITIAL, "new-tasks"),
    pair(Feat::PLACE_REL_DEADLINE, "moved-deadlines"),
    Pair { set: &["sched_base_slice_ns=3ms"], ..pair(Feat::RUN_TO_PARITY, "lag") },
    pair(Feat::PREEMPT_SHORT, "short-slices"),
    pair(Feat::PICK_BUDDY, "groups-and-buddies"),
    pair(Feat::DELAY_DEQUEUE, "lag"),
    pair(Feat::DELAY_ZERO, "lag"),
];
