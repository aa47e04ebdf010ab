//! The small seams of the fair class.

use super::seam;

seam! {
    /// What the tick does with an entity whose slice is used up.
    TickPreempt = "tick_preempt" {
        CfsSlice "cfs-slice" "An entity that used up its slice is rescheduled and keeps its vruntime.",
        AlignRightmost "align-rightmost"
            "An entity that used up its slice is also moved behind the rightmost entity of its queue (a patch that was never merged).",
    }
    history { v(4, 12) => CfsSlice, }
}

seam! {
    /// Which dequeues bring min_vruntime up to date at their end.
    MinVruntimeAtDequeue = "min_vruntime_at_dequeue" {
        SaveRestoreOnly "save-restore-only" "Only a dequeue that saves the entity for an immediate enqueue updates min_vruntime (inverted test).",
        UnlessSaveRestore "unless-save-restore" "Every dequeue but that for an immediate enqueue updates min_vruntime.",
    }
    history { v(4, 12) => SaveRestoreOnly, v(4, 20) => UnlessSaveRestore, }
}

seam! {
    /// Where an entity is placed that slept so long that a signed comparison of vruntimes may wrap.
    LongSleeper = "long_sleeper" {
        KeepMax "keep-max" "A woken entity takes the later of its own vruntime and the placement, however long it slept.",
        TakePlacement "take-placement" "A sleeper of more than 2^63/1024 ns (about 104 days) takes the placement, whatever its vruntime.",
    }
    history { v(4, 12) => KeepMax, v(6, 1) => TakePlacement, }
}

seam! {
    /// Whether idleness is a property of entities, or only of the tasks' policy.
    IdleEntity = "idle_entity" {
        PolicyOnly "policy-only" "Only the policy SCHED_IDLE counts: such a task is preempted by any other at wake-up.",
        EntityAware "entity-aware"
            "Entities are idle or not (cpu.idle for groups): idle ones wake with a smaller credit and take shorter slices beside others.",
    }
    history { v(4, 12) => PolicyOnly, v(5, 16) => EntityAware, }
}

seam! {
    /// Whether a task that is picked again while it runs begins a new slice.
    RepeatedPick = "repeated_pick" {
        KeepsSlice "keeps-slice" "A running task that is picked again goes on with its slice (kernels with CONFIG_FAIR_GROUP_SCHED).",
        RenewsSlice "renews-slice"
            "A running task that is picked again is put down and set anew: its slice begins again (kernels without CONFIG_FAIR_GROUP_SCHED).",
    }
    history { v(4, 12) => KeepsSlice, }
}
