//! Which mechanism of a kernel each rule needs. A kernel without it never decides by that rule, and one with it must in some random system.

use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_sched::Profile;
use fairground_sched::seam::{
    EnergyAware, ForkPreempts, IdleCapacity, KthreadWaker, OfflineClock, Pick, Place, Preemption, Protection, RecentCpu,
    RtBandwidth, Throttle, TickPreempt, WakeAffine, Yield,
};

macro_rules! mechanisms {
    ($($name:ident $sentence:literal $is_in:expr, [$($reason:ident)+];)*) => {
        /// Something that a kernel has or has not, and without which some rules never decide.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Mechanism {
            $(#[doc = $sentence] $name,)*
        }

        impl Mechanism {
            /// All of them.
            pub const ALL: &'static [Mechanism] = &[$(Mechanism::$name),*];

            /// What a kernel needs for a rule to decide.
            pub const fn of(rule: Reason) -> Mechanism {
                match rule { $($(Reason::$reason)|+ => Mechanism::$name,)* }
            }
            /// What it is, as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Mechanism::$name => $sentence,)* }
            }
            /// Whether a kernel has it, be it switched off.
            pub fn is_in(self, profile: &Profile) -> bool {
                let is_in: fn(&Profile) -> bool = match self { $(Mechanism::$name => $is_in,)* };
                is_in(profile)
            }
        }
    };
}

mechanisms! {
    Any "Every kernel." |_| true, [
        PickOnly PickIdle TickAlone TickHrtick
        WakeCurrIdle WakePolicy WakeAlreadyResched WakeBatch WakeFeatureOff WakeHigherPriority WakeLowerPriority WakeMakesRoom
        SelectOnlyAllowed SelectPrevIdle SelectAllowed SelectTargetIdle SelectIdleCore SelectIdleCpu SelectIdleSmt SelectTarget
        SelectIdlest SelectLocal SelectFallback AffineLessLoad AffinePrev AffinityWidened YieldAlone
        MigrateNewidle MigrateBusyTick MigrateIdleTick MigrateNoTick MigrateActive MigrateAskStopper
        Throttle Unthrottle PeriodTimer
        PickRt TickRrExpired YieldTail SelectRtPrev SelectRtLowest MigrateRtPush MigrateRtPull
        PickDl WakeDlBefore WakeDlBehind YieldDl SelectDlPrev SelectDlLater MigrateDlPush MigrateDlPull DlThrottle DlReplenish
    ];
    Leftmost "CFS: who has the smallest virtual time runs (seam pick)." |profile| profile.pick == Pick::Leftmost, [
        PickLeftmost PickCurrEarlier PickSkipped PickNextBuddy PickLastBuddy WakeBehind WakeWithinGranularity WakePreempts
    ];
    Eligible "EEVDF: of those that are eligible who has the earliest deadline runs (seam pick)." |profile| profile.pick != Pick::Leftmost, [
        PickEligibleDeadline PickCurrDeadline PickEligibleBuddy
        WakeDeadlinePreempts WakeNotEligible WakeLaterDeadline
    ];
    SliceAtTick "CFS: a tick compares run time with a slice (seam tick_preempt)."
        |profile| profile.tick_preempt != TickPreempt::Deadline,
        [TickSliceExpired TickMinGranularity TickNotAhead TickWithinSlice TickAhead TickLeftToHrtick];
    AlignedSlice "Who has used up a slice goes behind all others (seam tick_preempt, align-rightmost)."
        |profile| profile.tick_preempt == TickPreempt::AlignRightmost, [TickAlignRightmost];
    DeadlineAtTick "EEVDF: a tick looks whether a request is done (seam tick_preempt)."
        |profile| profile.tick_preempt == TickPreempt::Deadline, [TickDeadlinePassed TickEligible];
    ProtectedRequest "EEVDF: who runs is protected for a while (seam protection)."
        |profile| profile.protection != Protection::None, [PickProtected TickProtected WakeProtected];
    ProtectionTime "The protection has an end in virtual time (seam protection, vprot)."
        |profile| matches!(profile.protection, Protection::Vprot | Protection::VprotInLag), [TickProtectionOver];
    ProtectionMark "The protection is a mark that a short wakee takes away (switch PREEMPT_SHORT, seam protection, deadline-mark)."
        |profile| profile.has_feature(Feat::PREEMPT_SHORT) && profile.protection == Protection::DeadlineMark, [TickNotEligible];
    PreemptShort "A wakee with a shorter slice may preempt earlier (switch PREEMPT_SHORT)."
        |profile| profile.has_feature(Feat::PREEMPT_SHORT), [WakeShortPreempts];
    OnlyIfShort "New tasks and delayed sleepers preempt only with a shorter slice, and a sync wake-up is one of its own (seam fork_preempts)."
        |profile| profile.fork_preempts == ForkPreempts::OnlyIfShort, [WakeNewWaits WakeSyncPreempts WakeSyncWaits];
    SleeperCredit "CFS: sleepers are placed before the minimum (seam place)." |profile| profile.place == Place::SleeperCredit,
        [PlaceSleeperCredit PlaceKeeps PlaceStartDebit PlaceStart];
    LagPlace "EEVDF: entities are placed by their lag (seam place)." |profile| profile.place == Place::Lag, [PlaceAverage PlaceLag];
    SkipBuddy "Who yields is skipped at the next pick (seam yield)." |profile| profile.yields == Yield::SkipBuddy, [YieldSkip];
    PushedDeadline "Who yields gets a later deadline (seam yield)." |profile| profile.yields == Yield::PushDeadline, [YieldDeadline];
    ForfeitedRequest "Who yields gives up the rest of its request (seam yield)." |profile| profile.yields == Yield::ForfeitRequest,
        [YieldForfeit YieldNotEligible];
    DelayedDequeue "Sleepers with negative lag stay queued (switch DELAY_DEQUEUE)." |profile| profile.has_feature(Feat::DELAY_DEQUEUE),
        [PickDelayed DelayDequeue DelayRequeue DelayZero];
    LazyPreemption "A lazy reschedule waits for the tick (seam preemption)." |profile| profile.preemption == Preemption::Lazy,
        [TickLazyDue];
    RecentlyUsed "A task remembers the CPU before its previous one (seam recent_used_cpu)."
        |profile| profile.recent_used_cpu != RecentCpu::None, [SelectRecent];
    StackedKthread "A bound kernel thread may wake a task onto its own CPU (seam kthread_waker)."
        |profile| profile.kthread_waker == KthreadWaker::Stacks, [SelectKthread];
    FittingIdle "The search for an idle CPU goes by capacity (seam idle_capacity)."
        |profile| profile.idle_capacity != IdleCapacity::None, [SelectIdleCapacity];
    AffineByCache "A waker's CPU is preferred for its cache (seam wake_affine, cache-or-nodes)."
        |profile| profile.wake_affine == WakeAffine::CacheOrNodes, [AffineCache];
    AffineByIdle "A waker's CPU is preferred if it is idle, or will be (seam wake_affine)."
        |profile| profile.wake_affine != WakeAffine::CacheOrNodes, [AffineIdle AffinePrevIdle AffineSync];
    StopOnReturn "Tasks of a throttled group stop on their way to user mode (seam throttle)."
        |profile| profile.throttle != Throttle::CfsRqDequeue, [ThrottleMark ThrottleWork];
    RtThrottling "Real-time tasks stop after their part of a period (seam rt_bandwidth, throttle)."
        |profile| profile.rt_bandwidth == RtBandwidth::Throttle, [RtThrottle RtUnthrottle];
    FairServer "The fair class has a deadline server (seam rt_bandwidth, fair-server)."
        |profile| profile.rt_bandwidth == RtBandwidth::FairServer, [PickServed ServerRuns ServerStops];
    EnergyPlacement "Wake-ups go by energy where that is known (seam energy_aware)."
        |profile| profile.energy_aware != EnergyAware::None, [SelectEnergy SelectEnergyPrev];
    LatencyWarning "A kernel may warn of a late reschedule (switch LATENCY_WARN)." |profile| profile.has_feature(Feat::LATENCY_WARN),
        [ReschedLatencyWarn];
    ClockPerQueue "A CPU that goes off line reads its clock for each throttled queue (seam offline_clock)."
        |profile| profile.offline_clock == OfflineClock::EachQueue, [WarnDoubleClock];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_is_in_some_kernel_and_each_but_the_first_not_in_all() {
        let known = Profile::known();
        let kernels: Vec<Profile> = known.iter().filter_map(|known| Profile::parse(&known.name).ok()).collect();
        for &mechanism in Mechanism::ALL {
            let has = kernels.iter().filter(|kernel| mechanism.is_in(kernel)).count();
            assert!(has > 0, "{mechanism:?}");
            assert_eq!(has == kernels.len(), mechanism == Mechanism::Any, "{mechanism:?}");
        }
    }
}
