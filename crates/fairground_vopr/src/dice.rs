//! Random choices of a case: all from one stream, so that a seed is a case.

use fairground_stdx::{RngStream, StreamKind};

/// A stream with the forms of choice that generators need.
pub(crate) struct Dice(RngStream);

impl Dice {
    /// The choices of a seed for one purpose; other purposes do not shift them.
    pub(crate) fn new(seed: u64, purpose: u32) -> Dice {
        Dice(RngStream::new(seed, StreamKind::Vopr, purpose))
    }
    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }
    /// An index below `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.0.below(len as u64) as usize
    }
    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.0.below(times) == 0
    }
    /// One of several.
    pub(crate) fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.index(choices.len())].clone()
    }
    /// A length of time in ns whose order of magnitude is random as well.
    pub(crate) fn time(&mut self, low: u64, high: u64) -> u64 {
        let top = self.between(low, high);
        self.between(low, top)
    }
}
