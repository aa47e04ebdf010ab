//! Tasks that go to a group.
//!
//! Where the record tells it (`cgroup_attach_task`), that event stands behind the move: it was written by the same CPU, and the account just
//! before it, if there is one, is that of the move. Nothing tells what the kernel did between the two.
//!
//! In other records no event tells it, but what the write to cgroup.procs does around it: it ends with work for a kworker, whom the task
//! wakes just before the move takes it off its queue and puts it back.
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
use crate::read::Mark;
use fairground_model::{PrevState, QueueAct, TraceEvent};
use fairground_sched::TaskState;
use fairground_stdx::{CpuId, Ns, TaskId, TgId};

/// A move is written down so soon after it: recorders' CPUs may share a host in turns.
const MOVE_TAKES: Ns = Ns::from_us(250);
/// The name of those to whom such work is left.
const KWORKER: &str = "kworker/";

impl Lockstep<'_> {
    /// Finds the account that the move of each of these tasks makes.
    pub(super) fn find_joins(&mut self, members: &[(TaskId, TgId)]) {
        for &(task, group) in members {
            match self.account_of_move(task) {
                Some(account) => {
                    self.joins.insert(account, (task, Some(group)));
                }
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
        let Some((task, group)) = self.joins.remove(&index) else { return false };
        if self.world.sched.task(task).cpu != cpu || !self.rows[task].fair {
            return false;
        }
        self.close_stale(cpu, owed.runtime);
        self.owe(cpu, owed);
        self.change_group(task, group);
        true
    }

    /// Finds the accounts that told moves make: nothing else explains them.
    pub(super) fn find_accounts_of_moves(&mut self) {
        for to in &self.moves {
            let records = self.recording.records[..to.before].iter().enumerate().rev();
            let mut recent = records.take_while(|row| to.at.saturating_since(row.1.at) <= MOVE_TAKES);
            let before = recent.find(|row| row.1.cpu == to.writer).map(|row| row.0);
            let is_unexplained = |&index: &usize| matches!(self.reading.marks[index], Mark::Bare | Mark::EndOfJob);
            if let Some(account) = before.filter(is_unexplained) {
                self.joins.insert(account, (to.task, to.group));
            }
        }
    }

    /// Finds where each task that goes to another group does so.
    pub(super) fn find_changes_of_group(&mut self) {
        let told = self.recording.queue_acts.iter().filter(|row| row.act == QueueAct::Join);
        let told = told.filter_map(|row| Some((row.task?, row.before)));
        let found = self.joins.iter().map(|(&account, &(task, _))| (task, account + 1));
        for (task, before) in told.chain(self.moves.iter().map(|to| (to.task, to.before))).chain(found) {
            self.changes_of_group.entry(task).or_default().push(before);
        }
    }

    /// Whether `task` goes to another group behind record `from` and before record `to`.
    pub(super) fn changes_group_between(&self, task: TaskId, from: usize, to: usize) -> bool {
        self.changes_of_group.get(&task).is_some_and(|places| places.iter().any(|&before| from < before && before <= to))
    }

    /// Tasks that go to another group before the next record.
    pub(super) fn group_moves(&mut self) {
        while let Some(&to) = self.moves.get(self.next_move).filter(|to| to.before <= self.next) {
            self.next_move += 1;
            if !self.rows[to.task].fair {
                self.fact("moves to another group of tasks of other classes: not followed");
                continue;
            }
            self.world.at = to.at;
            self.land(self.next, to.task, to.at);
            let cpu = self.world.sched.task(to.task).cpu;
            self.settle(cpu);
            if !self.reading.has_runtime || self.curr(cpu).is_none() {
                self.world.idle_until(cpu, to.at);
            }
            self.close_stale(cpu, Ns::ZERO);
            self.change_group(to.task, to.group);
        }
    }

    fn change_group(&mut self, task: TaskId, group: Option<TgId>) {
        if self.world.sched.task(task).group != group && self.state(task) != TaskState::Dead {
            self.join(task, group);
            if self.rows[task].guess.is_some() {
                // What was learnt of its place is of its old queue.
                self.guess(task, false);
            }
        }
    }
}
