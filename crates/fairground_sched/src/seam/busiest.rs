//! Seams of how balance counts capacities and finds the busiest group and CPU.

use super::seams;

seams! {
    $ busiest;

    /// What interrupts and other classes take off a CPU's capacity.
    ScaleRtCapacity = scale_rt_capacity {
        HalvedMean "halved-mean" "Their share of the time since the last half second began, and half of what was before.",
        Pelt "pelt" "Their tracked utilisations.",
    }
    history { v(4, 12) => HalvedMean, v(4, 19) => Pelt, }

    /// The full capacity of one thread of a core, in balance.
    SmtCapacity = smt_capacity {
        Shared "shared" "The threads of a core share 1178/1024 of a CPU (smt_gain).",
        Full "full" "Each thread counts as a whole CPU.",
    }
    history { v(4, 12) => Shared, v(5, 0) => Full, }

    /// Whether tasks that need a bigger CPU than theirs are looked after.
    Misfit = misfit {
        Ignored "ignored" "Nobody looks whether a task fits its CPU.",
        Running "running" "The running task of a CPU is looked at, whichever CPUs it may use.",
        Movable "movable" "The running task of a CPU is looked at if it may use other CPUs.",
        BiggerCpu "bigger-cpu" "The running task of a CPU is looked at if it may use a bigger one.",
    }
    // v5.12, and before in the stable kernel 5.10 (read in 5.10.223).
    history { v(4, 12) => Ignored, v(4, 20) => Running, v(5, 10) => Movable, v(6, 10) => BiggerCpu, }

    /// When schedule() looks whether the task that it has picked fits its CPU.
    MisfitAtPick = misfit_at_pick {
        Always "always" "Always, also if it was running already.",
        IfChanged "if-changed" "If another task was running; if not, the next tick does.",
    }
    history { v(4, 12) => Always, v(6, 12) => IfChanged, }

    /// Balance by types of groups: whether a CPU of the busiest group that has no fair task may be the one to take from.
    EmptyQueue = empty_queue {
        Considered "considered" "It may: the load that its sleepers left counts. Balance finds nothing to move there then.",
        PassedOver "passed-over" "It may not.",
    }
    // The first was read in 5.10.223.
    history { v(4, 12) => Considered, v(5, 13) => PassedOver, }

    /// Load-based balance: which idle CPUs pull from a group without capacity whatever the loads are.
    SparePull = spare_pull {
        NewlyIdle "newly-idle" "Only a CPU that has just run out of tasks.",
        AnyIdle "any-idle" "Any idle CPU.",
    }
    history { v(4, 12) => NewlyIdle, v(4, 15) => AnyIdle, }

    /// Load-based balance: what an imbalance of zero means.
    ZeroImbalance = zero_imbalance {
        Failure "failure" "The busiest group is searched, nothing is moved, and the balance has failed.",
        Balance "balance" "There is no busiest group: all is in balance.",
    }
    history { v(4, 12) => Failure, v(4, 20) => Balance, }

    /// Group-type balance: how small an imbalance between nodes is left alone.
    NumaImbalance = numa_imbalance {
        FewAtSource "few-at-source" "Any, if the busiest group has at most two tasks.",
        HalvedFew "halved-few" "At most two tasks to move, while the local group has few tasks (imb_numa_nr).",
        Few "few" "A difference of at most two tasks, while the local group has few tasks (imb_numa_nr).",
    }
    history { v(4, 12) => FewAtSource, v(5, 18) => HalvedFew, v(6, 0) => Few, }

    /// Group-type balance: a local group that would become overloaded, and has more load than the mean.
    AboveMean = above_mean {
        Pulls "pulls" "Pulls what the busiest group has above the mean: the difference wraps around.",
        Balanced "balanced" "Pulls nothing.",
    }
    history { v(4, 12) => Pulls, v(5, 10) => Balanced, v(5, 19) => Pulls, v(6, 1) => Balanced, }

    /// Group-type balance: a CPU that lost capacity to interrupts, with one task.
    ReducedCapacity = reduced_capacity {
        Ignored "ignored" "It is no reason to take a group for busier.",
        Misfit "misfit" "For an idle CPU its task counts as one that needs a bigger CPU.",
    }
    history { v(4, 12) => Ignored, v(6, 0) => Misfit, }

    /// Group-type balance: whether groups are compared by their cores.
    SiblingBalance = sibling_balance {
        TaskCount "task-count" "Numbers of tasks are compared, whatever CPUs share cores.",
        ByCores "by-cores" "A core with two busy threads is busier than one with one, and numbers of tasks are weighed by numbers of cores.",
    }
    history { v(4, 12) => TaskCount, v(6, 6) => ByCores, }

    /// Group-type balance: a group of clearly bigger CPUs in which nobody waits is no source for a smaller CPU.
    BiggerGroup = bigger_group {
        OfSameType "of-same-type" "That is asked only of one of the type of the busiest so far, so the first fully busy one is the busiest.",
        Always "always" "That is asked first.",
    }
    // The last was read in 7.2.13.
    history { v(4, 12) => OfSameType, v(7, 2) => Always, }

    /// Group-type balance: by how much a CPU must be bigger than another to count as bigger.
    BiggerCapacity = bigger_capacity {
        Quarter "quarter" "By more than a quarter, between CPUs of two groups. A CPU keeps its only task if it is bigger at all.",
        Twentieth "twentieth" "By more than 5 %, between a group and the balancing CPU. A CPU keeps its only task unless it is smaller by that.",
    }
    history { v(4, 12) => Quarter, v(5, 13) => Twentieth, }

    /// Group-type balance and placement of new tasks where wake-ups go by energy: which groups may count as overloaded.
    EnergyOverload = energy_overload {
        ByTasks "by-tasks" "Those with more tasks than CPUs and more to do than they can, as elsewhere.",
        Overutilized "overutilized" "Those of them of which a CPU has more to do than it can; none when a new task is placed.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => ByTasks, v(7, 2) => Overutilized, }

    /// Which CPU may take a task that is too big for its own.
    MisfitHelper = misfit_helper {
        Bigger "bigger" "One that is bigger.",
        IdleCore "idle-core" "One that is bigger, and whose other threads idle.",
    }
    // Read in 6.18.15 and 7.2.13.
    history { v(4, 12) => Bigger, v(7, 2) => IdleCore, }

    /// Which tasks of a CPU balance counts.
    BalanceTasks = balance_tasks {
        Queued "queued" "All fair tasks on the queue, those in delayed dequeue included.",
        Runnable "runnable" "Those that want to run.",
    }
    history { v(4, 12) => Queued, v(6, 14) => Runnable, }

    /// When a CPU of high priority takes tasks from those of lower (ASYM_PACKING).
    AsymPacking = asym_packing {
        Priority "priority" "Its priority is higher.",
        BusyThreads "busy-threads" "Its priority is higher, or it would relieve a core with two busy threads; its own sibling must be idle.",
        IdleCore "idle-core" "Its priority is higher, and between cores its whole core is idle.",
    }
    history { v(4, 12) => Priority, v(5, 16) => BusyThreads, v(6, 5) => IdleCore, }

    /// Whether tasks that wait count as utilisation where the busiest CPU is looked for.
    RunnableBoost = runnable_boost {
        Off "off" "Utilisation counts as it is.",
        On "on" "It counts as at least the runnable average.",
        WithTask "with-task" "It counts as at least the runnable average, which is that with or without the task where wake-ups go by energy.",
    }
    // The stable kernel 6.12.107 has what 7.2.13 has; 6.18.15 has not.
    history { v(4, 12) => Off, v(6, 5) => On, v(6, 12) => WithTask, v(6, 13) => On, v(7, 2) => WithTask, }

    /// Load-based: when tasks of another group go to siblings first, since the domain below prefers that.
    PreferSibling = prefer_sibling {
        AnyExcess "any-excess" "As soon as it has two, whatever the balancing group has (up to v4.11).",
        BeyondLocal "beyond-local" "If it has at least two more than the balancing group.",
    }
    history { v(4, 11) => AnyExcess, v(4, 12) => BeyondLocal, }
}
