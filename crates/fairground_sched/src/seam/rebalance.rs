//! The seams of the frame of load balance: who balances and when, which tasks move, and how it goes on.

use super::seams;

seams! {
    $ rebalance;

    /// In what order a CPU's tasks are tried when balance takes some away.
    TaskOrder = lb_task_order {
        NewestFirst "newest-first" "Who was queued last is tried first; who is passed over goes to the end.",
        LongestWaiting "longest-waiting" "Who was queued or picked last is tried last.",
        LongestOffCpu "longest-off-cpu" "Who was queued or put on the CPU last is tried last; to be picked again while running changes nothing.",
    }
    history { v(4, 12) => NewestFirst, v(4, 15) => LongestWaiting, v(6, 12) => LongestOffCpu, }

    /// How large a task may be for the imbalance that it is moved for.
    DetachAmount = lb_detach_amount {
        HalfLoad "half-load" "Half of its load may not exceed the imbalance.",
        ShiftedLoad "shifted-load" "Its load, halved for each failed balance, may not exceed the imbalance; its utilisation as it is.",
        ShiftedUtil "shifted-util"
            "Its load or utilisation, halved for each failed balance, may not exceed the imbalance (carried back to stable 6.1 in July 2024).",
    }
    history {
        v(4, 12) => HalfLoad,
        v(5, 10) => ShiftedLoad,
        v(6, 1) => ShiftedUtil,
        v(6, 6) => ShiftedLoad,
        v(6, 12) => ShiftedUtil,
    }

    /// Which waiting tasks balance leaves where they are, beside those that are pinned or cache hot.
    Migratable = lb_migratable {
        All "all" "None; tasks are cache hot for the other thread of a core, too.",
        ColdForSiblings "cold-for-siblings" "None; the threads of a core share its caches.",
        EligibleFirst "eligible-first"
            "Delayed sleepers, unless load is moved; and, until a balance has failed, tasks that are not eligible if the destination has tasks.",
    }
    history { v(4, 12) => All, v(5, 10) => ColdForSiblings, v(6, 14) => EligibleFirst, }

    /// When a move in spite of warm caches counts in the statistics (lb_hot_gained).
    HotGained = lb_hot_gained {
        MayMove "may-move" "When the task is found to be free to move, though it may be too big for the imbalance then.",
        Moved "moved" "When it is moved (late stable kernels of older versions, too).",
    }
    history { v(4, 12) => MayMove, v(6, 1) => Moved, v(6, 6) => MayMove, v(6, 12) => Moved, }

    /// Which CPU of a group balances on its behalf.
    ShouldWeBalance = should_we_balance {
        FirstIdle "first-idle" "Its first idle CPU, else its first; a CPU that runs out of tasks always.",
        FirstIdleUnlessFed "first-idle-unless-fed" "The same, but a CPU that ran out of tasks stops when it has got one.",
        IdleCoreOrFirst "idle-core-or-first" "A CPU of an idle core first; the group's first CPU even while a thread of a busy core is idle.",
        IdleCore "idle-core" "A CPU of an idle core first, then an idle thread of a busy core, then the group's first.",
    }
    history { v(4, 12) => FirstIdle, v(6, 1) => FirstIdleUnlessFed, v(6, 6) => IdleCoreOrFirst, v(6, 12) => IdleCore, }

    /// What follows when the CPUs that a task may use stand in the way of balance.
    LbPinned = lb_pinned {
        AnyCpu "any-cpu" "Balance tries again while any CPU is left, in the domain or not.",
        OtherGroups "other-groups" "Balance tries again while CPUs outside the destination's group are left.",
        MarkStays "mark-stays" "The same, and the parent's group keeps its mark (imbalance) where only bound tasks were found.",
        Tested "tested" "The same, and a queue counts as pinned until a task of it was tried.",
    }
    history { v(4, 12) => AnyCpu, v(4, 13) => OtherGroups, v(5, 4) => MarkStays, v(5, 12) => Tested, }

    /// How many tasks one look at a queue goes through.
    LbLoop = lb_loop {
        Max "max" "As many as it has, at most 32.",
        PastPinned "past-pinned" "More than that while all so far were pinned.",
    }
    // v6.1 of mainline goes past them; the stable kernel 6.1.187 does not.
    history { v(4, 12) => Max, v(6, 2) => PastPinned, v(6, 12) => Max, }

    /// How the interval of a domain goes on after a balance.
    LbInterval = lb_interval {
        DoubledByAll "doubled-by-all" "Balance that finds nothing doubles it, newidle balance too, and so does active balance.",
        NotByNewidle "not-by-newidle" "Newidle balance leaves it alone; active balance doubles it, unless it has another cause than failures.",
        LessOneBusy "less-one-busy" "The same; a busy CPU's interval is a jiffy shorter, and tasks of idle policy do not make it busy.",
        NotByActive "not-by-active" "The same, but active balance begins it anew.",
        NotByMisfit "not-by-misfit" "The same, and a task that does not fit its CPU changes neither interval nor count of failures.",
    }
    history {
        v(4, 12) => DoubledByAll, v(5, 0) => NotByNewidle, v(5, 10) => LessOneBusy, v(5, 12) => NotByActive,
        v(6, 12) => NotByMisfit,
    }

    /// When balance has the stopper push the running task.
    ActiveBalance = active_balance {
        AfterFailures "after-failures" "After repeated failures; for packing only when the destination runs out of tasks.",
        Misfit "misfit" "The same, and for a task that does not fit its CPU.",
        AnyIdle "any-idle" "The same, and for packing whenever the destination is idle.",
        TaskCounts "task-counts" "The same, but after failures only where a number of tasks was to be moved.",
    }
    history { v(4, 12) => AfterFailures, v(4, 20) => Misfit, v(5, 1) => AnyIdle, v(5, 12) => TaskCounts, }

    /// When a CPU that runs out of tasks looks for some elsewhere, and how the cost of that is kept.
    NewidleCost = newidle_cost {
        Fixed "fixed" "If it expects to be idle for the migration cost; the highest cost falls by 1 % a second.",
        Measured "measured" "If it expects to be idle for the highest cost of late, which falls by 1 % after a second without a new maximum.",
    }
    history { v(4, 12) => Fixed, v(5, 16) => Measured, }

    /// How many tasks newidle balance takes at once: a choice of the build.
    NewidleBatch = newidle_batch {
        Imbalance "imbalance" "As many as the imbalance asks for.",
        One "one" "One (a build with a preemptible kernel, as the recorded stable kernels 6.1, 6.12 and 6.18).",
    }
    history {
        v(4, 12) => Imbalance, v(6, 1) => One, v(6, 6) => Imbalance, v(6, 12) => One, v(6, 14) => Imbalance, v(6, 18) => One,
    }

    /// How idle CPUs without a tick are balanced for.
    NohzBalance = nohz_balance {
        BalanceOnly "balance-only" "A busy CPU asks the first idle one to balance for the others, then for itself.",
        Stats "stats" "That one may be asked to age the load of idle CPUs only; it goes through itself last.",
        CapacityFirst "capacity-first" "The same; lost capacity and misfit tasks are reasons before busy siblings are.",
        Wrap "wrap" "The same, beginning behind the CPU that does it; CPUs that go idle are counted in at the next busy tick.",
    }
    history { v(4, 12) => BalanceOnly, v(4, 17) => Stats, v(5, 2) => CapacityFirst, v(5, 13) => Wrap, }

    /// Where a CPU that finds nobody to run looks for tasks elsewhere.
    NewidleAt = newidle_at {
        BeforePick "before-pick"
            "After a fair task within the pick, again while all that it finds sleeps. After the stopper or a task of another class before the pick, once, if nobody stands on its queue of fair tasks.",
        InPick "in-pick" "Always within the pick of a fair task: so after that has taken sleepers off, and also when the server of the fair class picks and has none.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => BeforePick, v(7, 2) => InPick, }

    /// Whether a CPU that its last fair task leaves balances although tasks of other classes wait there, as after a turn of the server.
    NewidleBeside = newidle_beside {
        Nobody "nobody" "Only if nobody at all waits there.",
        Anybody "anybody" "Whoever else waits, before one of these is picked.",
    }
    // Read in 6.1.187 and 6.12.107; only with the server of the fair class can a fair task run while others wait.
    history { v(4, 12) => Nobody, v(6, 12) => Anybody, }
}

impl LbInterval {
    /// Whether a busy CPU's interval is a jiffy shorter, so that those of its domains do not coincide.
    pub(crate) const fn busy_is_one_less(self) -> bool {
        matches!(self, LbInterval::LessOneBusy | LbInterval::NotByActive | LbInterval::NotByMisfit)
    }
}
