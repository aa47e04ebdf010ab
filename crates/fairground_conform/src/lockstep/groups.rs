//! Tasks that go to a group. No event tells it, but what the write to cgroup.procs does around it: it ends with work for a
//! kworker, whom the task wakes just before the move takes it off its queue and puts it back.
//!
//! ```text
//! task   wakes kworker/1:1    account (queueing it)   wakeup kworker/1:1   account (the move)
//! ```
//!
//! A kworker that is awake already is not woken. Then the task goes to sleep until its start, with two accounts after the move:
//!
//! ```text
//! task   account (the move)   account (a read of its clock)   account (going to sleep)
//! ```

use super::{Lockstep, Owed};
use fairground_model::{PrevState, TraceEvent};
use fairground_stdx::{CpuId, TaskId, TgId};

/// The name of those to whom such work is left.
const KWORKER: &str = "kworker/";

impl Lockstep<'_> {
    /// Finds the account that the move of each of these tasks makes.
    pub(super) fn find_joins(&mut self, members: &[(TaskId, TgId)]) {
        for &(task, group) in members {
            match self.account_of_move(task) {
                Some(account) => self.rows[task].joins = Some((account, group)),
                None => self.fact("tasks of groups whose move there is not in the record: they stay in the root group"),
            }
        }
    }

    fn account_of_move(&self, task: TaskId) -> Option<usize> {
        let wakes_kworker = |event: &TraceEvent| match *event {
            TraceEvent::SchedWaking { task: wakee, waker, .. } => {
                waker == Some(task) && self.recording.tasks[wakee].name.starts_with(KWORKER)
            }
            _ => false,
        };
        let sleeps = |event: &TraceEvent| match *event {
            TraceEvent::SchedSwitch { prev, prev_state, .. } => prev == Some(task) && prev_state == PrevState::Sleeping,
            _ => false,
        };
        let mut waking = None;
        let mut accounts = [None; 3];
        for (index, record) in self.recording.records.iter().enumerate().take_while(|row| !sleeps(&row.1.event)) {
            match record.event {
                TraceEvent::SchedStatRuntime { task: ran, .. } if ran == task => {
                    accounts = [accounts[1], accounts[2], Some(index)];
                }
                event if waking.is_none() && wakes_kworker(&event) => waking = Some(index),
                _ => {}
            }
        }
        match waking {
            Some(waking) => {
                let queueing = self.reading.order.next_account(task, waking)?;
                self.reading.order.next_account(task, queueing + 1)
            }
            None => accounts[0],
        }
    }

    /// Whether this account of a running task is that of its move to another group: then it moves.
    pub(super) fn joins(&mut self, index: usize, cpu: CpuId, owed: Owed) -> bool {
        let Some((_, group)) = self.rows[owed.task].joins.take_if(|joins| joins.0 == index) else { return false };
        self.close_stale(cpu, owed.runtime);
        self.owe(cpu, owed);
        self.join(owed.task, Some(group));
        true
    }
}
