//! Brings the records of all CPUs in order of time.

use crate::import::{RawEvent, RawRecord};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Records held back (about 100 bytes each). A recorder empties the buffers of all CPUs in rounds, so
/// records of one CPU lie up to two rounds away from those of another: at the usual ten rounds a
/// second this holds the two rounds of a machine with five million events a second.
const HELD_MAX: usize = 1 << 20;

/// Records of each CPU in the order of the file, which is that of time.
#[derive(Default)]
pub(super) struct CpuMerge {
    queues: Vec<VecDeque<RawRecord>>,
    /// The first record of each queue that is not empty.
    heads: BinaryHeap<Reverse<Key>>,
    held: usize,
}

/// Time, whether it is a switch, CPU. A wake-up can be the cause of a switch at the same time on
/// another CPU, and not the other way round.
type Key = (u64, bool, u32);

fn key(record: &RawRecord) -> Key {
    (record.at_ns, matches!(record.event, RawEvent::Switch { .. }), record.cpu)
}

impl CpuMerge {
    /// Takes a record; gives the earliest one back once the buffer is full.
    pub(super) fn push(&mut self, record: RawRecord) -> Option<RawRecord> {
        let cpu = record.cpu as usize;
        if self.queues.len() <= cpu {
            self.queues.resize_with(cpu + 1, VecDeque::new);
        }
        let queue = &mut self.queues[cpu];
        if queue.is_empty() {
            self.heads.push(Reverse(key(&record)));
        }
        queue.push_back(record);
        self.held += 1;
        if self.held > HELD_MAX { self.pop() } else { None }
    }
    /// The earliest record held.
    pub(super) fn pop(&mut self) -> Option<RawRecord> {
        let Reverse((_, _, cpu)) = self.heads.pop()?;
        let queue = &mut self.queues[cpu as usize];
        let record = queue.pop_front()?;
        self.held -= 1;
        if let Some(next) = queue.front() {
            self.heads.push(Reverse(key(next)));
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Who;
    use fairground_model::PrevState;
    use proptest::prelude::*;

    fn record(at_ns: u64, cpu: u32, is_switch: bool) -> RawRecord {
        let task = Who { pid: 1, prio: None, name: None, name_is_stale: false };
        let event = match is_switch {
            true => RawEvent::Switch { prev: task, prev_state: PrevState::Running, next: task },
            false => RawEvent::Exit { task },
        };
        RawRecord { at_ns, cpu, line: 0, event, current: None }
    }

    #[test]
    fn a_full_buffer_gives_the_earliest_record_back() {
        let mut merge = CpuMerge::default();
        let early = (0..HELD_MAX as u64).filter_map(|at| merge.push(record(at + 10, (at % 2) as u32, false))).count();
        assert_eq!(early, 0);
        assert_eq!(merge.push(record(5, 2, false)).map(|record| record.at_ns), Some(5));
        assert_eq!(merge.push(record(7, 0, false)).map(|record| record.at_ns), Some(10), "behind the others of its CPU");
    }

    proptest! {
        #[test]
        fn the_streams_of_cpus_come_out_as_if_sorted(rows in prop::collection::vec((0u64..20, 0u32..4, any::<bool>()), 0..200)) {
            let mut rows = rows;
            rows.sort_by_key(|&(at, cpu, _)| (cpu, at)); // each CPU in order, one CPU after the other
            let mut merge = CpuMerge::default();
            rows.iter().for_each(|&(at, cpu, is_switch)| assert_eq!(merge.push(record(at, cpu, is_switch)), None));
            let merged: Vec<RawRecord> = std::iter::from_fn(|| merge.pop()).collect();
            prop_assert_eq!(merged.len(), rows.len());
            prop_assert!(merged.is_sorted_by_key(|record| record.at_ns));
            for cpu in 0..4 {
                let of_cpu = merged.iter().filter(|record| record.cpu == cpu).map(key);
                let expected = rows.iter().filter(|row| row.1 == cpu).map(|&(at, cpu, is_switch)| (at, is_switch, cpu));
                prop_assert!(of_cpu.eq(expected));
            }
        }
    }
}
