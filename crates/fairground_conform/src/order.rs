//! The neighbours of a record among those that the same CPU wrote, which are in the order of that CPU's code; and
//! what the next records of a task tell in advance.

use crate::recording::Recording;
use fairground_model::{PrevState, TraceEvent};
use fairground_stdx::{Id, TaskId};

const NONE: u32 = u32::MAX;

/// Neighbours of each record.
pub(crate) struct Order {
    next: Vec<u32>,
    prev: Vec<u32>,
    /// Switches away from a task that another CPU is waking already, or wakes next and places anew: it sleeps, though
    /// its state reads as running.
    woken_in_passing: Vec<bool>,
    /// For each task its accounts of run time, in order.
    accounts: Vec<Vec<u32>>,
    /// For each task its moves to another CPU, in order.
    moves: Vec<Vec<u32>>,
    /// For each task the wake-ups that queued it, in order.
    wakeups: Vec<Vec<u32>>,
}

impl Order {
    pub(crate) fn new(recording: &Recording, nr_cpus: usize) -> Order {
        let records = &recording.records;
        let (mut next, mut prev) = (vec![NONE; records.len()], vec![NONE; records.len()]);
        let mut last = vec![NONE; nr_cpus];
        let (mut accounts, mut moves) = (vec![Vec::new(); recording.tasks.len()], vec![Vec::new(); recording.tasks.len()]);
        let mut wakeups = vec![Vec::new(); recording.tasks.len()];
        let mut woken_in_passing = vec![false; records.len()];
        let mut waking = vec![false; recording.tasks.len()];
        let mut left_at = vec![None; recording.tasks.len()];
        for (index, record) in records.iter().enumerate() {
            let number = index as u32;
            let before = std::mem::replace(&mut last[record.cpu.index()], number);
            prev[index] = before;
            if before != NONE {
                next[before as usize] = number;
            }
            match record.event {
                TraceEvent::SchedWaking { task, .. } => waking[task.index()] = true,
                TraceEvent::SchedWakeup { task, .. } => {
                    waking[task.index()] = false;
                    wakeups[task.index()].push(number);
                }
                TraceEvent::SchedSwitch { prev, next, .. } => {
                    if let Some(prev) = prev {
                        woken_in_passing[index] = waking[prev.index()];
                        left_at[prev.index()] = Some(index);
                    }
                    if let Some(next) = next {
                        left_at[next.index()] = None;
                    }
                }
                TraceEvent::SchedStatRuntime { task, .. } => accounts[task.index()].push(number),
                TraceEvent::SchedMigrateTask { task, .. } => {
                    moves[task.index()].push(number);
                    // Only a task that is on no queue chooses a CPU when it wakes.
                    if let Some(left) = left_at[task.index()].filter(|_| waking[task.index()]) {
                        woken_in_passing[left] = true;
                    }
                }
                _ => {}
            }
        }
        Order { next, prev, woken_in_passing, accounts, moves, wakeups }
    }
    /// The state in which the task of a switch leaves its CPU.
    #[inline]
    pub(crate) fn prev_state(&self, index: usize, recorded: PrevState) -> PrevState {
        if recorded == PrevState::Running && self.woken_in_passing[index] { PrevState::Sleeping } else { recorded }
    }
    /// The record that the CPU of `index` wrote next.
    #[inline]
    pub(crate) fn next(&self, index: usize) -> Option<usize> {
        Some(self.next[index]).filter(|&next| next != NONE).map(|next| next as usize)
    }
    /// The record that the CPU of `index` wrote before.
    #[inline]
    pub(crate) fn prev(&self, index: usize) -> Option<usize> {
        Some(self.prev[index]).filter(|&prev| prev != NONE).map(|prev| prev as usize)
    }
    /// Whether `task` slept and was queued again behind record `from` and before record `to`.
    pub(crate) fn is_woken_between(&self, task: TaskId, from: usize, to: usize) -> bool {
        let rows = &self.wakeups[task.index()];
        rows.get(rows.partition_point(|&row| row as usize <= from)).is_some_and(|&row| (row as usize) < to)
    }
    /// The first account of the run time of `task` from record `from` on, if the task does not move before it.
    pub(crate) fn next_account(&self, task: TaskId, from: usize) -> Option<usize> {
        let first_from = |rows: &[u32], from: usize| rows.get(rows.partition_point(|&row| (row as usize) < from)).copied();
        let account = first_from(&self.accounts[task.index()], from)?;
        let moved = first_from(&self.moves[task.index()], from + 1);
        moved.is_none_or(|moved| moved > account).then_some(account as usize)
    }
}
