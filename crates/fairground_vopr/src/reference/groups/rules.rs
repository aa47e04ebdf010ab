//! What distinguishes the kernels as to groups.

use fairground_sched::pelt::PeltFamily;

/// What of a queue's change reaches the group's entity and the queue above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Propagation {
    /// The averages of what attached or detached.
    Averages,
    /// The same; besides, runnable load of tasks at every update.
    AveragesAndRunnableLoad,
    /// The sum of runnable time that attached or detached; a load weight and a runnable weight.
    RunnableSum,
    /// The same with one weight, and `runnable_avg` by counts of tasks.
    RunnableSumAndCounts,
}

/// When the weight of a group's entity is set again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reweight {
    /// At every update.
    Always,
    /// If it changes.
    IfChanged,
    /// If it changes, and the group's queue has load.
    IfChangedAndLoaded,
}

/// When the load of a runnable task that moves to another CPU is taken off the old queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MigrateDetach {
    /// At the next update of the queue: it is noted in `removed` until then.
    Removed,
    /// After the dequeue from the queue and all above it.
    AfterDequeue,
    /// In the dequeue, before the groups above get their weights.
    InDequeue,
}

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    pub(super) family: PeltFamily,
    pub(super) propagation: Propagation,
    pub(super) reweight: Reweight,
    pub(super) migrate_detach: MigrateDetach,
    /// Whether virtual time is that of EEVDF.
    pub(super) eevdf: bool,
    /// Whether a new task joins its queue while it is queued, not before.
    pub(super) joins_when_queued: bool,
    /// Whether a task that leaves an idle CPU is aged beyond what the queue knows.
    pub(super) estimates_idle_clock: bool,
    /// What a weight that is not 0 is at least, scaled down.
    pub(super) least_weight: u64,
    /// The least time between two reports of a queue, ns.
    pub(super) report_every: u64,
    /// Whether a queue without load is aged on as long as one of a group in it is.
    pub(super) keeps_parents: bool,
    /// Whether it is until it has reported that it has none.
    pub(super) keeps_untold: bool,
    /// Whether the load of a SCHED_IDLE task whose nice value changes is worked out anew, though its weight is the same.
    pub(super) reweighs_idle: bool,
    /// Whether a task that follows the idle one is set to run behind the groups above it.
    pub(super) sets_from_top: bool,
}

/// The kernels that are compared.
pub(super) const KERNELS: [&str; 9] =
    ["v4.12", "v4.12+independent-runnable", "v4.20", "v5.1", "v5.19", "v6.6", "v6.12", "v6.14", "v6.18"];

const MS: u64 = 1_000_000;

impl Rules {
    pub(super) fn of(kernel: &str) -> Rules {
        let old = Rules {
            family: PeltFamily::A,
            propagation: Propagation::Averages,
            reweight: Reweight::Always,
            migrate_detach: MigrateDetach::Removed,
            eevdf: false,
            joins_when_queued: false,
            estimates_idle_clock: false,
            least_weight: 0,
            report_every: 0,
            keeps_parents: false,
            keeps_untold: false,
            reweighs_idle: false,
            sets_from_top: true,
        };
        let two = Rules {
            family: PeltFamily::B,
            propagation: Propagation::RunnableSum,
            migrate_detach: MigrateDetach::AfterDequeue,
            ..old
        };
        let counts = Rules { family: PeltFamily::D, propagation: Propagation::RunnableSumAndCounts, least_weight: 2, ..two };
        let eevdf = Rules {
            reweight: Reweight::IfChanged,
            migrate_detach: MigrateDetach::InDequeue,
            eevdf: true,
            joins_when_queued: true,
            estimates_idle_clock: true,
            keeps_parents: true,
            reweighs_idle: true,
            ..counts
        };
        match kernel {
            "v4.12" => old,
            "v4.12+independent-runnable" => Rules { propagation: Propagation::AveragesAndRunnableLoad, ..old },
            "v4.20" => two,
            "v5.1" => Rules { family: PeltFamily::C, ..two },
            "v5.19" => Rules { keeps_parents: true, ..counts },
            "v6.6" => eevdf,
            _ => {
                let keeps_untold = kernel != "v6.14";
                Rules { reweight: Reweight::IfChangedAndLoaded, report_every: MS, keeps_untold, sets_from_top: false, ..eevdf }
            }
        }
    }

    /// Weights are kept times 1024.
    pub(super) fn down(&self, weight: u64) -> u64 {
        if weight == 0 { 0 } else { (weight >> 10).max(self.least_weight) }
    }
}
