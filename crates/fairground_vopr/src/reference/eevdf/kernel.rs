//! What differs between the kernels with EEVDF, and their switches.

/// How long a picked entity is protected against others that are eligible too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protection {
    /// Until its deadline moves.
    UntilDeadlineMoves,
    /// Up to a virtual time that is set when it is picked.
    UpToVprot,
}

/// When an account of run time asks for a reschedule, other than at a passed deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unprotected {
    /// Never.
    GoesOn,
    /// When a short wakee ended the protection (PREEMPT_SHORT) and the lag is used up.
    StopsIfNotEligible,
    /// As soon as the protection is over.
    Stops,
}

/// In which order equal deadlines are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ties {
    /// The running one, then by virtual time, then by arrival.
    RunningThenVruntime,
    /// By arrival, then the running one.
    ArrivalThenRunning,
}

/// What sched_yield() does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Yield {
    /// The deadline moves on by a request.
    PutsDeadlineOff,
    /// An eligible task gives up the rest of its request.
    ForfeitsRequest,
}

/// From where in virtual time an empty queue starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EmptyQueue {
    /// From the smallest virtual time that it has had.
    Floor,
    /// From the average that was asked for last.
    LastAsked,
    /// From the average when somebody joined or left those that wait.
    LastJoinedOrLeft,
}

/// A kernel with EEVDF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kernel {
    pub(super) protection: Protection,
    pub(super) unprotected: Unprotected,
    pub(super) ties: Ties,
    pub(super) yields: Yield,
    /// The halved first request of a new task lasts: the kernel does not place it a second time.
    pub(super) first_request_lasts: bool,
    /// fork() charges the parent.
    pub(super) fork_charges: bool,
    /// The buddy mark is honoured by its own switch, PICK_BUDDY.
    pub(super) has_pick_buddy: bool,
    /// Idleness is compared before the policy, and only if WAKEUP_PREEMPTION is on.
    pub(super) idleness_after_feature: bool,
    /// A task may ask for a slice of its own.
    pub(super) has_own_slices: bool,
    /// An idle task that gives way to another kind also loses its protection.
    pub(super) idle_loses_protection: bool,
    /// Accounts and wake-ups ask for a reschedule lazily: no other CPU is interrupted for it, and it does
    /// not stop the checks of further wake-ups.
    pub(super) lazy: bool,
    /// Where a queue that is left empty starts again.
    pub(super) empty_queue: EmptyQueue,
    /// Run times are divided by weights, and not multiplied by inverses of 32 bits.
    pub(super) divides: bool,
    /// Another weight scales what is left of a request, too.
    pub(super) scales_requests: bool,
    /// Lag goes up to the largest request of the queue and a tick, not to two requests of its own (or a tick).
    pub(super) lag_by_largest: bool,
    /// A delayed sleeper owes no more than when it went to sleep, and gains nothing (DELAY_ZERO).
    pub(super) delayed_lag_bounded: bool,
    /// A delayed sleeper that is wanted again has the running task charged first.
    pub(super) requeue_charges: bool,
    /// Who goes on after a change keeps the protection that it was picked with.
    pub(super) keeps_protection: bool,
    /// New tasks and delayed sleepers preempt by a shorter request only; the buddy counts.
    pub(super) forks_wait: bool,
    /// The request of one CPU, ns.
    pub(super) base_slice: u64,
}

const V6_6: Kernel = Kernel {
    protection: Protection::UntilDeadlineMoves,
    unprotected: Unprotected::GoesOn,
    ties: Ties::RunningThenVruntime,
    yields: Yield::PutsDeadlineOff,
    first_request_lasts: false,
    fork_charges: true,
    has_pick_buddy: false,
    idleness_after_feature: false,
    has_own_slices: false,
    idle_loses_protection: false,
    lazy: false,
    empty_queue: EmptyQueue::Floor,
    divides: false,
    scales_requests: false,
    lag_by_largest: false,
    delayed_lag_bounded: false,
    requeue_charges: false,
    keeps_protection: false,
    forks_wait: false,
    base_slice: 750_000,
};
/// The recorded stable kernel: 6.12.107.
const V6_12: Kernel = Kernel {
    yields: Yield::ForfeitsRequest,
    empty_queue: EmptyQueue::LastAsked,
    unprotected: Unprotected::StopsIfNotEligible,
    ties: Ties::ArrivalThenRunning,
    first_request_lasts: true,
    fork_charges: false,
    has_pick_buddy: true,
    idleness_after_feature: true,
    has_own_slices: true,
    idle_loses_protection: true,
    base_slice: 700_000,
    ..V6_6
};
const V6_14: Kernel = Kernel {
    yields: Yield::PutsDeadlineOff,
    empty_queue: EmptyQueue::Floor,
    scales_requests: true,
    idle_loses_protection: false,
    base_slice: 750_000,
    ..V6_12
};
/// The recorded stable kernel: 6.18.15.
const V6_18: Kernel = Kernel {
    empty_queue: EmptyQueue::LastJoinedOrLeft,
    protection: Protection::UpToVprot,
    unprotected: Unprotected::Stops,
    yields: Yield::ForfeitsRequest,
    idle_loses_protection: true,
    lazy: true,
    base_slice: 700_000,
    ..V6_14
};

/// Without its HRTICK: here only ticks, and what tasks do, end turns.
const V7_2: Kernel = Kernel {
    empty_queue: EmptyQueue::LastAsked,
    divides: true,
    lag_by_largest: true,
    delayed_lag_bounded: true,
    requeue_charges: true,
    keeps_protection: true,
    forks_wait: true,
    ..V6_18
};

/// The switches that matter here; what a kernel does not have is off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Switches {
    pub(super) place_lag: bool,
    pub(super) place_deadline_initial: bool,
    pub(super) place_rel_deadline: bool,
    pub(super) run_to_parity: bool,
    pub(super) preempt_short: bool,
    pub(super) next_buddy: bool,
    pub(super) pick_buddy: bool,
    pub(super) delay_dequeue: bool,
    pub(super) delay_zero: bool,
    pub(super) wakeup_preemption: bool,
}

const SWITCHES_V6_6: Switches = Switches {
    place_lag: true,
    place_deadline_initial: true,
    place_rel_deadline: false,
    run_to_parity: true,
    preempt_short: false,
    next_buddy: false,
    pick_buddy: false,
    delay_dequeue: false,
    delay_zero: false,
    wakeup_preemption: true,
};
const SWITCHES_V6_12: Switches = Switches {
    place_rel_deadline: true,
    preempt_short: true,
    pick_buddy: true,
    delay_dequeue: true,
    delay_zero: true,
    ..SWITCHES_V6_6
};

impl Switches {
    /// Turns a switch as it is written to the kernel: `NAME` or `NO_NAME`.
    pub(super) fn turn(&mut self, text: &str) {
        let (name, on) = text.strip_prefix("NO_").map_or((text, true), |name| (name, false));
        let switch = match name {
            "PLACE_LAG" => &mut self.place_lag,
            "PLACE_DEADLINE_INITIAL" => &mut self.place_deadline_initial,
            "PLACE_REL_DEADLINE" => &mut self.place_rel_deadline,
            "RUN_TO_PARITY" => &mut self.run_to_parity,
            "PREEMPT_SHORT" => &mut self.preempt_short,
            "NEXT_BUDDY" => &mut self.next_buddy,
            "PICK_BUDDY" => &mut self.pick_buddy,
            "DELAY_DEQUEUE" => &mut self.delay_dequeue,
            "DELAY_ZERO" => &mut self.delay_zero,
            "WAKEUP_PREEMPTION" => &mut self.wakeup_preemption,
            // The model has no such timer.
            "HRTICK" if !on => return,
            other => unreachable!("the slow model has no switch {other}"),
        };
        *switch = on;
    }
}

/// The kernels by name, with the switches that are on by default.
pub(super) const KERNELS: [(&str, Kernel, Switches); 5] = [
    ("v6.6", V6_6, SWITCHES_V6_6),
    ("v6.12", V6_12, SWITCHES_V6_12),
    ("v6.14", V6_14, SWITCHES_V6_12),
    ("v6.18", V6_18, SWITCHES_V6_12),
    ("v7.2", V7_2, SWITCHES_V6_12),
];

/// The request grows with the CPUs: 1 + floor(log2(CPUs)) times, at most eight counted.
pub(super) fn scaled(base_slice: u64, cpus: u32) -> u64 {
    base_slice * (1 + u64::from(cpus.clamp(1, 8).ilog2()))
}
