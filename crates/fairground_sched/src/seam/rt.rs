//! The seams of the real-time class; all but the first ones are the deadline class's too.

use super::seams;

seams! {
    $ rt;

    /// What keeps real-time tasks from taking a CPU for ever.
    RtBandwidth = rt_bandwidth {
        Throttle "throttle" "Real-time tasks of a CPU stop after 950 ms of each second.",
        FairServer "fair-server" "None is stopped: the fair class of each CPU has a deadline server of 50 ms in 1000 ms.",
    }
    history { v(4, 12) => Throttle, v(6, 12) => FairServer, }

    /// The server of the fair class: when it stops.
    FairServerStop = fair_server_stop {
        Emptied "emptied" "It stops when no fair task is queued on its CPU any more.",
        Picked "picked" "It stops when it is its turn and it has no task, and waits for that while its CPU idles.",
    }
    // The recorded stable kernel 6.12.107 has what v6.17 has.
    history { v(4, 12) => Emptied, v(6, 12) => Picked, v(6, 13) => Emptied, v(6, 17) => Picked, }

    /// How the server of the fair class begins again within its period with more than its share of the rest.
    FairServerWake = fair_server_wake {
        New "new" "A new period begins; one that ran in the old period runs at once.",
        PutOff "put-off" "A new period begins, and it is put off.",
        Share "share" "One that ran in its period goes on with its share of the rest; else as `put-off`.",
    }
    // Read in 6.12.107, 6.18.15 and 7.2.13; the first is later than the second.
    history { v(4, 12) => New, v(6, 12) => Share, v(6, 13) => New, v(6, 17) => PutOff, v(7, 0) => Share, }

    /// What the time of an idle CPU is to the server of the fair class.
    FairServerIdle = fair_server_idle {
        Discounted "discounted" "It shortens the runtime, down to none, when the CPU gets a task.",
        Accounted "accounted" "It is accounted at each tick as that of fair tasks. A period that it has used up begins anew, once: a CPU that is still idle when the server would run stops it.",
    }
    // Read in 6.12.107 and 6.18.15, and in 7.2.13.
    history { v(4, 12) => Discounted, v(6, 19) => Accounted, }

    /// What a server does that has used its runtime up when its next period has begun already.
    FairServerLate = fair_server_late {
        Queued "queued" "It runs on with the runtime of that.",
        Anew "anew" "A period begins now.",
    }
    // Read in 6.12.107, and in 6.18.15 and 7.2.13.
    history { v(4, 12) => Queued, v(6, 18) => Anew, }

    /// Whether the server of the fair class counts as one more task of its CPU while it is queued.
    ServerCounts = server_counts {
        AsTask "as-task" "It does: beside one task there are two, so others look there for more.",
        Apart "apart" "It does not.",
    }
    // Read in 6.12.107 and 6.18.15.
    history { v(4, 12) => AsTask, v(6, 18) => Apart, }

    /// What becomes of a running real-time or deadline task, or of the idle task, that is picked again.
    RepeatedRtPick = repeated_rt_pick {
        Renewed "renewed" "It is put down and set anew: its time is accounted before the pick, and those that wait are pushed. A core that idles is noted again.",
        Kept "kept" "It goes on as if nobody had asked.",
    }
    history { v(4, 12) => Renewed, v(6, 12) => Kept, }

    /// To which of several CPUs that are equally good a real-time or deadline task goes.
    PushSpread = push_spread {
        First "first" "To the first one.",
        Turns "turns" "To the one behind that which the deciding CPU found last.",
    }
    history { v(4, 12) => First, v(5, 11) => Turns, }

    /// Which overloaded CPUs the round of RT_PUSH_IPI comes to.
    PushReach = push_reach {
        All "all" "All of them, and so the one that hands the round on to itself once more if it is still overloaded.",
        Others "others" "All but the one that hands the round on.",
    }
    // v7.0; before in stable kernels, read in 6.1.187, 6.12.107 and 6.18.15. 5.10.223 has the first.
    history { v(4, 12) => All, v(6, 1) => Others, v(6, 2) => All, v(6, 12) => Others, v(6, 13) => All, v(6, 18) => Others, }

    /// What a pushed or pulled task is to the CPU to which it comes.
    MovedPreempts = moved_preempts {
        No "no" "That one chooses anew.",
        AsWakeUp "as-wake-up" "As one that was woken there: the CPU chooses anew, and need not read its clock for that.",
    }
    history { v(4, 12) => No, v(7, 0) => AsWakeUp, }

    /// When a task that changes its class leaves the old one.
    ClassLeft = class_left {
        Last "last" "When it has its new weight, and is queued in its new class.",
        First "first"
            "Before: its load is off its queue when its weight is set, which takes that load off again and adds that of the new weight. A queue with less load keeps some that nobody has.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => Last, v(6, 19) => First, }

    /// When a running task that comes to another class has its CPU choose anew.
    ClassChanged = class_changed {
        IfFair "if-fair" "If its new class is the fair one.",
        Always "always" "Whichever its new class is.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => IfFair, v(7, 2) => Always, }

    /// What a queued deadline entity, be it the server of the fair class, makes of its CPU for real-time tasks that look for another one.
    CpupriDeadline = cpupri_deadline {
        Absent "absent" "Nothing: only real-time tasks count.",
        Higher "higher"
            "The first one puts the CPU above all real-time tasks, and the last one that leaves ends that. So does a real-time task that changes the highest priority there, or a change of the domains.",
    }
    history { v(4, 12) => Absent, v(5, 11) => Higher, }

    /// When others may look at a CPU for real-time or deadline tasks that wait there, and when it pushes any.
    PushOverload = push_overload {
        NrMigratory "nr-migratory" "When two tasks of the class or more are queued, and one of them, be it the running one, may run elsewhere.",
        Pushable "pushable" "When a task of the class waits that may run elsewhere, be it the only one.",
    }
    history { v(4, 12) => NrMigratory, v(6, 7) => Pushable, }
}

impl FairServerStop {
    /// Whether it waits for its turn without fair tasks.
    pub(crate) fn outlasts_tasks(self) -> bool {
        self == FairServerStop::Picked
    }
}

impl PushOverload {
    /// Whether a CPU counts as overloaded. `queued`: tasks of the class; `migratory`: one of them may run elsewhere; `pushable`: one
    /// of these waits.
    ///
    /// Kernel: rt.c update_rt_migration(), deadline.c update_dl_migration(), v4.12–v6.6; rt.c enqueue_pushable_task(), deadline.c
    /// enqueue_pushable_dl_task(), v6.7–
    pub(crate) fn is_overloaded(self, queued: usize, migratory: impl FnOnce() -> bool, pushable: bool) -> bool {
        match self {
            PushOverload::NrMigratory => queued > 1 && migratory(),
            PushOverload::Pushable => pushable,
        }
    }
}
