//! The seam of pipes whose messages have a size.

use super::seams;

seams! {
    $ pipe;

    /// Whom a write into a pipe and a read from it wake.
    PipeWakeup = pipe_wakeup {
        Each "each" "Each write, and each read that frees a page, wake all who wait for the pipe.",
        Edge "edge" "A write into an empty pipe and a read from a full one wake all who wait for it.",
        Exclusive "exclusive" "As edge, but they wake one, and who was woken wakes the next while there is something to do.",
        Freed "freed" "As exclusive, but a read from a full pipe wakes only if it frees a page.",
    }
    history { v(4, 12) => Each, v(5, 5) => Edge, v(5, 6) => Exclusive, v(6, 14) => Freed, }
}

impl PipeWakeup {
    /// Whether a write wakes; `was_empty`: the pipe was so before.
    ///
    /// Kernel: pipe.c pipe_write(), v4.12–
    pub const fn after_write(self, was_empty: bool) -> bool {
        was_empty || matches!(self, PipeWakeup::Each)
    }

    /// Whether a read wakes; `was_full`: no page was free before, `freed`: one more is now.
    ///
    /// Kernel: pipe.c pipe_read(), v4.12–
    pub const fn after_read(self, was_full: bool, freed: bool) -> bool {
        match self {
            PipeWakeup::Each => freed,
            PipeWakeup::Edge | PipeWakeup::Exclusive => was_full,
            PipeWakeup::Freed => was_full && freed,
        }
    }

    /// Whether all who wait are woken, at both ends of the pipe: there is one queue.
    ///
    /// Kernel: pipe.c pipe_wait(), v4.12–v5.5
    pub const fn wakes_all(self) -> bool {
        matches!(self, PipeWakeup::Each | PipeWakeup::Edge)
    }
}
