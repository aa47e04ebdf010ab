//! Why the scheduler decided as it did: one row per rule.

/// What kind of id a reason carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdKind {
    /// Nothing.
    None,
    /// A task row.
    Task,
    /// A CPU number.
    Cpu,
    /// A length of time in ns.
    Ns,
}

/// Which question a reason answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    /// Who runs next?
    Pick,
    /// Does the tick end the slice?
    TickPreempt,
    /// Does a woken task preempt the running one?
    WakeupPreempt,
    /// On which CPU is a woken or new task queued?
    SelectCpu,
    /// Which runnable task moves to another CPU, and why?
    Migrate,
    /// Other acts with a reason.
    Other,
}

macro_rules! reasons {
    ($($name:ident $question:ident ($a:ident, $b:ident) $slug:literal $text:literal;)*) => {
        /// The rule that decided. Order and numbers are part of the digest: new rows go to the end.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Reason {
            $(#[doc = $text] $name,)*
        }
        impl Reason {
            /// All reasons in order.
            pub const ALL: &'static [Reason] = &[$(Reason::$name),*];
            /// Short name for files and scripts.
            pub const fn slug(self) -> &'static str {
                match self { $(Reason::$name => $slug),* }
            }
            /// The rule as a sentence; `{a}` and `{b}` stand for the ids.
            pub const fn sentence(self) -> &'static str {
                match self { $(Reason::$name => $text),* }
            }
            /// The question that it answers.
            pub const fn question(self) -> Question {
                match self { $(Reason::$name => Question::$question),* }
            }
            /// What the two ids are.
            pub const fn ids(self) -> (IdKind, IdKind) {
                match self { $(Reason::$name => (IdKind::$a, IdKind::$b)),* }
            }
        }
    };
}

reasons! {
    PickOnly Pick (Task, None) "pick-only" "{a} is the only candidate";
    PickLeftmost Pick (Task, None) "pick-leftmost" "{a} has the smallest virtual time";
    PickCurrEarlier Pick (Task, Task) "pick-curr-earlier" "running {a} has a smaller virtual time than every queued task, {b} is next";
    PickSkipped Pick (Task, Task) "pick-skipped" "{a} goes before {b}, which yielded";
    PickNextBuddy Pick (Task, Task) "pick-next-buddy" "{a} is the next buddy and not too far behind {b}";
    PickLastBuddy Pick (Task, Task) "pick-last-buddy" "{a} was preempted before and is not too far behind {b}";
    PickIdle Pick (None, None) "pick-idle" "nothing is runnable here";
    TickAlone TickPreempt (Task, None) "tick-alone" "{a} is the only runnable task";
    TickSliceExpired TickPreempt (Task, None) "tick-slice-expired" "{a} ran longer than its slice";
    TickAlignRightmost TickPreempt (Task, Task) "tick-align-rightmost" "{a} ran longer than its slice and goes behind the last entity {b}";
    TickMinGranularity TickPreempt (Task, None) "tick-min-granularity" "{a} ran less than the minimum granularity";
    TickNotAhead TickPreempt (Task, Task) "tick-not-ahead" "{a} is not ahead of {b}";
    TickWithinSlice TickPreempt (Task, Task) "tick-within-slice" "{a} is ahead of {b} by less than a slice";
    TickAhead TickPreempt (Task, Task) "tick-ahead" "{a} is ahead of {b} by more than a slice";
    WakeCurrIdle WakeupPreempt (Task, None) "wake-curr-idle" "{a} wakes on an idle CPU";
    WakePolicy WakeupPreempt (Task, Task) "wake-policy" "{b} has policy SCHED_IDLE and {a} has not";
    WakeAlreadyResched WakeupPreempt (Task, Task) "wake-already-resched" "a reschedule was already due when {a} woke, {b} runs";
    WakeBatch WakeupPreempt (Task, Task) "wake-batch" "{a} has a policy that does not preempt {b}";
    WakeFeatureOff WakeupPreempt (Task, Task) "wake-feature-off" "NO_WAKEUP_PREEMPTION: {a} does not preempt {b}";
    WakeBehind WakeupPreempt (Task, Task) "wake-behind" "{a} does not have a smaller virtual time than {b}";
    WakeWithinGranularity WakeupPreempt (Task, Task) "wake-within-granularity" "{a} is before {b} by less than the wake-up granularity";
    WakePreempts WakeupPreempt (Task, Task) "wake-preempts" "{a} is before {b} by more than the wake-up granularity";
    SelectOnlyAllowed SelectCpu (Task, Cpu) "select-only-allowed" "{a} may run on CPU {b} only";
    SelectPrevIdle SelectCpu (Task, Cpu) "select-prev-idle" "the previous CPU {b} of {a} is idle";
    SelectAllowed SelectCpu (Task, Cpu) "select-allowed" "{a} may no longer run where it was and goes to CPU {b}";
    YieldSkip Other (Task, None) "yield-skip" "{a} yields: it is skipped at the next pick";
    YieldAlone Other (Task, None) "yield-alone" "{a} yields but is alone on its CPU";
    PlaceSleeperCredit Other (Task, None) "place-sleeper-credit" "{a} slept and is placed before the queue's minimum";
    PlaceKeeps Other (Task, None) "place-keeps" "{a} keeps its virtual time, which is later than the sleeper's place";
    PlaceStartDebit Other (Task, None) "place-start-debit" "new task {a} starts one slice behind";
    PlaceStart Other (Task, None) "place-start" "new task {a} starts at the queue's minimum";
    PickProtected Pick (Task, None) "pick-protected" "running {a} is eligible and has not used up its protection";
    PickEligibleDeadline Pick (Task, None) "pick-eligible-deadline" "{a} has the earliest deadline of all eligible tasks";
    PickCurrDeadline Pick (Task, Task) "pick-curr-deadline" "running {a} is eligible and its deadline is not later than that of {b}, the first eligible one that waits";
    PickEligibleBuddy Pick (Task, None) "pick-eligible-buddy" "{a} is the next buddy and eligible";
    PickDelayed Other (Task, None) "pick-delayed" "{a} sleeps and would be next: its lag is used up and its dequeue is completed";
    TickDeadlinePassed TickPreempt (Task, None) "tick-deadline-passed" "{a} has run its request: its deadline has passed";
    TickNotEligible TickPreempt (Task, None) "tick-not-eligible" "{a} is neither protected nor eligible any more";
    TickProtectionOver TickPreempt (Task, None) "tick-protection-over" "the protection of {a} is over";
    TickProtected TickPreempt (Task, None) "tick-protected" "{a} is protected until its request is done";
    TickEligible TickPreempt (Task, None) "tick-eligible" "{a} is not protected, but eligible, and its request is not done";
    TickLazyDue Other (Task, None) "tick-lazy-due" "{a} did not give way to a lazy reschedule since the last tick: now it must";
    WakeDeadlinePreempts WakeupPreempt (Task, Task) "wake-deadline-preempts" "{a} would be picked before {b}: it is eligible and its deadline is the earliest";
    WakeShortPreempts WakeupPreempt (Task, Task) "wake-short-preempts" "{a} has a shorter slice than {b}, whose protection it ends, and would be picked";
    WakeNotEligible WakeupPreempt (Task, Task) "wake-not-eligible" "{a} is not eligible and does not preempt {b}";
    WakeProtected WakeupPreempt (Task, Task) "wake-protected" "{a} does not preempt {b}, which is protected until its request is done";
    WakeLaterDeadline WakeupPreempt (Task, Task) "wake-later-deadline" "{a} does not preempt {b}: an eligible task has an earlier deadline than {a}";
    YieldDeadline Other (Task, None) "yield-deadline" "{a} yields: its deadline moves on by a request";
    YieldForfeit Other (Task, None) "yield-forfeit" "{a} yields: it gives up the rest of its request";
    YieldNotEligible Other (Task, None) "yield-not-eligible" "{a} yields but is not eligible: it keeps its place";
    PlaceAverage Other (Task, None) "place-average" "{a} is placed at the queue's average";
    PlaceLag Other (Task, None) "place-lag" "{a} is placed so that it has the lag again with which it left";
    DelayDequeue Other (Task, None) "delay-dequeue" "{a} sleeps but has negative lag: it stays on the queue until that is used up";
    DelayRequeue Other (Task, None) "delay-requeue" "{a} wakes before its delayed dequeue and goes on from its place";
    DelayZero Other (Task, None) "delay-zero" "{a} wakes before its delayed dequeue and is placed anew: it gained lag while it slept";
    SelectTargetIdle SelectCpu (Task, Cpu) "select-target-idle" "CPU {b} of the waker, towards which {a} is woken, is idle";
    SelectKthread SelectCpu (Task, Cpu) "select-kthread" "{a} was on CPU {b}, where a kernel thread wakes it that is bound and alone there";
    SelectRecent SelectCpu (Task, Cpu) "select-recent" "CPU {b}, which {a} used before its previous one, is idle";
    SelectIdleCore SelectCpu (Task, Cpu) "select-idle-core" "all threads of the core of CPU {b} are idle, to which {a} goes";
    SelectIdleCpu SelectCpu (Task, Cpu) "select-idle-cpu" "the search for {a} finds CPU {b} idle";
    SelectIdleSmt SelectCpu (Task, Cpu) "select-idle-smt" "CPU {b}, a thread of the same core, is idle and {a} goes there";
    SelectIdleCapacity SelectCpu (Task, Cpu) "select-idle-capacity" "CPU {b} is idle and has the capacity for {a}, or the most of those idle";
    SelectTarget SelectCpu (Task, Cpu) "select-target" "the search for {a} finds no idle CPU: it goes to its target, CPU {b}";
    SelectIdlest SelectCpu (Task, Cpu) "select-idlest" "CPU {b} is the idlest of the idlest group for {a}, which starts anew";
    SelectLocal SelectCpu (Task, Cpu) "select-local" "no group is idler than that of CPU {b}, where {a} starts";
    SelectFallback SelectCpu (Task, Cpu) "select-fallback" "the choice for {a} is not allowed or off line: CPU {b} is the nearest that is";
    AffineCache Other (Task, Cpu) "affine-cache" "{a} is woken towards its waker's CPU {b}: both share a cache";
    AffineIdle Other (Task, Cpu) "affine-idle" "{a} is woken towards the idle CPU {b} on which an interrupt wakes it";
    AffinePrevIdle Other (Task, Cpu) "affine-prev-idle" "{a} is woken towards its previous CPU {b}, which is idle";
    AffineSync Other (Task, Cpu) "affine-sync" "{a} is woken towards CPU {b}, whose only task wakes it and will sleep";
    AffineLessLoad Other (Task, Cpu) "affine-less-load" "{a} is woken towards its waker's CPU {b}, which would have less load for its capacity";
    AffinePrev Other (Task, Cpu) "affine-prev" "{a} is woken towards its previous CPU {b}: its waker's does not have less load";
    MigrateNewidle Migrate (Task, Cpu) "migrate-newidle" "{a} is pulled to CPU {b}, which has run out of tasks";
    MigrateBusyTick Migrate (Task, Cpu) "migrate-busy-tick" "{a} is pulled to CPU {b}, whose tick found it less loaded";
    MigrateIdleTick Migrate (Task, Cpu) "migrate-idle-tick" "{a} is pulled to CPU {b}, whose tick found it idle";
    MigrateNoTick Migrate (Task, Cpu) "migrate-no-tick" "{a} is pulled to CPU {b}, which is idle without a tick: another one balances for it";
    MigrateActive Migrate (Task, Cpu) "migrate-active" "{a} is pushed to CPU {b} by the stopper";
    MigrateAskStopper Other (Task, Cpu) "migrate-ask-stopper" "no waiting task could be moved to CPU {b}: the stopper is asked to push, {a} runs now";
    AffinityWidened Other (Task, Cpu) "affinity-widened" "no CPU that {a} may use is on line after CPU {b}: it may use all from now on";
    Throttle Other (Task, Ns) "throttle" "{a} has used up its quota, and {b} ns beyond, and stops here";
    ThrottleMark Other (Task, None) "throttle-mark" "{a} is to stop before it returns to user mode: a group of it has used up its quota";
    ThrottleWork Other (Task, None) "throttle-work" "{a} has left its queue on its way back to user mode, and waits for quota";
    Unthrottle Other (Task, Cpu) "unthrottle" "{a} has quota again and goes on on CPU {b}";
    PeriodTimer Other (Task, None) "period-timer" "a period of the quota of {a} is over";
    PickRt Pick (Task, None) "pick-rt" "{a} is the first of the real-time tasks of the highest priority here";
    TickRrExpired TickPreempt (Task, None) "tick-rr-expired" "{a} has used up its round-robin slice: it goes behind the tasks of its priority";
    WakeHigherPriority WakeupPreempt (Task, Task) "wake-higher-priority" "{a} is of a higher class or priority than {b}";
    WakeLowerPriority WakeupPreempt (Task, Task) "wake-lower-priority" "{a} is of no higher class or priority than {b}";
    WakeMakesRoom WakeupPreempt (Task, Task) "wake-makes-room" "{a} can run here only, and {b} of the same priority elsewhere: {a} goes first";
    YieldTail Other (Task, None) "yield-tail" "{a} yields: it goes behind the tasks of its priority";
    SelectRtPrev SelectCpu (Task, Cpu) "select-rt-prev" "the real-time task {a} goes where it was, to CPU {b}";
    SelectRtLowest SelectCpu (Task, Cpu) "select-rt-lowest" "CPU {b} has the lowest priority of all that the real-time task {a} may use, and its own has not";
    MigrateRtPush Migrate (Task, Cpu) "migrate-rt-push" "{a} waits for a task of a higher priority and is pushed to CPU {b}, which has a lower one";
    MigrateRtPull Migrate (Task, Cpu) "migrate-rt-pull" "{a} is pulled to CPU {b}, whose priority has dropped below that of {a}";
    RtThrottle Other (Cpu, None) "rt-throttle" "the real-time tasks of CPU {a} have used up their part of the period, and all stop";
    RtUnthrottle Other (Cpu, None) "rt-unthrottle" "the real-time tasks of CPU {a} go on, since a period is over";
    TickHrtick TickPreempt (Task, None) "tick-hrtick" "the high-resolution timer ends the slice of {a}";
    WakeNewWaits WakeupPreempt (Task, Task) "wake-new-waits" "{a} is new, or slept on its queue, and preempts {b} only with a shorter slice";
    TickLeftToHrtick TickPreempt (Task, None) "tick-left-to-hrtick" "the tick leaves the end of the slice of {a} to the high-resolution timer, which is armed";
    ReschedLatencyWarn Other (Cpu, Ns) "resched-latency-warn" "CPU {a} has been due to schedule for {b} ns, and the kernel warns of it (LATENCY_WARN)";
    WarnDoubleClock Other (Cpu, None) "warn-double-clock" "CPU {a} reads the clock of its run queue twice under one lock, and the kernel warns of it (WARN_DOUBLE_CLOCK)";
    SelectEnergy SelectCpu (Task, Cpu) "select-energy" "on CPU {b} {a} adds least to the energy of the machine";
    SelectEnergyPrev SelectCpu (Task, Cpu) "select-energy-prev" "{a} stays on CPU {b}: elsewhere it would not save enough energy";
    PickDl Pick (Task, None) "pick-dl" "{a} has the earliest deadline here";
    PickServed Pick (Task, None) "pick-served" "the deadline server of the fair class has the earliest deadline here: {a} is its first task";
    WakeDlBefore WakeupPreempt (Task, Task) "wake-dl-before" "{a} has an earlier deadline than {b}";
    WakeDlBehind WakeupPreempt (Task, Task) "wake-dl-behind" "{a} has no earlier deadline than {b}";
    YieldDl Other (Task, None) "yield-dl" "{a} yields: it gives what is left of its runtime away and waits for its next period";
    SelectDlPrev SelectCpu (Task, Cpu) "select-dl-prev" "the deadline task {a} goes where it was, to CPU {b}";
    SelectDlLater SelectCpu (Task, Cpu) "select-dl-later" "CPU {b} has no deadline task, or the latest deadline, of all that {a} may use";
    MigrateDlPush Migrate (Task, Cpu) "migrate-dl-push" "{a} waits for an earlier deadline and is pushed to CPU {b}, where all are later";
    MigrateDlPull Migrate (Task, Cpu) "migrate-dl-pull" "{a} is pulled to CPU {b}, where all deadlines are later";
    DlThrottle Other (Task, None) "dl-throttle" "{a} has used up its runtime and stops until its next period";
    DlReplenish Other (Task, None) "dl-replenish" "{a} has its runtime again, with the deadline of its next period";
    ServerRuns Other (Cpu, None) "server-runs" "fair tasks of CPU {a} have not had their part of the period: their deadline server runs";
    ServerStops Other (Cpu, None) "server-stops" "the deadline server of CPU {a} has used up its runtime";
    WakeSyncPreempts WakeupPreempt (Task, Task) "wake-sync-preempts" "the waker of {a} says that it will sleep, {a} has an earlier deadline than {b}, which has run for long enough";
    WakeSyncWaits WakeupPreempt (Task, Task) "wake-sync-waits" "the waker of {a} says that it will sleep: {a} does not preempt {b}, but is next";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_name_exactly_the_ids_they_have() {
        for &reason in Reason::ALL {
            let (a, b) = reason.ids();
            assert_eq!(reason.sentence().contains("{a}"), a != IdKind::None, "{reason:?}");
            assert_eq!(reason.sentence().contains("{b}"), b != IdKind::None, "{reason:?}");
        }
    }

    #[test]
    fn slugs_are_unique() {
        let mut slugs: Vec<_> = Reason::ALL.iter().map(|r| r.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Reason::ALL.len());
    }
}
