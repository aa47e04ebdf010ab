//! Why a task waited: the closed list of causes.

macro_rules! causes {
    ($($name:ident $place:ident $slug:literal $text:literal;)*) => {
        /// Why a task waited for a stretch of time, or why it waited at all.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Cause {
            $(#[doc = $text] $name,)*
        }
        impl Cause {
            /// All causes in the order of tables.
            pub const ALL: &'static [Cause] = &[$(Cause::$name),*];
            /// Short name for files and scripts.
            pub const fn slug(self) -> &'static str {
                match self { $(Cause::$name => $slug),* }
            }
            /// The cause as a sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $(Cause::$name => $text),* }
            }
            /// Where the cause lies.
            pub const fn place(self) -> Place {
                match self { $(Cause::$name => Place::$place),* }
            }
        }
    };
}

/// Where a cause lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// On the CPU where the task waited: a stretch of its time has this cause.
    Here,
    /// Elsewhere: an idle CPU did not get the task.
    Elsewhere,
}

causes! {
    QueueLength Here "queue-length" "other tasks ran that were ahead in virtual time or within their slices";
    HeavierTask Here "heavier-task" "a heavier task ran beyond the slice that it would have at the weight of the waiting one";
    IdlePolicy Here "idle-policy" "the waiting task is SCHED_IDLE, or its group has cpu.idle, and the running one is not";
    BatchPolicy Here "batch-policy" "the waiting task has a policy that does not preempt";
    RealTime Here "real-time" "a real-time task ran: of a higher class or priority, or of the same one and queued before the waiting task";
    Deadline Here "deadline" "a deadline task ran, which goes before all others";
    Throttled Here "throttled" "a group of the task had used up its CPU quota (cpu.max) and was throttled";
    Burst Here "burst" "a group of the task was throttled by a burst of work: in the long run it uses less than its quota, but what it had left unused was not kept for it (cpu.max.burst)";
    RtThrottled Here "rt-throttled" "the real-time tasks of the CPU had used up their part of the period, which is kept for others";
    DeadlineThrottled Here "deadline-throttled" "the deadline task had used up its runtime and waited for its next period";
    KernelThread Here "kernel-thread" "a kernel thread ran";
    SleeperCredit Here "sleeper-credit" "the running task was ahead only by the credit with which it was placed when it woke";
    WithinWakeupGranularity Here "wakeup-granularity" "the waiting task was ahead in virtual time by less than the wake-up granularity";
    NoWakeupPreemption Here "no-wakeup-preemption" "WAKEUP_PREEMPTION is off";
    EarlierDeadline Here "earlier-deadline" "a task with an earlier deadline ran";
    ShorterSlice Here "shorter-slice" "a task with a shorter slice, and so an earlier deadline, ran";
    Protected Here "protected" "the running task was protected from preemption until its request was done";
    NotEligible Here "not-eligible" "the waiting task had run more than its share and was not eligible";
    DelayedDequeue Here "delayed-dequeue" "the waiting task woke before its delayed dequeue, with the negative lag with which it had gone to sleep";
    Buddy Here "buddy" "the pick preferred a buddy";
    TickGranularity Here "tick" "the running task had used up its slice, but no tick had come yet";
    ReschedPending Here "resched-pending" "a reschedule was pending: the running task was in the kernel, or had not been told yet";
    KernelSection Here "kernel-section" "a reschedule was pending: the running task was in the kernel, which this preemption model does not preempt";
    PreemptOff Here "preempt-off" "a reschedule was pending: the running task had preemption disabled";
    IrqsOff Here "irqs-off" "a task ran with interrupts off, so that no timer, tick or other CPU came through";
    TimerLate Here "timer-late" "the timer of the task was due, but rang later: within its slack, or with the next interrupt";
    Interrupt Here "interrupt" "interrupts and softirqs had the CPU";
    Stolen Here "stolen" "the host ran something else on the physical CPU";
    LockHeld Here "lock-held" "the task waited for a lock whose holder ran";
    LockHolderThrottled Here "lock-holder-throttled" "the task waited for a lock whose holder was throttled";
    LockHolderPreempted Here "lock-holder-preempted" "the task waited for a lock whose holder could run, but had no CPU";
    LockHolderAsleep Here "lock-holder-asleep" "the task waited for a lock whose holder slept";
    SpinBackOff Here "spin-back-off" "the lock was free, but the task had spun in vain and slept between two tries";
    WorkersBusy Here "workers-busy" "the request waited in its queue: all who serve it were at work with others";
    KernelTime Here "kernel-time" "the kernel itself ran";
    IdleExit Here "idle-exit" "the CPU left its idle state";
    IpiFlight Here "ipi-flight" "the CPU was idle: the interrupt that wakes it was on its way";
    OnTheWay Here "on-the-way" "the task was on no queue yet: its CPU was being chosen, or it was on its way there";
    CpuOffline Elsewhere "cpu-offline" "CPUs that the task may use were off line";
    Affinity Elsewhere "affinity" "CPUs were idle, but the affinity of the task does not allow them";
    SearchCut Elsewhere "search-cut" "a CPU under the same cache was idle, but the search ended before it came there";
    OtherCache Elsewhere "other-cache" "CPUs were idle only under another cache, where a wake-up does not search";
    IdleCpuTaken Elsewhere "idle-cpu-taken" "the chosen CPU was idle, but another task came there first";
    MisledStatistic Elsewhere "misled-statistic" "a balance read a load that differs from what is queued: with the queued load it would have come here";
    NewidleGate Elsewhere "newidle-gate" "a CPU that ran out of tasks did not balance: it expected to be idle for too short a time";
    NobodyWaits Elsewhere "overload-unknown" "a CPU that ran out of tasks did not balance: no CPU was known to have more than one";
    EnergyFirst Elsewhere "energy-first" "placement goes by energy, and balance rests while no CPU is overutilized";
    NewidleOff Elsewhere "newidle-off" "a CPU that ran out of tasks does not balance the domain that holds this CPU";
    NotDue Elsewhere "balance-not-due" "a CPU was idle, but its next balance was not due yet";
    OtherBalances Elsewhere "other-balances" "a CPU was idle, but another CPU was to balance for it";
    CacheHot Elsewhere "cache-hot" "a balance came, but the waiting task counted as cache hot";
    NoImbalance Elsewhere "no-imbalance" "a balance came and found the imbalance too small";
    OtherQueue Elsewhere "other-queue" "a balance came and took tasks from another queue";
    NotMovable Elsewhere "not-movable" "a balance came, but could not move the task";
    NoBalance Elsewhere "no-balance" "a CPU was idle, and no balance was made for it";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_unique() {
        let mut slugs: Vec<_> = Cause::ALL.iter().map(|cause| cause.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Cause::ALL.len());
    }
}
