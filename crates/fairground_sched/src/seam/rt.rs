//! The seams of the real-time class; the second one is the deadline class's too.

use super::seams;

seams! {
    $ rt;

    /// What keeps real-time tasks from taking a CPU for ever.
    RtBandwidth = rt_bandwidth {
        Throttle "throttle" "Real-time tasks of a CPU stop after 950 ms of each second.",
        FairServer "fair-server" "None is stopped: the fair class of each CPU has a deadline server of 50 ms in 1000 ms.",
    }
    history { v(4, 12) => Throttle, v(6, 12) => FairServer, }

    /// When others may look at a CPU for real-time or deadline tasks that wait there, and when it pushes any.
    PushOverload = push_overload {
        NrMigratory "nr-migratory" "When two tasks of the class or more are queued, and one of them, be it the running one, may run elsewhere.",
        Pushable "pushable" "When a task of the class waits that may run elsewhere, be it the only one.",
    }
    history { v(4, 12) => NrMigratory, v(6, 7) => Pushable, }
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
