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

/// How the window of a run is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowRule {
    /// It is known beforehand.
    Fixed(Window),
    /// It begins with the first waking of a measured task that is not earlier than `not_before`, as
    /// in the recorded sets, and has a fixed length.
    FirstWaking {
        /// Wakings before this do not count (tasks that write to a file while they are set up).
        not_before: Instant,
        /// The length of the window.
        length: Ns,
    },
}

impl WindowRule {
    /// The window at the beginning of the run, and what is left to find out.
    pub(super) fn begin(self) -> (Window, Option<(Instant, Ns)>) {
        match self {
            WindowRule::Fixed(window) => (window, None),
            // Empty, and later than every record, until the waking comes.
            WindowRule::FirstWaking { not_before, length } => {
                (Window { start: Instant::MAX, end: Instant::MAX }, Some((not_before, length)))
            }
        }
    }
}

impl From<Window> for WindowRule {
    fn from(window: Window) -> WindowRule {
        WindowRule::Fixed(window)
    }
}
