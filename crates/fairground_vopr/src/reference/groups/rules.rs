//! What distinguishes the kernels as to groups.

use fairground_sched::pelt::PeltFamily;

/// How load goes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Up {
    /// With the entity's average; load that came or went for good only.
    Average,
    /// As that, and runnable load by itself, of tasks only.
    Runnable,
    /// The time that came or went, and two weights.
    TwoWeights,
    /// As that, with one weight, and counts of tasks.
    Counts,
}

/// When the entity of a group gets its weight again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Weigh {
    /// At every occasion.
    Always,
    /// If it is another.
    Another,
    /// If it is another, and the group's queue holds something.
    AnotherAndLoaded,
}

/// Where a runnable task that moves to another CPU leaves its load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leaves {
    /// In the box.
    Box,
    /// After it has left the queue, and all above.
    After,
    /// While it leaves the queue.
    Within,
}

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rules {
    pub(super) family: PeltFamily,
    pub(super) up: Up,
    pub(super) weigh: Weigh,
    pub(super) leaves: Leaves,
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
}

/// The kernels that are compared.
pub(super) const KERNELS: [&str; 9] =
    ["v4.12", "v4.12+independent-runnable", "v4.20", "v5.1", "v5.19", "v6.6", "v6.12", "v6.14", "v6.18"];

const MS: u64 = 1_000_000;

impl Rules {
    pub(super) fn of(kernel: &str) -> Rules {
        let old = Rules {
            family: PeltFamily::A,
            up: Up::Average,
            weigh: Weigh::Always,
            leaves: Leaves::Box,
            eevdf: false,
            joins_when_queued: false,
            estimates_idle_clock: false,
            least_weight: 0,
            report_every: 0,
        };
        let two = Rules { family: PeltFamily::B, up: Up::TwoWeights, leaves: Leaves::After, ..old };
        let counts = Rules { family: PeltFamily::D, up: Up::Counts, least_weight: 2, ..two };
        let eevdf = Rules {
            weigh: Weigh::Another,
            leaves: Leaves::Within,
            eevdf: true,
            joins_when_queued: true,
            estimates_idle_clock: true,
            ..counts
        };
        match kernel {
            "v4.12" => old,
            "v4.12+independent-runnable" => Rules { up: Up::Runnable, ..old },
            "v4.20" => two,
            "v5.1" => Rules { family: PeltFamily::C, ..two },
            "v5.19" => counts,
            "v6.6" => eevdf,
            _ => Rules { weigh: Weigh::AnotherAndLoaded, report_every: MS, ..eevdf },
        }
    }

    /// Weights are kept times 1024.
    pub(super) fn down(&self, weight: u64) -> u64 {
        if weight == 0 { 0 } else { (weight >> 10).max(self.least_weight) }
    }
}
