//! The seams of placement: on which CPU a woken or new task is queued.

use super::seams;
use fairground_model::Policy;

seams! {
    $ placement;

    /// Whether a wakee goes towards its waker's CPU or its previous one.
    WakeAffine = wake_affine {
        CacheOrNodes "cache-or-nodes"
            "To the waker's CPU if both share a cache, else if the load per capacity of the waker's node allows it.",
        IdleThenWeight "idle-then-weight"
            "To an idle CPU of both if they share a cache, to that of a sync waker that is alone, else to the one with less load.",
        IdleThenWeightOrPrev "idle-then-weight-or-prev" "To an idle CPU of both, the previous one across caches too, to that of a sync waker that is alone, else to the one with less load.",
    }
    history { v(4, 12) => CacheOrNodes, v(4, 14) => IdleThenWeight, v(5, 11) => IdleThenWeightOrPrev, }

    /// Whether a waker that is exiting makes its wake-ups synchronous.
    ExitingWaker = exiting_waker {
        Sync "sync" "The parent that an exiting task wakes is pulled to its CPU as any wakee of a waker that will sleep soon.",
        Plain "plain" "An exiting task wakes its parent like a waker that goes on running.",
    }
    history { v(4, 12) => Sync, v(4, 16) => Plain, }

    /// Whether a wakee that is too big for one of both CPUs is placed by the slow path.
    WakeCap = wake_cap {
        SmallCpus "small-cpus" "A task that does not fit the smaller of its previous and its waker's CPU is not woken affine.",
        Ignored "ignored" "Capacity has no say before the search for an idle CPU.",
    }
    history { v(4, 12) => SmallCpus, v(5, 7) => Ignored, }

    /// What is remembered of a task's CPUs beyond the last one.
    RecentCpu = recent_used_cpu {
        None "none" "Nothing.",
        OnHit "on-hit" "The previous CPU when the remembered one was taken; and a waker's own CPU after an affine wake-up.",
        AlwaysUnchecked "always-unchecked"
            "The previous CPU at every wake-up that reaches this point; the affinity check uses the new value (a kernel bug).",
        Always "always" "The previous CPU at every wake-up that reaches this point.",
    }
    history { v(4, 12) => None, v(4, 16) => OnHit, v(5, 14) => AlwaysUnchecked, v(6, 0) => Always, }

    /// Whether a wakee may queue up behind the kernel thread that wakes it.
    KthreadWaker = kthread_waker {
        Any "any" "A kernel thread is a waker like others.",
        Stacks "stacks" "A task woken by a kernel thread that is bound to its previous CPU and alone there stays: the thread will sleep.",
    }
    history { v(4, 12) => Any, v(5, 6) => Stacks, }

    /// Whether a CPU that runs only tasks of policy SCHED_IDLE is as good as an idle one.
    SchedIdleCpu = sched_idle_cpu {
        Busy "busy" "A CPU with tasks of policy SCHED_IDLE is busy.",
        Free "free" "A CPU with no other tasks than those of policy SCHED_IDLE is as good as an idle one.",
        FreeForOthers "free-for-others" "The same, but not for a task that is of that policy itself.",
    }
    history { v(4, 12) => Busy, v(5, 7) => Free, v(7, 2) => FreeForOthers, }

    /// In what order a cache domain is searched for an idle CPU.
    IdleSearch = idle_search {
        Steps "steps"
            "From the target on: an idle core, then an idle CPU, whose budget forbidden CPUs use up too, then the target's siblings.",
        StepsOfAllowed "steps-of-allowed" "From the target on: an idle core, given up at its first busy thread, then an idle CPU, then the target's siblings; forbidden CPUs do not count.",
        OnePass "one-pass"
            "Siblings of the previous CPU and that CPU, then from behind the target idle cores or else idle CPUs, in one pass.",
        OnePassOthers "one-pass-others" "Siblings of the previous CPU, not that CPU again, then from behind the target idle cores or else idle CPUs, in one pass.",
    }
    history { v(4, 12) => Steps, v(5, 7) => StepsOfAllowed, v(5, 13) => OnePass, v(6, 0) => OnePassOthers, }

    /// How many CPUs of a small cache domain a search may look at that goes by the domain's utilisation (SIS_UTIL).
    IdleScan = idle_scan {
        Proportional "proportional" "As many of each cache domain, in proportion to its size.",
        MoreInSmall "more-in-small" "Of domains of at most 16 CPUs as many as if they had 32.",
    }
    history { v(4, 12) => Proportional, }

    /// How CPUs of different capacities are searched.
    IdleCapacity = idle_capacity {
        None "none" "As if they were equal.",
        First "first" "An idle CPU that the task fits is searched for before anything else.",
        AfterKnown "after-known" "The target, the previous and the recent CPU come first if they are idle and the task fits.",
        Ranked "ranked"
            "As after-known, but idle cores come before threads beside busy ones, and SIS_UTIL limits the search by how much the domain with all capacities is used.",
    }
    // v5.11, and before in the stable kernel 5.10 (read in 5.10.223). The last was read in 7.2.13, and is not in 6.18.15.
    history { v(4, 12) => None, v(5, 7) => First, v(5, 10) => AfterKnown, v(7, 2) => Ranked, }

    /// Whether clusters within a cache domain are searched first.
    ClusterSearch = cluster_search {
        None "none" "The cache domain is searched as a whole.",
        First "first" "The target's cluster is searched first; idle CPUs known from before count less outside of it.",
    }
    history { v(4, 12) => None, v(6, 7) => First, }

    /// How the group is found in which a new task, or one that calls exec, starts.
    IdlestGroup = idlest_group {
        LoadOrSpare "load-or-spare" "The most spare capacity of all that CPUs have (exec), else clearly less load.",
        LoadOrSpareLeft "load-or-spare-left" "The most spare capacity of all that interrupts and other classes leave (exec), else clearly less load.",
        GroupType "group-type" "The least busy type of group, then idle CPUs or load, as balance counts them.",
        AllowedCpus "allowed-cpus" "The least busy type of group, then idle CPUs or load, by those CPUs only that the task may use (stable kernels 6.1 and 6.12 too).",
    }
    history {
        v(4, 12) => LoadOrSpare, v(4, 16) => LoadOrSpareLeft, v(5, 5) => GroupType, v(6, 1) => AllowedCpus, v(6, 6) => GroupType,
        v(6, 12) => AllowedCpus, v(6, 14) => GroupType, v(7, 2) => AllowedCpus,
    }

    /// When a task starts on another node.
    StartNode = start_node {
        AsGroups "as-groups" "Nodes are compared like any groups.",
        LessLoad "less-load" "A node must have clearly less load than the local one.",
        NoIdle "no-idle" "The local node has no idle CPU.",
        Room "room" "The local node has more tasks than imb_numa_nr allows.",
        SmallImbalance "small-imbalance" "The local node has more tasks than imb_numa_nr allows, or over two idle CPUs fewer.",
    }
    history { v(4, 12) => AsGroups, v(4, 17) => LessLoad, v(5, 5) => NoIdle, v(5, 18) => Room, v(6, 0) => SmallImbalance, }
}

impl SchedIdleCpu {
    /// Whether such a CPU is as good as an idle one for a task of that policy.
    pub(crate) fn is_free_for(self, policy: Policy) -> bool {
        match self {
            SchedIdleCpu::Busy => false,
            SchedIdleCpu::Free => true,
            SchedIdleCpu::FreeForOthers => policy != Policy::Idle,
        }
    }
}

impl IdleSearch {
    /// Whether idle cores and idle CPUs are searched for in one pass.
    #[inline]
    pub(crate) const fn is_one_pass(self) -> bool {
        matches!(self, IdleSearch::OnePass | IdleSearch::OnePassOthers)
    }
}

impl RecentCpu {
    /// Whether the remembered CPU changes when it was taken, and after an affine wake-up on the waker's CPU.
    pub const fn is_kept_on_hit(self) -> bool {
        matches!(self, RecentCpu::OnHit)
    }
}

impl IdleCapacity {
    /// Whether CPUs that are known by name come first.
    pub(crate) fn asks_known_first(self) -> bool {
        matches!(self, IdleCapacity::AfterKnown | IdleCapacity::Ranked)
    }
}
