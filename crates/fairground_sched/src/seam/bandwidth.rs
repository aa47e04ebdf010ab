//! Seams of CPU quota.

use super::seams;

seams! {
    $ bandwidth;

    /// What a switch between fair tasks puts down and sets anew if the pick has throttled a queue.
    ThrottledPick = throttled_pick {
        SetsAll "sets-all" "All levels of both: a slice of a group that goes on begins anew.",
        SetsChanged "sets-changed" "As ever, those levels only at which another entity runs from now on.",
    }
    // Read in 6.1.187 and 6.12.107.
    history { v(4, 12) => SetsAll, v(6, 12) => SetsChanged, }

    /// Where tasks of a group stop whose quota is used up.
    Throttle = throttle {
        CfsRqDequeue "cfs-rq-dequeue" "The group's queue leaves the queue above, with all that is in it, also where tasks are in kernel mode.",
        OnUserReturnV1 "on-user-return-v1"
            "Each task stops on its way back to user mode; all of them are marked when the group's queue is throttled (mailed in March 2025).",
        OnUserReturn "on-user-return" "Each task stops on its way back to user mode; it is marked when it is picked.",
    }
    history { v(4, 12) => CfsRqDequeue, v(6, 18) => OnUserReturn, }

    /// When a queue is throttled whose account is used up.
    ThrottleAt = throttle_at {
        Pick "pick" "When the running entity is put down, or the next one picked: until then the account runs into debt.",
        Charge "charge" "When its account is charged: in the tick, as a rule; the task that runs is marked there, and any that is put on the CPU.",
    }
    history { v(4, 12) => Pick, v(7, 2) => Charge, }

    /// By which clock the load tracking of a throttled queue stands still.
    ThrottleStamp = throttle_stamp {
        ClockTask "clock-task" "That of tasks, though load tracking goes by the scaled one: on a slow CPU it jumps ahead, and back.",
        ClockPelt "clock-pelt" "That of load tracking.",
    }
    // Mended in v5.19, and in the stable kernel that the profile of v5.10 stands for.
    history { v(4, 12) => ClockTask, v(5, 10) => ClockPelt, }

    /// From when on cpu.stat counts a queue as throttled.
    ThrottledTime = throttled_time {
        Throttle "throttle" "From the throttle on, though nobody may wait.",
        FirstTask "first-task" "From the first task on that waits in it.",
        FirstStop "first-stop" "From the first task below it on that stops.",
    }
    history { v(4, 12) => Throttle, v(6, 6) => FirstTask, v(6, 18) => FirstStop, }

    /// What becomes of a period that is too short for its timer.
    PeriodScale = period_scale {
        Kept "kept" "It stays as it is, and the timer may never come to its end.",
        Stretched "stretched" "It grows by 147/128, up to 1 s, and the quota with it.",
        Doubled "doubled" "It is doubled, and the quota with it, if it stays below 1 s.",
    }
    history { v(4, 12) => Kept, v(5, 1) => Stretched, v(5, 4) => Doubled, }

    /// What each CPU has of a quota that was just set.
    RemainingOnSet = remaining_on_set {
        Nothing "nothing" "Nothing: the first that comes asks the pool.",
        ANanosecond "a-nanosecond" "1 ns: a queue is not throttled at once by who is released onto it.",
    }
    history { v(4, 12) => Nothing, v(6, 18) => ANanosecond, }

    /// Who releases a throttled queue that has quota again.
    Unthrottle = unthrottle {
        Inline "inline" "The period timer releases every queue itself, those of other CPUs too, with interrupts off.",
        OnItsCpu "on-its-cpu" "Each CPU releases its own queues: the period timer pays their debts and interrupts the others.",
    }
    history { v(4, 12) => Inline, v(6, 3) => OnItsCpu, }

    /// What becomes of a slice that is not used up within its period.
    SliceExpiry = slice_expiry {
        WithinItsPeriod "within-its-period"
            "A slice is lost if its deadline has passed by the CPU's clock while the pool still has the same: a fast clock loses it, an old one never is.",
        AfterItsPeriod "after-its-period" "A slice is lost once the pool was refilled since.",
        Never "never" "A slice is kept until it is used.",
    }
    history { v(4, 12) => WithinItsPeriod, v(4, 18) => AfterItsPeriod, v(5, 4) => Never, }

    /// What a refill makes of what is left in the pool.
    Refill = refill {
        Sets "sets" "The pool has the quota again, whatever was left; when the timer stops it is not refilled.",
        Adds "adds" "The quota is added, up to quota and burst, at every tick of the timer.",
    }
    history { v(4, 12) => Sets, v(5, 14) => Adds, }

    /// Whose throttled queues are released when a CPU goes off line or comes back.
    HotplugQuota = hotplug_quota {
        EveryCpu "every-cpu" "Those of all CPUs: the domains of all are built anew.",
        OwnCpu "own-cpu" "Those of that CPU.",
    }
    history { v(4, 12) => EveryCpu, v(6, 14) => OwnCpu, }

    /// How often a CPU that goes off line reads its clock while it releases throttled queues.
    OfflineClock = offline_clock {
        EachQueue "each-queue" "Again for each queue, under one lock: a double update, of which WARN_DOUBLE_CLOCK tells.",
        Once "once" "Once for all of them.",
    }
    history { v(4, 12) => EachQueue, v(6, 5) => Once, }

    /// Whether a queue below a throttled one, or that itself, goes on the list of those that are aged as a task or load comes to it.
    ThrottledLeaf = throttled_leaf {
        Left "left" "Not until it is throttled no more.",
        Listed "listed" "It does, and so do those above it up to one that is on the list: its clock stands still, but its group's entity is aged.",
    }
    // The second was read in 5.10.223. Kernels before v5.10 were not looked at.
    history { v(4, 12) => Left, v(5, 10) => Listed, v(6, 0) => Left, }

    /// Which queues go on that list as they are throttled no more.
    UnthrottledLeaf = unthrottled_leaf {
        Loaded "loaded" "Those with a task, or with load that is left.",
        Queued "queued" "Those with a task.",
    }
    // The second was read in 5.10.223. Kernels before v5.10 were not looked at.
    history { v(4, 12) => Loaded, v(5, 10) => Queued, v(5, 13) => Loaded, }

    /// Where load ends that comes to a queue, or leaves it, below a throttled one. Nowhere where tasks are throttled, not queues.
    LoadEnd = load_end {
        BelowThrottled "below-throttled" "Below the first throttled queue above: that does not take it.",
        AtThrottled "at-throttled" "At the first throttled queue, which takes it; it may be the queue itself.",
    }
    history { v(4, 12) => BelowThrottled, v(6, 0) => AtThrottled, }

    /// Where the periods of a group begin.
    PeriodPhase = period_phase {
        Boot "boot" "At whole multiples of the period since boot: all groups of one period together.",
        Random "random" "Each group has a phase of its own, drawn when it is made.",
    }
    history { v(4, 12) => Boot, v(6, 4) => Random, }
}

impl Throttle {
    /// Whether a queue with `remaining` ns is not released after all.
    ///
    /// Kernel: fair.c unthrottle_cfs_rq(), v6.18–
    pub(crate) const fn keeps_throttled(self, remaining: i64) -> bool {
        match self {
            Throttle::CfsRqDequeue => false,
            Throttle::OnUserReturnV1 => remaining == 0,
            Throttle::OnUserReturn => remaining <= 0,
        }
    }
}

impl Throttle {
    /// Whether a throttled queue leaves the queue above it at once, its tasks with it.
    pub const fn dequeues_queues(self) -> bool {
        matches!(self, Throttle::CfsRqDequeue)
    }
    /// Whether a task that is picked from a queue which is then throttled is told to stop on its way back to user mode.
    pub(crate) const fn stops_picked_task(self) -> bool {
        matches!(self, Throttle::OnUserReturn)
    }
    /// Whether the load of a throttled task stays on the CPU that it leaves.
    pub(crate) const fn forgets_load_of_movers(self) -> bool {
        matches!(self, Throttle::OnUserReturnV1)
    }
}

impl PeriodScale {
    /// What a period of so many ns becomes.
    pub(crate) fn scaled(self, period: u64) -> u64 {
        /// Periods are no longer (max_cfs_quota_period).
        const MAX: u64 = fairground_model::CpuMax::LONGEST_PERIOD.0;
        match self {
            PeriodScale::Kept => period,
            PeriodScale::Stretched => (period * 147 / 128).min(MAX),
            PeriodScale::Doubled if period * 2 < MAX => period * 2,
            PeriodScale::Doubled => period,
        }
    }
}

impl RemainingOnSet {
    pub(crate) const fn ns(self) -> i64 {
        match self {
            RemainingOnSet::Nothing => 0,
            RemainingOnSet::ANanosecond => 1,
        }
    }
}

impl Refill {
    /// Whether groups have the file of what they may save (cpu.max.burst; v1: cpu.cfs_burst_us).
    pub const fn has_file(self) -> bool {
        matches!(self, Refill::Adds)
    }
}
