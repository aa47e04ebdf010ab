//! Puts records in order of time within a bounded window.

use crate::import::RawRecord;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

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
    /// Those that came in order: nearly all of most inputs.
    in_order: VecDeque<Pending>,
    /// Those that came later than they should have.
    late: BinaryHeap<Reverse<Pending>>,
    sequence: u64,
}

impl OrderWindow {
    /// Takes a record; gives the earliest one back once the window is full.
    pub(crate) fn push(&mut self, record: RawRecord) -> Option<RawRecord> {
        self.sequence += 1;
        let pending = Pending { sequence: self.sequence, record };
        if self.in_order.back().is_none_or(|last| *last < pending) {
            self.in_order.push_back(pending);
        } else {
            self.late.push(Reverse(pending));
        }
        if self.in_order.len() + self.late.len() > WINDOW { self.pop() } else { None }
    }
    /// The earliest record held.
    pub(crate) fn pop(&mut self) -> Option<RawRecord> {
        let is_late = match (self.in_order.front(), self.late.peek()) {
            (Some(in_order), Some(Reverse(late))) => late < in_order,
            (in_order, _) => in_order.is_none(),
        };
        let earliest = if is_late { self.late.pop().map(|Reverse(pending)| pending) } else { self.in_order.pop_front() };
        earliest.map(|pending| pending.record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{RawEvent, Who};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_out_as_from_a_sorted_list(times in prop::collection::vec(0..50u64, 0..200), room in 1..300usize) {
            let record = |(line, &at_ns): (usize, &u64)| {
                let task = Who { pid: 1, prio: None, name: None, name_is_stale: false };
                RawRecord { at_ns, cpu: 0, line: line as u64, event: RawEvent::Exit { task }, current: None }
            };
            let (mut window, mut list) = (OrderWindow::default(), Vec::new());
            for record in times.iter().enumerate().map(record) {
                prop_assert_eq!(window.push(record), None, "the window is larger");
                list.push(record);
                if list.len() > room {
                    list.sort_by_key(|record| record.at_ns);
                    prop_assert_eq!(window.pop(), Some(list.remove(0)));
                }
            }
            list.sort_by_key(|record| record.at_ns);
            for record in list {
                prop_assert_eq!(window.pop(), Some(record));
            }
            prop_assert_eq!(window.pop(), None);
        }
    }
}
