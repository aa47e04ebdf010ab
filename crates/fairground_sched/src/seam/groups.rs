//! The seams of task groups.

use super::seams;
use fairground_model::cgroup::shares_to_weight;

seams! {
    $ groups;

    /// How the load of a group on one CPU reaches the queue above.
    GroupLoad = group_load {
        ViaLoadAvg "via-load-avg"
            "A group's entity stands on the queue above with its own average, which follows its weight by ageing and its queue only when tasks come or go for good.",
        Independent "independent"
            "Runnable load goes up by itself at every update, as the share of the group that the queue's runnable load makes; only tasks are counted at their enqueue (a patch of 2017).",
        Reweighted "reweighted"
            "The entity's averages are rescaled with its weight, and a second weight, by runnable load, is what the queue above counts.",
        RunnableAvg "runnable-avg"
            "The entity's averages are rescaled with its weight; in place of runnable load the number of runnable tasks goes up.",
    }
    history { v(4, 12) => ViaLoadAvg, v(4, 15) => Reweighted, v(5, 7) => RunnableAvg, }

    /// How often a queue tells its group how loaded it is.
    TgLoadUpdate = tg_load_update {
        OnChange "on-change" "Whenever its load has changed by more than a 64th of what it told.",
        OnceAMillisecond "once-a-millisecond" "The same, but at most once a millisecond.",
        OnceByQueueClock "once-by-queue-clock" "The same, by the clock of the run queue as it was read last.",
    }
    // The last was read in 7.2.13.
    history { v(4, 12) => OnChange, v(6, 7) => OnceAMillisecond, v(7, 2) => OnceByQueueClock, }

    /// When the queue of a group, in which nothing is queued and all sums are 0, is aged from outside no more.
    ///
    /// What a queue has told its group last is corrected at its next update only. With `once-a-millisecond` of seam `tg_load_update` a
    /// queue that is forgotten too early counts in its group for good.
    DecayedQueue = decayed_queue {
        Sums "sums" "At once.",
        Childless "childless" "When no queue of a group in it is aged any more.",
        Untold "untold" "As childless, and when it has told its group a load of 0.",
    }
    // The recorded stable kernel 6.12.107 has what v6.18 has.
    history { v(4, 12) => Sums, v(5, 13) => Childless, v(6, 12) => Untold, v(6, 13) => Childless, v(6, 18) => Untold, }

    /// When an entity of a group gets its weight anew.
    GroupWeight = group_weight {
        Always "always" "At every update, even if the weight is what it was: in CFS the averages are worked out again.",
        IfChanged "if-changed" "Only if the weight is another one.",
        IfChangedAndLoaded "if-changed-and-loaded" "As that, and an empty group keeps its weight.",
    }
    history { v(4, 12) => Always, v(6, 6) => IfChanged, v(6, 12) => IfChangedAndLoaded, }

    /// When a new task adds its averages to those of its queue.
    AttachNew = attach_new {
        BeforeEnqueue "before-enqueue" "Before it is queued: groups above take its load with the weights that they had without it.",
        AtEnqueue "at-enqueue" "While it is queued.",
    }
    history { v(4, 12) => BeforeEnqueue, v(6, 1) => AtEnqueue, }

    /// What becomes of lag and deadline when a queued entity changes its weight.
    Reweight = reweight {
        KeepsVruntime "keeps-vruntime" "Virtual time stays as it is (CFS).",
        AroundAverage "around-average" "Lag and distance of the deadline from the average are scaled, around the average of before.",
        PlacesAgain "places-again" "Lag and request are scaled, and the entity is placed again.",
        WithProtection "with-protection" "As around-average; what is left of the protection of the current entity is scaled, too.",
    }
    history { v(4, 12) => KeepsVruntime, v(6, 6) => AroundAverage, v(6, 14) => PlacesAgain, v(7, 2) => WithProtection, }

    /// How the load of a task that changes its CPU while it is runnable leaves the old one.
    MigrateDetach = migrate_detach {
        AtNextUpdate "at-next-update" "As that of a sleeper: it is noted in `removed`, and the old queue subtracts it at its next update.",
        AfterDequeue "after-dequeue" "At once, when the task has left its queue.",
        WithDequeue "with-dequeue" "At once, by the dequeue itself: before the groups above it get their weights.",
    }
    history { v(4, 12) => AtNextUpdate, v(4, 15) => AfterDequeue, v(6, 1) => WithDequeue, }

    /// What request an entity of a group has.
    GroupSlice = group_slice {
        Base "base" "The base slice, or a share of the period (CFS).",
        SmallestBelow "smallest-below" "The smallest of its queue, told by each enqueue and dequeue below it.",
    }
    history { v(4, 12) => Base, v(6, 12) => SmallestBelow, }

    /// In which order a task and the groups above it are set to run where no fair task ran before.
    FirstSet = first_set {
        TopDown "top-down" "The outermost group first, level by level as they are picked.",
        BottomUp "bottom-up" "The task first.",
    }
    history { v(4, 12) => TopDown, v(6, 12) => BottomUp, }

    /// Whether a CPU picks anew when a task changes its group there.
    MoveRunning = move_running {
        GoesOn "goes-on" "No: who runs goes on.",
        Resched "resched" "If that is the running one: the new group may be less urgent.",
        ReschedOrPreempt "resched-or-preempt" "The same; one that waits preempts as if it were woken.",
    }
    // The last was read in 7.2.13.
    history { v(4, 12) => GoesOn, v(5, 4) => Resched, v(7, 2) => ReschedOrPreempt, }

    /// Whether a group may be idle as a whole.
    GroupIdle = group_idle {
        Absent "absent" "Groups have no file cpu.idle: only tasks are idle, by their policy.",
        File "file" "Groups have a file cpu.idle: with 1 in it a group weighs 3, and gives way to every sibling that is not idle.",
    }
    history { v(4, 12) => Absent, v(5, 15) => File, }

    /// What is read of cpu.weight after cpu.shares was written.
    ShownWeight = shown_weight {
        AsItIs "as-it-is" "Shares of 1024 as 100, to nearest; shares of up to 5 read as 0.",
        Clamped "clamped" "The same, but taken into the range that can be written, 1 to 10000.",
    }
    history { v(4, 12) => AsItIs, v(6, 12) => Clamped, }
}

impl GroupIdle {
    /// Whether groups have the file cpu.idle.
    pub const fn has_file(self) -> bool {
        matches!(self, GroupIdle::File)
    }
}

impl ShownWeight {
    /// The cpu.weight that is read of a group with these shares.
    ///
    /// Kernel: core.c cpu_weight_read_u64(), v4.15–; sched.h sched_weight_to_cgroup(), v6.12–
    pub fn of(self, shares: u64) -> u64 {
        shares_to_weight(shares, matches!(self, ShownWeight::Clamped))
    }
}

impl GroupLoad {
    /// Whether the entity of a group has a second weight, that of its runnable load.
    pub(crate) const fn has_second_weights(self) -> bool {
        matches!(self, GroupLoad::Reweighted)
    }
    /// Whether the entity of a group counts above with its runnable load.
    pub(crate) const fn has_runnable_load(self) -> bool {
        matches!(self, GroupLoad::Independent | GroupLoad::Reweighted)
    }
}
