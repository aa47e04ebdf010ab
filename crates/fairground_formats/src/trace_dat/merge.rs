//! The records of all CPUs in order of time.

use crate::import::ImportStats;
use crate::trace_dat::file::File;
use crate::trace_dat::stream::{CpuStream, Pages};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Merges streams, each of which is in order.
pub(super) struct Merge {
    streams: Vec<CpuStream>,
    /// Time and row of each stream that has a record; equal times in the order of rows.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// The stream whose record was given last.
    given: Option<usize>,
    /// Records given.
    count: u64,
}

/// One record.
pub(super) struct Merged<'m> {
    /// Its number in the order of time, counted from 1.
    pub(super) number: u64,
    pub(super) cpu: u32,
    pub(super) time: u64,
    pub(super) record: &'m [u8],
}

impl Merge {
    pub(super) fn new(streams: Vec<CpuStream>, file: &mut File<'_>, pages: &Pages, stats: &mut ImportStats) -> Merge {
        let mut merge = Merge { streams, heads: BinaryHeap::new(), given: None, count: 0 };
        (0..merge.streams.len()).for_each(|row| merge.advance(row, file, pages, stats));
        merge
    }
    /// The earliest record that was not given yet.
    pub(super) fn next(&mut self, file: &mut File<'_>, pages: &Pages, stats: &mut ImportStats) -> Option<Merged<'_>> {
        if let Some(row) = self.given.take() {
            self.advance(row, file, pages, stats);
        }
        let Reverse((time, row)) = self.heads.pop()?;
        self.given = Some(row);
        self.count += 1;
        let stream = &self.streams[row];
        Some(Merged { number: self.count, cpu: stream.cpu, time, record: stream.record() })
    }
    fn advance(&mut self, row: usize, file: &mut File<'_>, pages: &Pages, stats: &mut ImportStats) {
        if self.streams[row].advance(file, pages, self.count + 1, stats) {
            self.heads.push(Reverse((self.streams[row].time(), row)));
        }
    }
}
