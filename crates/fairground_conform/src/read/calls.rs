//! Calls of the scheduler that a record tells by rows of their own: ours do. Which account of run time each of them makes, and which
//! switch a schedule() ends with.

use super::Start;
use crate::recording::Recording;
use fairground_model::{QueueAct, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec};
use std::collections::BTreeMap;

/// What rows about calls are part of. Rows go by their number, records by theirs.
#[derive(Default)]
pub(crate) struct Calls {
    /// The account that a call makes of who runs on its CPU, if it makes one.
    accounts: BTreeMap<usize, usize>,
    /// The switch that a schedule() ends with; one that keeps its task has none.
    switches: BTreeMap<usize, usize>,
    /// Where the schedule() of a switch began: the record behind its row.
    begins: BTreeMap<usize, usize>,
}

/// Whether a row stands where a call begins.
const fn begins_call(act: QueueAct) -> bool {
    matches!(act, QueueAct::Tick | QueueAct::Hrtick | QueueAct::Schedule | QueueAct::Join | QueueAct::Release | QueueAct::Stop)
}

impl Calls {
    /// Whether a record tells them.
    pub(crate) fn are_told(recording: &Recording) -> bool {
        recording.queue_acts.iter().any(|row| matches!(row.act, QueueAct::Tick | QueueAct::Schedule))
    }

    /// Finds all of them.
    pub(super) fn find(recording: &Recording, start: &Start, nr_cpus: usize) -> Calls {
        let mut calls = Calls::default();
        if !Calls::are_told(recording) {
            return calls;
        }
        let mut running = start.running.clone();
        // Of each CPU the rows that its next record may belong to, and its schedule() under way.
        let mut open: IndexVec<CpuId, Vec<usize>> = IndexVec::filled(Vec::new(), nr_cpus);
        let mut under_way: IndexVec<CpuId, Option<usize>> = IndexVec::filled(None, nr_cpus);
        let rows = &recording.queue_acts;
        let mut next = 0;
        for (index, record) in recording.records.iter().enumerate() {
            while let Some(row) = rows.get(next).filter(|row| row.before <= index) {
                let is_known = row.writer.index() < nr_cpus && row.cpu.index() < nr_cpus;
                if !is_known {
                    next += 1;
                    continue;
                }
                if begins_call(row.act) {
                    open[row.writer].push(next);
                }
                if row.act == QueueAct::Schedule {
                    under_way[row.cpu] = Some(next);
                }
                next += 1;
            }
            let begun = std::mem::take(&mut open[record.cpu]);
            match record.event {
                TraceEvent::SchedStatRuntime { task, .. } => {
                    let makes_it = |row: &usize| rows[*row].at == record.at && running[rows[*row].cpu] == Some(task);
                    if let Some(row) = begun.into_iter().rev().find(makes_it) {
                        calls.accounts.insert(row, index);
                    }
                }
                TraceEvent::SchedSwitch { next, .. } => {
                    running[record.cpu] = next;
                    if let Some(row) = under_way[record.cpu].take() {
                        calls.switches.insert(row, index);
                        calls.begins.insert(index, rows[row].before);
                    }
                }
                _ => {}
            }
        }
        calls
    }

    /// The account that the call of this row makes.
    pub(crate) fn account(&self, row: usize) -> Option<usize> {
        self.accounts.get(&row).copied()
    }

    /// All accounts that calls make.
    pub(super) fn accounts(&self) -> impl Iterator<Item = usize> {
        self.accounts.values().copied()
    }

    /// The switch that the schedule() of this row ends with.
    pub(crate) fn switch(&self, row: usize) -> Option<usize> {
        self.switches.get(&row).copied()
    }

    /// Whether record `index` lies within the schedule() that ends with `switch`.
    pub(super) fn is_within(&self, switch: usize, index: usize) -> bool {
        self.begins.get(&switch).is_some_and(|&begin| begin <= index)
    }
}
