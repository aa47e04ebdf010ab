//! The scheduler's feature switches: one table with history, one row per switch.

use crate::mistake::Wrong;
use crate::version::{KernelVersion, v};
use fairground_stdx::nearest;
use std::fmt;

/// Default of a switch in a kernel that has it; `None` where the kernel does not have it.
pub type FeatDefault = Option<bool>;

/// A row of the table.
#[derive(Debug)]
pub struct FeatRow {
    /// The kernel's name.
    pub name: &'static str,
    /// What the switch does, as a sentence.
    pub sentence: &'static str,
    /// Default from a version on; absent before the first row.
    pub history: &'static [(KernelVersion, FeatDefault)],
    /// Where the recorded stable kernel of a version differs from that.
    pub stable: &'static [(KernelVersion, FeatDefault)],
}

impl FeatRow {
    /// Default in a kernel. `v5.10`, `v6.1` and so on stand for the stable kernels that were recorded.
    pub fn at(&self, version: KernelVersion) -> FeatDefault {
        if let Some(&(_, default)) = self.stable.iter().find(|row| row.0 == version) {
            return default;
        }
        self.mainline_at(version)
    }

    /// Default in a mainline kernel, whatever was carried back to the stable ones.
    pub fn mainline_at(&self, version: KernelVersion) -> FeatDefault {
        self.history.iter().rev().find(|row| row.0 <= version).and_then(|row| row.1)
    }

    /// The kernels that have it: `v4.12–v6.5`, `v6.6–`, `v5.10, v5.13–v6.5` with a stable one to which it was carried back.
    pub fn kernels(&self) -> String {
        let span = |&(since, _): &(KernelVersion, FeatDefault)| {
            let gone = self.history.iter().find(|row| row.0 > since && row.1.is_none());
            format!("{since}–{}", gone.and_then(|row| row.0.previous()).map_or_else(String::new, |last| last.to_string()))
        };
        let begins = |at: usize| self.history[at].1.is_some() && (at == 0 || self.history[at - 1].1.is_none());
        let spans = (0..self.history.len()).filter(|&at| begins(at)).map(|at| span(&self.history[at]));
        let carried = self.stable.iter().filter(|row| row.1.is_some() && self.mainline_at(row.0).is_none());
        carried.map(|row| row.0.to_string()).chain(spans).collect::<Vec<_>>().join(", ")
    }

    /// The defaults in the order of kernels: `on`, `on, off from v6.0`.
    pub fn defaults(&self) -> String {
        let known: Vec<(KernelVersion, bool)> = self.history.iter().filter_map(|&(since, on)| Some((since, on?))).collect();
        let word = |on: bool| if on { "on" } else { "off" };
        let changes = known.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        let later = changes.map(|pair| format!("{} from {}", word(pair[1].1), pair[1].0));
        known.first().map(|row| word(row.1).to_string()).into_iter().chain(later).collect::<Vec<_>>().join(", ")
    }
}

const ON: FeatDefault = Some(true);
const OFF: FeatDefault = Some(false);
const GONE: FeatDefault = None;

macro_rules! features {
    ($($name:ident [$(($major:literal, $minor:literal) $default:ident),+]
        $(stable [$(($s_major:literal, $s_minor:literal) $s_default:ident),+])? $sentence:literal;)*) => {
        /// A feature switch, under the kernel's name.
        ///
        /// Kernel: features.h SCHED_FEAT, v4.12–
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[allow(non_camel_case_types, reason = "the kernel's own names")]
        #[repr(u8)]
        pub enum Feat {
            $(#[doc = $sentence] $name,)*
        }

        impl Feat {
            /// All switches in the order of the table.
            pub const ALL: &'static [Feat] = &[$(Feat::$name),*];
        }

        static TABLE: &[FeatRow] = &[$(FeatRow {
            name: stringify!($name),
            sentence: $sentence,
            history: &[$((v($major, $minor), $default)),+],
            stable: &[$($((v($s_major, $s_minor), $s_default)),+)?],
        }),*];
    };
}

features! {
    GENTLE_FAIR_SLEEPERS [(4, 12) ON, (6, 6) GONE] "A woken sleeper gets half of the credit.";
    START_DEBIT [(4, 12) ON, (6, 6) GONE] "A new task starts one virtual slice behind min_vruntime.";
    NEXT_BUDDY [(4, 12) OFF] "The task that was woken last is preferred at the next pick.";
    LAST_BUDDY [(4, 12) ON, (6, 6) GONE] "A preempted task is preferred when its preemptor stops.";
    CACHE_HOT_BUDDY [(4, 12) ON] "The balancer takes buddy tasks for cache hot if the destination is busy.";
    WAKEUP_PREEMPTION [(4, 12) ON] "A woken task may preempt the running one.";
    HRTICK [(4, 12) OFF, (7, 2) ON] "A high-resolution timer ends the fair slice.";
    HRTICK_DL [(5, 12) OFF, (7, 2) ON] "A high-resolution timer ends the runtime of a deadline task.";
    DOUBLE_TICK [(4, 12) OFF, (6, 14) GONE] "The tick checks preemption even while a high-resolution timer is armed.";
    NONTASK_CAPACITY [(4, 12) ON] "Interrupt and stolen time is taken off the CPU's capacity.";
    TTWU_QUEUE [(4, 12) ON] "Wake-ups across caches are queued and done by the target CPU.";
    SIS_AVG_CPU [(4, 12) OFF, (5, 12) GONE] "No search for an idle CPU if the average idle time is below its cost.";
    SIS_PROP [(4, 12) ON, (6, 0) OFF, (6, 7) GONE]
        "The search for an idle CPU visits as many as average idle time and cost of a visit allow.";
    SIS_UTIL [(6, 0) ON] "The search for an idle CPU visits the fewer, the more the cache domain is used.";
    WARN_DOUBLE_CLOCK [(4, 12) OFF] "Warns when a run queue's clock is updated twice under one lock; no scheduling depends on it.";
    RT_PUSH_IPI [(4, 12) ON, (7, 2) OFF]
        "A CPU that lowers its priority asks overloaded CPUs to push real-time tasks, instead of pulling them.";
    RT_RUNTIME_SHARE [(4, 12) ON, (5, 10) OFF] "A real-time queue that ran out of runtime borrows from other CPUs.";
    LB_MIN [(4, 12) OFF] "The balancer passes over tasks with a load below 16.";
    ATTACH_AGE_LOAD [(4, 12) ON] "A task's load is aged when it changes queue.";
    WA_IDLE [(4, 14) ON] "An affine wake-up prefers an idle waker's or previous CPU.";
    WA_WEIGHT [(4, 14) ON] "An affine wake-up compares the effective loads of both CPUs.";
    WA_BIAS [(4, 14) ON] "That comparison gives the previous CPU a handicap.";
    UTIL_EST [(4, 17) ON] "Utilisation of tasks is estimated from their last activations.";
    UTIL_EST_FASTUP [(5, 5) ON, (6, 8) GONE] "The estimate follows a rise at once and averages only downwards.";
    LATENCY_WARN [(5, 13) OFF] "Warns when a reschedule is due for more than 100 ms; no scheduling depends on it.";
    ALT_PERIOD [(5, 13) ON, (6, 6) GONE] stable [(5, 10) ON]
        "The scheduling period counts all tasks of the CPU, not those of the group.";
    BASE_SLICE [(5, 13) ON, (6, 6) GONE] stable [(5, 10) ON] "No slice is shorter than the minimal granularity.";
    LB_BIAS [(4, 12) ON, (4, 20) OFF, (5, 3) GONE] "The balancer compares decayed loads that are biased against moves.";
    FORCE_SD_OVERLAP [(4, 12) OFF, (4, 13) GONE] "All groups of domains are built as if they overlapped: the lowest domain is one group, and balances nothing.";
    NI_RANDOM [(6, 18) ON] stable [(6, 1) ON, (6, 12) ON]
        "A CPU that goes idle balances only with the probability of its past success.";
    NI_RATE [(7, 2) ON] "That probability also grows with the time that the CPU takes for such calls.";
    PLACE_LAG [(6, 6) ON] "A task keeps its lag over a sleep.";
    PLACE_DEADLINE_INITIAL [(6, 6) ON] "The first request of a new task is halved.";
    PLACE_REL_DEADLINE [(6, 12) ON] "A task keeps its relative deadline over a migration.";
    RUN_TO_PARITY [(6, 6) ON] "A picked entity runs until its request is done or its lag is gone.";
    PREEMPT_SHORT [(6, 12) ON] "A woken entity with a shorter slice may end that protection.";
    PICK_BUDDY [(6, 12) ON] "The pick honours the next buddy if it is eligible.";
    DELAY_DEQUEUE [(6, 12) ON] "A sleeper with negative lag stays queued until its lag is gone.";
    DELAY_ZERO [(6, 12) ON] "Lag that a delayed sleeper gained beyond zero is cut.";
    PARANOID_AVG [(7, 2) OFF] "The average of virtual time is kept in a narrower range, against overflow.";
    HZ_BW [(6, 6) ON, (6, 12) GONE] "A lone task with a bandwidth limit keeps the tick on full-dynticks CPUs.";
}

impl Feat {
    /// The row of the table.
    pub fn row(self) -> &'static FeatRow {
        &TABLE[self as usize]
    }

    /// The switch of that name.
    pub fn by_name(name: &str) -> Option<Feat> {
        Feat::ALL.iter().copied().find(|feat| feat.row().name == name)
    }
}

/// What is written to the kernel's debugfs: a switch on, as `NEXT_BUDDY`, or off, as `NO_NEXT_BUDDY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatWrite {
    /// The switch.
    pub feat: Feat,
    /// Its new state.
    pub on: bool,
}

impl FeatWrite {
    /// Reads what is written, whichever kernel has the switch.
    pub fn parse(text: &str) -> Result<FeatWrite, Wrong> {
        let (off, name) = text.split_at(if text.starts_with("NO_") { 3 } else { 0 });
        let unknown = || {
            let hint = match nearest::nearest(name, Feat::ALL.iter().map(|feat| feat.row().name)) {
                Some(near) => format!("Did you mean `{off}{near}`?"),
                None => "Features are spelt as in debugfs: SIS_UTIL, NO_SIS_UTIL.".to_string(),
            };
            (format!("there is no feature `{name}`"), hint)
        };
        Feat::by_name(name).map(|feat| FeatWrite { feat, on: off.is_empty() }).ok_or_else(unknown)
    }
}

impl fmt::Display for FeatWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.on { "" } else { "NO_" }, self.feat.row().name)
    }
}

/// Which switches are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FeatSet(u64);

const _: () = assert!(Feat::ALL.len() <= u64::BITS as usize);

impl FeatSet {
    /// The defaults of a kernel; what it does not have is off.
    pub fn at(version: KernelVersion) -> FeatSet {
        let mut set = FeatSet::default();
        for &feat in Feat::ALL {
            set.set(feat, feat.row().at(version) == ON);
        }
        set
    }

    /// The switches that a kernel has.
    pub fn known_at(version: KernelVersion) -> FeatSet {
        let mut set = FeatSet::default();
        for &feat in Feat::ALL {
            set.set(feat, feat.row().at(version).is_some());
        }
        set
    }

    /// Whether a switch is on.
    #[inline]
    pub const fn has(self, feat: Feat) -> bool {
        self.0 >> feat as u8 & 1 == 1
    }

    /// Turns a switch on or off.
    pub const fn set(&mut self, feat: Feat, on: bool) {
        self.0 = self.0 & !(1 << feat as u8) | (on as u64) << feat as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the recorded kernels list in debugfs. RT_PUSH_IPI is left out: it differs between builds of one version.
    const RECORDED: [(KernelVersion, &str); 5] = [
        (
            v(5, 10),
            "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION NO_HRTICK NO_DOUBLE_TICK \
             NONTASK_CAPACITY TTWU_QUEUE NO_SIS_AVG_CPU SIS_PROP NO_WARN_DOUBLE_CLOCK NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD \
             WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST UTIL_EST_FASTUP ALT_PERIOD BASE_SLICE",
        ),
        (
            v(6, 1),
            "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION NO_HRTICK NO_HRTICK_DL \
             NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_PROP SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_RUNTIME_SHARE NO_LB_MIN \
             ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST UTIL_EST_FASTUP NO_LATENCY_WARN NI_RANDOM ALT_PERIOD BASE_SLICE",
        ),
        (
            v(6, 12),
            "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY PICK_BUDDY \
             CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO WAKEUP_PREEMPTION NO_HRTICK NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY \
             TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS \
             UTIL_EST NO_LATENCY_WARN NI_RANDOM",
        ),
        (
            v(6, 18),
            "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY PICK_BUDDY \
             CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO WAKEUP_PREEMPTION NO_HRTICK NO_HRTICK_DL NONTASK_CAPACITY TTWU_QUEUE \
             SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST \
             NO_LATENCY_WARN NI_RANDOM",
        ),
        (
            v(7, 2),
            "PLACE_LAG PLACE_DEADLINE_INITIAL PLACE_REL_DEADLINE RUN_TO_PARITY PREEMPT_SHORT NO_NEXT_BUDDY PICK_BUDDY \
             CACHE_HOT_BUDDY DELAY_DEQUEUE DELAY_ZERO NO_PARANOID_AVG WAKEUP_PREEMPTION HRTICK HRTICK_DL NONTASK_CAPACITY \
             TTWU_QUEUE SIS_UTIL NO_WARN_DOUBLE_CLOCK NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS \
             UTIL_EST NO_LATENCY_WARN NI_RANDOM NI_RATE",
        ),
    ];

    #[test]
    fn defaults_are_those_of_the_recorded_kernels() {
        for (version, list) in RECORDED {
            let mut listed: Vec<String> = list.split_whitespace().map(str::to_string).collect();
            let ours = Feat::ALL.iter().filter(|&&feat| feat != Feat::RT_PUSH_IPI).filter_map(|feat| {
                let row = feat.row();
                row.at(version).map(|on| if on { row.name.to_string() } else { format!("NO_{}", row.name) })
            });
            let mut ours: Vec<String> = ours.collect();
            listed.sort();
            ours.sort();
            assert_eq!(ours, listed, "{version}");
        }
    }

    /// Defaults in 4.12, 4.20, 5.1, 5.19, 6.6 and 6.14, as docs/model/02-fair-core.md lists them: on (t), off (f), absent (-).
    #[test]
    fn defaults_are_those_of_the_model_page() {
        let versions = [v(4, 12), v(4, 20), v(5, 1), v(5, 19), v(6, 6), v(6, 14)];
        let table = "GENTLE_FAIR_SLEEPERS tttt-- START_DEBIT tttt-- NEXT_BUDDY ffffff LAST_BUDDY tttt-- CACHE_HOT_BUDDY tttttt \
            WAKEUP_PREEMPTION tttttt HRTICK ffffff HRTICK_DL ---fff DOUBLE_TICK fffff- NONTASK_CAPACITY tttttt TTWU_QUEUE tttttt \
            SIS_AVG_CPU fff--- SIS_PROP ttttf- SIS_UTIL ----tt WARN_DOUBLE_CLOCK ffffff RT_PUSH_IPI tttttt RT_RUNTIME_SHARE tttfff \
            LB_MIN ffffff ATTACH_AGE_LOAD tttttt WA_IDLE -ttttt WA_WEIGHT -ttttt WA_BIAS -ttttt UTIL_EST -ttttt \
            UTIL_EST_FASTUP ---tt- LATENCY_WARN ---fff ALT_PERIOD ---t-- BASE_SLICE ---t-- LB_BIAS tff--- FORCE_SD_OVERLAP f----- \
            PLACE_LAG ----tt PLACE_DEADLINE_INITIAL ----tt PLACE_REL_DEADLINE -----t RUN_TO_PARITY ----tt PREEMPT_SHORT -----t \
            PICK_BUDDY -----t DELAY_DEQUEUE -----t DELAY_ZERO -----t HZ_BW ----t-";
        let words: Vec<&str> = table.split_whitespace().collect();
        for row in words.chunks(2) {
            let feat = Feat::by_name(row[0]).expect(row[0]);
            let letter = |version| feat.row().at(version).map_or('-', |on| if on { 't' } else { 'f' });
            assert_eq!(versions.map(letter).iter().collect::<String>(), row[1], "{}", row[0]);
        }
        let later = [Feat::NI_RANDOM, Feat::NI_RATE, Feat::PARANOID_AVG];
        assert_eq!(words.len() / 2 + later.len(), Feat::ALL.len());
    }

    #[test]
    fn rows_tell_their_kernels_and_defaults() {
        let told = |feat: Feat| (feat.row().kernels(), feat.row().defaults());
        let text = |kernels: &str, defaults: &str| (kernels.to_string(), defaults.to_string());
        assert_eq!(told(Feat::LAST_BUDDY), text("v4.12–v6.5", "on"));
        assert_eq!(told(Feat::SIS_PROP), text("v4.12–v6.6", "on, off from v6.0"));
        assert_eq!(told(Feat::SIS_UTIL), text("v6.0–", "on"));
        assert_eq!(told(Feat::LB_BIAS), text("v4.12–v5.2", "on, off from v4.20"));
        assert_eq!(told(Feat::ALT_PERIOD), text("v5.10, v5.13–v6.5", "on"));
        assert_eq!(told(Feat::FORCE_SD_OVERLAP), text("v4.12–v4.12", "off"));
    }

    #[test]
    fn a_set_holds_each_switch_apart() {
        for &feat in Feat::ALL {
            let mut set = FeatSet::default();
            set.set(feat, true);
            assert!(Feat::ALL.iter().all(|&other| set.has(other) == (other == feat)));
            set.set(feat, false);
            assert_eq!(set, FeatSet::default());
            assert_eq!(Feat::by_name(feat.row().name), Some(feat));
        }
    }

    #[test]
    fn what_is_written_reads_back_and_what_is_unknown_is_told() {
        for &feat in Feat::ALL {
            for on in [true, false] {
                let write = FeatWrite { feat, on };
                assert_eq!(FeatWrite::parse(&write.to_string()), Ok(write));
            }
        }
        let hint = |text: &str| FeatWrite::parse(text).unwrap_err().1;
        assert_eq!(hint("NO_NEXT_BUDY"), "Did you mean `NO_NEXT_BUDDY`?");
        assert!(hint("colour").contains("NO_SIS_UTIL") && hint("").contains("NO_SIS_UTIL") && hint("NO_").contains("SIS_UTIL"));
    }
}
