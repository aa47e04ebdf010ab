//! Puts records in order of time within a bounded window.

use crate::import::RawRecord;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Records held back. Buffers of different CPUs are merged with small disorder: a few hundred
/// records at most, since a reader drains one page (about 60 records) of a CPU at a time.
const WINDOW: usize = 4096;

/// A record and its place in the input, which decides between equal times.
struct Pending {
    sequence: u64,
    record: RawRecord,
}

impl Pending {
    fn key(&self) -> (u64, u64) {
        (self.record.at_ns, self.sequence)
    }
}
impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.key() == other.key()
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The window: records go in as they are read and come out earliest first.
#[derive(Default)]
pub(crate) struct OrderWindow {
    pending: BinaryHeap<Reverse<Pending>>,
    sequence: u64,
}

impl OrderWindow {
    /// Takes a record; gives the earliest one back once the window is full.
    pub(crate) fn push(&mut self, record: RawRecord) -> Option<RawRecord> {
        self.sequence += 1;
        self.pending.push(Reverse(Pending { sequence: self.sequence, record }));
        if self.pending.len() > WINDOW { self.pop() } else { None }
    }
    /// The earliest record held.
    pub(crate) fn pop(&mut self) -> Option<RawRecord> {
        self.pending.pop().map(|Reverse(pending)| pending.record)
    }
}
