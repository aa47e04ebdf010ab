//! A seam is a place where kernels differ in structure: a closed set of variants with a history.

use crate::version::KernelVersion;

mod balance;
mod bandwidth;
mod busiest;
mod capacity;
mod clock;
mod cpufreq;
mod deadline;
mod eevdf;
mod fair;
mod groups;
mod hrtick;
mod pipe;
mod placement;
mod rebalance;
mod rt;
mod stats;
mod topology;
mod wakeup;

pub use balance::{Balance, CacheAware};
pub use bandwidth::{
    HotplugQuota, OfflineClock, PeriodPhase, PeriodScale, Refill, RemainingOnSet, SliceExpiry, Throttle, ThrottleAt,
    ThrottleStamp, ThrottledTime, Unthrottle,
};
pub use busiest::{
    AboveMean, AsymPacking, BalanceTasks, Misfit, NumaImbalance, PreferSibling, ReducedCapacity, RunnableBoost, ScaleRtCapacity,
    SiblingBalance, SmtCapacity, SparePull, ZeroImbalance,
};
pub use capacity::{EnergyAware, EnergyModel, Pressure, RtFit, TaskFit, Uclamp};
pub use clock::ExcessSteal;
pub use cpufreq::{FreqHook, FreqMargin, FreqUtil, FreqWork, IowaitBoost, RateLimit};
pub use deadline::{DlAdmission, DlBandwidth, DlHrtick, DlPeriods};
pub use eevdf::{AvgVruntime, CurrentPlace, DelayedLag, ForkPreempts, LagLimit};
pub use fair::{
    ForkPlace, IdleEntity, IdleProtection, LongSleeper, MinVruntimeAtDequeue, Pick, Place, Preemption, Protection, RepeatedPick,
    TaskSlice, TickPreempt, Yield,
};
pub use groups::{
    AttachNew, GroupIdle, GroupLoad, GroupSlice, GroupWeight, MigrateDetach, MoveRunning, Reweight, ShownWeight, TgLoadUpdate,
};
pub use hrtick::Hrtick;
pub use pipe::PipeWakeup;
pub use placement::{
    ClusterSearch, ExitingWaker, IdleCapacity, IdleScan, IdleSearch, IdlestGroup, KthreadWaker, RecentCpu, SchedIdleCpu,
    StartNode, WakeAffine, WakeCap,
};
pub use rebalance::{
    ActiveBalance, DetachAmount, HotGained, LbInterval, LbLoop, LbPinned, Migratable, NewidleBatch, NewidleCost, NohzBalance,
    ShouldWeBalance, TaskOrder,
};
pub use rt::{PushOverload, RtBandwidth};
pub use stats::SchedstatText;
pub use topology::{
    AsymCapacity, AsymSpread, Degenerate, DomainInit, DomainLevels, DomainNames, GroupFlags, NumaAllowance, OverlapGroups,
};
pub use wakeup::{RemoteWakeup, SoftirqHandover};

/// One structural difference between kernels. Callers ask the seam; only the seam matches on the variant.
pub trait Seam: Copy + PartialEq + Sized + 'static {
    /// Name on the command line and in scenario files.
    const NAME: &'static str;
    /// All variants with their names.
    const VARIANTS: &'static [(&'static str, Self)];
    /// From this version on this variant is what the kernel does; the first row also holds for all before it.
    const HISTORY: &'static [(KernelVersion, Self)];

    /// What this variant does, as a sentence.
    fn sentence(self) -> &'static str;

    /// The variant of a kernel.
    fn at(version: KernelVersion) -> Self {
        let mut found = Self::HISTORY[0].1;
        for &(since, variant) in Self::HISTORY {
            if since <= version {
                found = variant;
            }
        }
        found
    }

    /// Name of this variant.
    fn name(self) -> &'static str {
        Self::VARIANTS.iter().find(|row| row.1 == self).expect("invariant: each variant is listed").0
    }

    /// The variant of that name.
    fn by_name(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().find(|row| row.0 == name).map(|row| row.1)
    }
}

/// Declares a seam: the enum, its names and sentences, and its history.
macro_rules! seam {
    (
        $(#[$doc:meta])* $type:ident = $name:literal {
            $($variant:ident $slug:literal $sentence:literal,)+
        }
        history { $(v($major:literal, $minor:literal) => $since:ident,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $type {
            $(#[doc = $sentence] $variant,)+
        }

        impl $crate::seam::Seam for $type {
            const NAME: &'static str = $name;
            const VARIANTS: &'static [(&'static str, Self)] = &[$(($slug, $type::$variant)),+];
            const HISTORY: &'static [($crate::version::KernelVersion, Self)] =
                &[$(($crate::version::v($major, $minor), $type::$since)),+];

            fn sentence(self) -> &'static str {
                match self { $($type::$variant => $sentence),+ }
            }
        }
    };
}
pub(crate) use seam;
