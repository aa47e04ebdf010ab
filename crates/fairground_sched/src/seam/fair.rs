//! The seams of the fair class. One kernel, v6.6, changed four of them at once: `pick`, `place`,
//! `tick_preempt` and `protection` are CFS together or EEVDF together.

use super::seams;
use crate::fair::tunables::{MAX_SLICE_NS, MIN_SLICE_NS};
use fairground_stdx::Ns;

seams! {
    $ fair;

    /// Who of a queue runs next.
    Pick = pick {
        Leftmost "leftmost" "The smallest virtual time, unless a buddy is near enough (CFS).",
        EligibleByVruntime "eligible-by-vruntime"
            "The earliest virtual deadline among entities with no negative lag; equal deadlines go by virtual time (EEVDF).",
        EligibleByDeadline "eligible-by-deadline"
            "The earliest virtual deadline among entities with no negative lag; equal deadlines go by arrival (EEVDF).",
    }
    history { v(4, 12) => Leftmost, v(6, 6) => EligibleByVruntime, v(6, 8) => EligibleByDeadline, }

    /// When a buddy that is taken loses its mark (CFS).
    BuddyClearing = buddy_clearing {
        AtPick "at-pick" "When it is picked.",
        AtSwitch "at-switch" "When the CPU goes over to it: a group that goes on with another of its tasks keeps its mark.",
    }
    history { v(4, 12) => AtPick, v(5, 14) => AtSwitch, }

    /// Where in virtual time an entity starts.
    Place = place {
        SleeperCredit "sleeper-credit" "New ones a slice behind the queue's minimum, sleepers up to half a latency before it (CFS).",
        Lag "lag" "At the queue's average, less the lag with which it left (EEVDF).",
    }
    history { v(4, 12) => SleeperCredit, v(6, 6) => Lag, }

    /// When a new task is placed.
    ForkPlace = fork_place {
        AtFork "at-fork" "On its parent's queue, before its CPU is chosen.",
        AtEnqueue "at-enqueue" "When it is queued for the first time.",
    }
    history { v(4, 12) => AtFork, v(6, 12) => AtEnqueue, }

    /// For how long a picked entity is safe from entities with an earlier deadline.
    Protection = protection {
        None "none" "There are no deadlines.",
        DeadlineMark "deadline-mark" "With RUN_TO_PARITY until the deadline that it was picked with moves, while it is eligible.",
        Vprot "vprot"
            "Until its virtual time passes a mark: its deadline, or earlier if a queued entity has a shorter slice (RUN_TO_PARITY).",
        VprotInLag "vprot-in-lag"
            "The same, but mark and lag are one field: another weight leaves a lag for a mark, and who is woken while a sleeper is on its CPU still a mark for its lag.",
    }
    // The last two were read in 6.18.15 and 7.2.13.
    history { v(4, 12) => None, v(6, 6) => DeadlineMark, v(6, 17) => VprotInLag, v(7, 2) => Vprot, }

    /// When the end of the protection is set.
    ProtectionSet = protection_set {
        EachSet "each-set" "Whenever an entity is set to run, also when it goes on after a change of its weight or group.",
        AtPick "at-pick" "When it was picked: who goes on after a change keeps the old end, wherever it is in virtual time by now.",
    }
    // Read in 7.2.13.
    history { v(4, 12) => EachSet, v(7, 2) => AtPick, }

    /// Whose slice a request is.
    TaskSlice = task_slice {
        Base "base" "Every request is of the base slice, or slices come from the period (CFS); sched_setattr's sched_runtime is not looked at.",
        Custom "custom" "A task may have a slice of its own, sched_setattr's sched_runtime of 100 us to 100 ms, which children inherit (EEVDF).",
    }
    history { v(4, 12) => Base, v(6, 12) => Custom, }

    /// What sched_yield() does.
    Yield = yields {
        SkipBuddy "skip-buddy" "The next pick passes over the task (CFS).",
        PushDeadline "push-deadline" "The task's deadline moves on by a request.",
        ForfeitRequest "forfeit-request" "An eligible task goes to its deadline in virtual time and gets a new one.",
    }
    history {
        v(4, 12) => SkipBuddy, v(6, 6) => PushDeadline, v(6, 12) => ForfeitRequest, v(6, 14) => PushDeadline,
        v(6, 18) => ForfeitRequest,
    }

    /// When a running task gives way to a reschedule that the fair class asks for.
    Preemption = preemption {
        None "none" "On its return to user mode; in the kernel it goes on to its end, or to a cond_resched().",
        Voluntary "voluntary" "On its return to user mode; in the kernel it goes on to its end, or to a cond_resched() or might_sleep().",
        Full "full" "At the end of the interrupt that finds it due, in the kernel too, unless preemption is disabled there.",
        Lazy "lazy"
            "On its return to user mode; other CPUs are not interrupted for that, and at the next tick it gives way in the kernel too.",
    }
    history { v(4, 12) => Voluntary, v(6, 18) => Lazy, }

    /// Whether a task may ask that a reschedule waits for some microseconds (rseq).
    SliceExtension = slice_extension {
        Absent "absent" "A task gives way when that is due, whatever it is doing in user mode.",
        Rseq "rseq" "On its way back from an interrupt or a fault a task that has asked for it goes on for 5 us, once.",
    }
    history { v(4, 12) => Absent, v(7, 0) => Rseq, }

    /// Who gives way when a nice value changes.
    NicePreempt = nice_preempt {
        Reschedules "reschedules" "Who runs, whether it became less urgent itself or a queued task became more urgent.",
        AsWakeUp "as-wake-up" "Who runs, if it became less urgent and is not alone; a queued task preempts as if it were woken.",
    }
    history { v(4, 12) => Reschedules, v(5, 6) => AsWakeUp, }

    /// When the running entity is preempted by its own run time.
    TickPreempt = tick_preempt {
        CfsSlice "cfs-slice" "An entity that used up its slice is rescheduled and keeps its vruntime.",
        AlignRightmost "align-rightmost"
            "An entity that used up its slice is also moved behind the rightmost entity of its queue (a patch that was never merged).",
        Deadline "deadline" "Any account of its run time that finds its virtual deadline passed, or its protection over (EEVDF).",
    }
    history { v(4, 12) => CfsSlice, v(6, 6) => Deadline, }

    /// Which dequeues bring min_vruntime up to date at their end.
    MinVruntimeAtDequeue = min_vruntime_at_dequeue {
        SaveRestoreOnly "save-restore-only" "Only a dequeue that saves the entity for an immediate enqueue updates min_vruntime (inverted test).",
        UnlessSaveRestore "unless-save-restore" "Every dequeue but that for an immediate enqueue updates min_vruntime.",
    }
    history { v(4, 12) => SaveRestoreOnly, v(4, 20) => UnlessSaveRestore, }

    /// Where an entity is placed that slept so long that a signed comparison of vruntimes may wrap.
    LongSleeper = long_sleeper {
        KeepMax "keep-max" "A woken entity takes the later of its own vruntime and the placement, however long it slept.",
        TakePlacement "take-placement" "A sleeper of more than 2^63/1024 ns (about 104 days) takes the placement, whatever its vruntime.",
    }
    history { v(4, 12) => KeepMax, v(6, 1) => TakePlacement, }

    /// Whether idleness is a property of entities, or only of the tasks' policy.
    IdleEntity = idle_entity {
        PolicyOnly "policy-only" "Only the policy SCHED_IDLE counts: such a task is preempted by any other at wake-up.",
        EntityAware "entity-aware"
            "Entities are idle or not (cpu.idle for groups): idle ones wake with a smaller credit and take shorter slices beside others.",
        EntityOnly "entity-only" "Only entities of one queue are compared, and the policy after them; NO_WAKEUP_PREEMPTION stops that too.",
    }
    history { v(4, 12) => PolicyOnly, v(5, 16) => EntityAware, v(6, 12) => EntityOnly, }

    /// What becomes of the protection of an idle entity that a wakee of another kind preempts.
    IdleProtection = idle_protection {
        Kept "kept" "An idle entity keeps its protection: the wake-up asks for a reschedule, but the idle one may be picked again.",
        Cancelled "cancelled" "An idle entity loses its protection when any other wakes (v6.15, and the stable kernels 6.12).",
    }
    history { v(4, 12) => Kept, v(6, 12) => Cancelled, v(6, 14) => Kept, v(6, 18) => Cancelled, }

    /// Whether a task that is picked again while it runs begins a new slice.
    RepeatedPick = repeated_pick {
        KeepsSlice "keeps-slice" "A running task that is picked again goes on with its slice (kernels with CONFIG_FAIR_GROUP_SCHED).",
        RenewsSlice "renews-slice"
            "A running task that is picked again is put down and set anew: its slice begins again (kernels without CONFIG_FAIR_GROUP_SCHED).",
    }
    history { v(4, 12) => KeepsSlice, }
}

impl Pick {
    /// Whether entities are picked by eligibility and virtual deadline.
    #[inline]
    pub const fn is_eevdf(self) -> bool {
        !matches!(self, Pick::Leftmost)
    }
}

impl Place {
    /// Whether an entity keeps its lag wherever it goes, and not a place relative to its queue (EEVDF).
    #[inline]
    pub(crate) const fn keeps_lag(self) -> bool {
        matches!(self, Place::Lag)
    }
}

impl Protection {
    /// Whether an entity is safe until its virtual time passes a mark.
    pub(crate) const fn is_vprot(self) -> bool {
        matches!(self, Protection::Vprot | Protection::VprotInLag)
    }
}

impl TickPreempt {
    /// Whether the running entity gives way at its deadline, which any account of run time finds (EEVDF).
    pub(crate) const fn is_by_deadline(self) -> bool {
        matches!(self, TickPreempt::Deadline)
    }
}

impl ForkPlace {
    /// Whether a new task is placed before its CPU is chosen.
    pub(crate) const fn is_at_fork(self) -> bool {
        matches!(self, ForkPlace::AtFork)
    }
}

impl IdleEntity {
    /// Whether a wakee is compared by the policies of both tasks before their entities are.
    pub(crate) const fn asks_policies_first(self) -> bool {
        !matches!(self, IdleEntity::EntityOnly)
    }
}

impl TaskSlice {
    /// Whether a task may have a slice of its own.
    pub const fn is_custom(self) -> bool {
        matches!(self, TaskSlice::Custom)
    }
    /// The slice of a task that asks for `asked`: cut to 100 us to 100 ms; `None` where nobody looks at what is asked.
    pub fn granted(self, asked: Ns) -> Option<Ns> {
        match self {
            TaskSlice::Base => None,
            TaskSlice::Custom => Some(Ns(asked.0.clamp(MIN_SLICE_NS, MAX_SLICE_NS))),
        }
    }
}

impl SliceExtension {
    /// Whether there are any.
    pub const fn is_there(self) -> bool {
        matches!(self, SliceExtension::Rseq)
    }
}

impl Preemption {
    /// Whether a task that is in the kernel is taken off its CPU at the end of an interrupt, once that is fully due.
    pub const fn preempts_in_kernel(self) -> bool {
        matches!(self, Preemption::Full | Preemption::Lazy)
    }
    /// Whether cond_resched() gives way: with full and lazy preemption it does nothing.
    pub const fn yields_at_cond_resched(self) -> bool {
        matches!(self, Preemption::None | Preemption::Voluntary)
    }
    /// Whether might_sleep() gives way.
    pub const fn yields_at_might_sleep(self) -> bool {
        matches!(self, Preemption::Voluntary)
    }
}
