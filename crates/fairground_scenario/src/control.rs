//! What a caller holds over a long run: a flag that stops it and a place to show how far it is.

use std::sync::atomic::{AtomicBool, Ordering};

/// Receives how far work is.
pub trait Progress: Sync {
    /// `done` of `total` steps are finished; called often, from the threads that work.
    fn at(&self, done: u64, total: u64);
}

/// Shows nothing.
pub struct Silent;

impl Progress for Silent {
    fn at(&self, _done: u64, _total: u64) {}
}

/// Looked at between batches of events.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    stop: &'a AtomicBool,
    progress: &'a dyn Progress,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl<'a> Control<'a> {
    /// Work that ends early once `stop` is set.
    pub fn new(stop: &'a AtomicBool, progress: &'a dyn Progress) -> Control<'a> {
        Control { stop, progress }
    }
    /// Work that nobody watches or stops.
    pub fn none() -> Control<'static> {
        Control { stop: &NEVER, progress: &Silent }
    }
    /// The same flag, shown to nobody: for parts of a larger piece of work.
    pub fn quiet(self) -> Control<'a> {
        Control { stop: self.stop, progress: &Silent }
    }
    /// Whether the caller wants the work to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// Tells how far the work is. Nothing once it is to end: a step that ends then was cut short, or was not begun.
    pub fn at(&self, done: u64, total: u64) {
        if !self.stopped() {
            self.progress.at(done, total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, Progress};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    struct Last(AtomicU64);

    impl Progress for Last {
        fn at(&self, done: u64, _total: u64) {
            self.0.store(done, Ordering::Relaxed);
        }
    }

    #[test]
    fn steps_that_end_after_the_stop_are_not_counted() {
        let (stop, last) = (AtomicBool::new(false), Last(AtomicU64::new(0)));
        let control = Control::new(&stop, &last);
        control.at(3, 10);
        stop.store(true, Ordering::Relaxed);
        control.at(10, 10);
        assert_eq!(last.0.into_inner(), 3);
    }
}
