//! The part of a run that figures are taken from.

use fairground_stdx::{Instant, Ns};

/// A part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Its first instant.
    pub start: Instant,
    /// Its last instant.
    pub end: Instant,
}

impl Window {
    /// The whole run.
    pub const ALL: Window = Window { start: Instant::ZERO, end: Instant::MAX };

    /// Whether an instant lies in the window, both ends included.
    #[inline]
    pub fn holds(self, at: Instant) -> bool {
        self.start <= at && at <= self.end
    }
    /// The length of `start..end` that lies in the window; `None` if nothing does.
    pub fn overlap(self, start: Instant, end: Instant) -> Option<Ns> {
        let (low, high) = (start.max(self.start), end.min(self.end));
        (low < high).then(|| high.since(low))
    }
}
