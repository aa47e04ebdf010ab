//! The scheduler's feature switches: one table with history, one row per switch.

use crate::version::{KernelVersion, v};

/// Default of a switch in a kernel that has it; `None` where the kernel does not have it.
pub type FeatDefault = Option<bool>;

/// How much of a switch's effect is in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Both positions behave as in the kernel.
    Modelled,
    /// The switch changes no scheduling in the kernel either (warnings).
    NoEffect,
    /// The position is kept and shown, but what it switches is not modelled yet.
    NotModelledYet,
}

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
    /// How much of it is in the model.
    pub status: Status,
}

impl FeatRow {
    /// Default in a kernel. `v5.10`, `v6.1` and so on stand for the stable kernels that were recorded.
    pub fn at(&self, version: KernelVersion) -> FeatDefault {
        if let Some(&(_, default)) = self.stable.iter().find(|row| row.0 == version) {
            return default;
        }
        self.history.iter().rev().find(|row| row.0 <= version).and_then(|row| row.1)
    }
}

const ON: FeatDefault = Some(true);
const OFF: FeatDefault = Some(false);
const GONE: FeatDefault = None;

macro_rules! features {
    ($($name:ident $status:ident [$(($major:literal, $minor:literal) $default:ident),+]
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
            status: Status::$status,
        }),*];
    };
}

features! {
    GENTLE_FAIR_SLEEPERS Modelled [(4, 12) ON, (6, 6) GONE] "A woken sleeper gets half of the credit.";
    START_DEBIT Modelled [(4, 12) ON, (6, 6) GONE] "A new task starts one virtual slice behind min_vruntime.";
    NEXT_BUDDY Modelled [(4, 12) OFF] "The task that was woken last is preferred at the next pick.";
    LAST_BUDDY Modelled [(4, 12) ON, (6, 6) GONE] "A preempted task is preferred when its preemptor stops.";
    CACHE_HOT_BUDDY NotModelledYet [(4, 12) ON] "The balancer takes buddy tasks for cache hot if the destination is busy.";
    WAKEUP_PREEMPTION Modelled [(4, 12) ON] "A woken task may preempt the running one.";
    HRTICK NotModelledYet [(4, 12) OFF] "A high-resolution timer ends the fair slice.";
    HRTICK_DL NotModelledYet [(5, 12) OFF] "A high-resolution timer ends the runtime of a deadline task.";
    DOUBLE_TICK NotModelledYet [(4, 12) OFF, (6, 14) GONE] "The tick checks preemption even while a high-resolution timer is armed.";
    NONTASK_CAPACITY Modelled [(4, 12) ON] "Interrupt and stolen time is taken off the CPU's capacity.";
    TTWU_QUEUE NotModelledYet [(4, 12) ON] "Wake-ups across caches are queued and done by the target CPU.";
    SIS_AVG_CPU NotModelledYet [(4, 12) OFF, (5, 11) GONE] "No search for an idle CPU if the average idle time is below its cost.";
    SIS_PROP NotModelledYet [(4, 12) ON, (6, 0) OFF, (6, 12) GONE]
        "The search for an idle CPU visits as many as average idle time and cost of a visit allow.";
    SIS_UTIL NotModelledYet [(6, 0) ON] "The search for an idle CPU visits the fewer, the more the cache domain is used.";
    WARN_DOUBLE_CLOCK NoEffect [(4, 12) OFF] "Warns when a run queue's clock is updated twice; no scheduling depends on it.";
    RT_PUSH_IPI NotModelledYet [(4, 12) ON] stable [(6, 1) OFF, (6, 12) OFF]
        "A CPU that lowers its priority asks overloaded CPUs to push real-time tasks, instead of pulling them.";
    RT_RUNTIME_SHARE NotModelledYet [(4, 12) ON, (5, 10) OFF] "A real-time queue that ran out of runtime borrows from other CPUs.";
    LB_MIN NotModelledYet [(4, 12) OFF] "The balancer passes over tasks with a load below 16.";
    ATTACH_AGE_LOAD Modelled [(4, 12) ON] "A task's load is aged when it changes queue.";
    WA_IDLE NotModelledYet [(4, 14) ON] "An affine wake-up prefers an idle waker's or previous CPU.";
    WA_WEIGHT NotModelledYet [(4, 14) ON] "An affine wake-up compares the effective loads of both CPUs.";
    WA_BIAS NotModelledYet [(4, 14) ON] "That comparison gives the previous CPU a handicap.";
    UTIL_EST Modelled [(4, 17) ON] "Utilisation of tasks is estimated from their last activations.";
    UTIL_EST_FASTUP Modelled [(5, 5) ON, (6, 8) GONE] "The estimate follows a rise at once and averages only downwards.";
    LATENCY_WARN NoEffect [(5, 13) OFF] "Warns when a reschedule is due for too long; no scheduling depends on it.";
    ALT_PERIOD Modelled [(5, 13) ON, (6, 6) GONE] stable [(5, 10) ON]
        "The scheduling period counts all tasks of the CPU, not those of the group.";
    BASE_SLICE Modelled [(5, 13) ON, (6, 6) GONE] stable [(5, 10) ON] "No slice is shorter than the minimal granularity.";
    LB_BIAS NotModelledYet [(4, 12) ON, (4, 20) OFF, (5, 3) GONE] "The balancer compares decayed loads that are biased against moves.";
    FORCE_SD_OVERLAP NotModelledYet [(4, 12) OFF, (4, 13) GONE] "Scheduling groups are built as if they overlapped.";
    NI_RANDOM NotModelledYet [(7, 0) ON] stable [(6, 1) ON, (6, 12) ON, (6, 18) ON]
        "A CPU that goes idle balances only with the probability of its past success.";
    PLACE_LAG NotModelledYet [(6, 6) ON] "A task keeps its lag over a sleep.";
    PLACE_DEADLINE_INITIAL NotModelledYet [(6, 6) ON] "The first request of a new task is halved.";
    PLACE_REL_DEADLINE NotModelledYet [(6, 12) ON] "A task keeps its relative deadline over a migration.";
    RUN_TO_PARITY NotModelledYet [(6, 6) ON] "A picked entity runs until its request is done or its lag is gone.";
    PREEMPT_SHORT NotModelledYet [(6, 12) ON] "A woken entity with a shorter slice may end that protection.";
    PICK_BUDDY NotModelledYet [(6, 12) ON] "The pick honours the next buddy if it is eligible.";
    DELAY_DEQUEUE NotModelledYet [(6, 12) ON] "A sleeper with negative lag stays queued until its lag is gone.";
    DELAY_ZERO NotModelledYet [(6, 12) ON] "Lag that a delayed sleeper gained beyond zero is cut.";
    HZ_BW NotModelledYet [(6, 6) ON, (6, 12) GONE] "A lone task with a bandwidth limit keeps the tick on full-dynticks CPUs.";
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
