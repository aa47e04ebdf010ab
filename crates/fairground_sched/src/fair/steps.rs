//! The steps that a walk through the queues makes, by kernel function, for tests of their order. Outside of these tests
//! they are nothing.

/// A step is made.
#[cfg(not(test))]
#[inline(always)]
pub(in crate::fair) const fn step(_kernel: &'static str) {}

#[cfg(test)]
pub(in crate::fair) use watch::{step, watched};

#[cfg(test)]
mod watch {
    use std::cell::RefCell;

    thread_local! {
        /// What was made since somebody began to watch.
        static MADE: RefCell<Option<Vec<&'static str>>> = const { RefCell::new(None) };
    }

    pub(in crate::fair) fn step(kernel: &'static str) {
        MADE.with_borrow_mut(|made| made.iter_mut().for_each(|made| made.push(kernel)));
    }

    /// The steps that `call` makes.
    pub(in crate::fair) fn watched(call: impl FnOnce()) -> Vec<&'static str> {
        MADE.set(Some(Vec::new()));
        call();
        MADE.take().unwrap_or_default()
    }
}
