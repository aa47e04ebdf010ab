//! What a record tells of run queues beside its tracepoints: our own traces do. Where it does, clocks are set and loads are aged as it
//! says, and nothing of that is taken from timestamps or from when kernels mostly do it.
//!
//! ```text
//! read    the clock of the queue, before the act that updates loads at it
//! age     the loads that are left on a CPU are aged
//! tell    the queue of a group tells its load in the act that comes next, or in the one before
//! join    a task comes to another group
//! ```
//!
//! Rows stand where the kernel's code writes them, within an act. Some acts are made here at their first record, so that what stands behind it
//! is looked for ahead.

use super::Lockstep;
use crate::recording::QueueRecord;
use fairground_model::{QueueAct, TraceEvent};
use fairground_sched::SCHED_CLOCK_AT_START;
use fairground_stdx::{CpuId, Instant, TaskId};

/// What is left to do of the record's rows about queues.
#[derive(Default)]
pub(super) struct Told {
    /// Whether clocks are told.
    pub(super) clocks: bool,
    /// The row that comes next.
    next: usize,
    /// Rows behind it that were looked for ahead, in order.
    done: Vec<usize>,
}

impl Lockstep<'_> {
    /// Whether rows about queues are followed at all, and how.
    pub(super) fn begin_told(&mut self) {
        let acts = &self.recording.queue_acts;
        self.told.clocks = self.has_groups && acts.iter().any(|row| matches!(row.act, QueueAct::Read | QueueAct::Age));
        self.world.clocks_are_told = self.told.clocks;
        if acts.iter().any(|row| row.act == QueueAct::Tell) {
            self.world.sched.follow_tells();
        }
    }

    /// The next row that stands before record `limit` and behind no act of quota that is still to come.
    pub(super) fn next_told(&self, limit: usize) -> Option<QueueRecord> {
        let row = self.recording.queue_acts.get(self.told.next).copied()?;
        (row.before <= limit && row.before_quota <= self.next_act).then_some(row)
    }

    /// Does what the next row says.
    pub(super) fn follow_told(&mut self) {
        let number = self.told.next;
        self.told.next += 1;
        let row = self.recording.queue_acts[number];
        if let Ok(place) = self.told.done.binary_search(&number) {
            self.told.done.remove(place);
            return;
        }
        self.world.at = row.at;
        match row.act {
            QueueAct::Join => self.join_told(&row),
            QueueAct::Hrtick => self.hrtick_without_account(number, &row),
            _ if !self.told.clocks => {}
            QueueAct::Read => self.read_clock(&row),
            QueueAct::Tell => self.grant_tell(&row),
            QueueAct::Age => {
                self.read_clock(&row);
                self.grant_tells(row.writer);
                self.world.call(row.cpu, row.cpu, |sched, cx| sched.follow_blocked_load(cx));
            }
        }
    }

    fn read_clock(&mut self, row: &QueueRecord) {
        let (cpu, to) = (row.cpu, self.told_clock(row));
        self.settle(cpu);
        self.close_stale(cpu, to.saturating_since(self.world.clocks[cpu]));
        self.world.clocks[cpu] = to;
    }

    fn told_clock(&self, row: &QueueRecord) -> Instant {
        let ahead = self.world.clock_ahead(row.cpu).0;
        Instant::from_ns(row.clock.0.saturating_sub(SCHED_CLOCK_AT_START + ahead))
    }

    fn grant_tell(&mut self, row: &QueueRecord) {
        if let Some(group) = row.group.filter(|&group| self.world.sched.has_group(group)) {
            self.world.sched.follow_tell(group, row.cpu);
        }
    }

    /// The rows of `writer` before its next record.
    fn rows_ahead(&self, writer: CpuId) -> impl Iterator<Item = (usize, QueueRecord)> + use<'_> {
        let records = self.recording.records.get(self.next + 1..).unwrap_or_default();
        let end = records.iter().position(|record| record.cpu == writer).map_or(usize::MAX, |offset| self.next + 1 + offset);
        let rows = self.recording.queue_acts.iter().copied().enumerate().skip(self.told.next);
        rows.take_while(move |row| row.1.before <= end).filter(move |row| row.1.writer == writer)
    }

    /// An act of `writer` begins: the queues that tell their load within it may.
    pub(super) fn grant_tells(&mut self, writer: CpuId) {
        if !self.told.clocks {
            return;
        }
        let is_within = |row: &(usize, QueueRecord)| !matches!(row.1.act, QueueAct::Age | QueueAct::Join | QueueAct::Hrtick);
        let rows = self.rows_ahead(writer).take_while(is_within).filter(|row| row.1.act == QueueAct::Tell);
        for (number, row) in rows.collect::<Vec<_>>() {
            if self.take_ahead_of_time(number) {
                self.grant_tell(&row);
            }
        }
    }

    /// A row is done before its place is reached. False: it was done already.
    fn take_ahead_of_time(&mut self, number: usize) -> bool {
        let place = self.told.done.binary_search(&number);
        if let Err(place) = place {
            self.told.done.insert(place, number);
        }
        place.is_err()
    }

    /// The clock of `cpu`, as `writer` reads it behind the present record and before its next one.
    pub(super) fn read_clock_ahead(&mut self, writer: CpuId, cpu: CpuId) {
        if !self.told.clocks {
            return;
        }
        let is_that = |row: &(usize, QueueRecord)| row.1.act == QueueAct::Read && row.1.cpu == cpu;
        let row = self.rows_ahead(writer).find(|row| is_that(row) && self.told.done.binary_search(&row.0).is_err());
        if let Some((number, row)) = row {
            self.take_ahead_of_time(number);
            self.read_clock(&row);
        }
    }

    /// An hrtick that found nothing to account; else its account makes it.
    fn hrtick_without_account(&mut self, number: usize, row: &QueueRecord) {
        if self.told.clocks && !self.reading.accounted_hrticks.contains(&number) && self.curr(row.cpu).is_some() {
            self.read_clock(row);
            self.tick(row.cpu, row.at, fairground_sched::Sched::hrtick);
        }
    }

    /// A task comes to another group. The account that takes it off its queue comes behind the row.
    fn join_told(&mut self, row: &QueueRecord) {
        let Some(task) = row.task.filter(|&task| self.has_groups && self.rows[task].fair) else { return };
        if row.group.is_some_and(|group| !self.world.sched.has_group(group)) {
            return self.fact("moves to groups that nothing tells of: not followed");
        }
        let cpu = self.world.sched.task(task).cpu;
        if self.told.clocks {
            self.read_clock(row);
            self.cpus[cpu].ahead = self.account_of_act(row.writer, cpu, row.at);
        }
        self.grant_tells(row.writer);
        self.join(task, row.group);
        self.cpus[cpu].ahead = None;
    }

    /// The account of who runs on `cpu` that `writer` writes next, in the call that began at `at`.
    fn account_of_act(&self, writer: CpuId, cpu: CpuId, at: Instant) -> Option<usize> {
        let curr = self.curr(cpu)?;
        let records = self.recording.records.get(self.next..).unwrap_or_default();
        let offset = records.iter().position(|record| record.cpu == writer)?;
        let record = &records[offset];
        let is_that = matches!(record.event, TraceEvent::SchedStatRuntime { task, .. } if task == curr) && record.at == at;
        is_that.then_some(self.next + offset)
    }

    /// `task` goes to `group`, wherever it is.
    pub(super) fn join(&mut self, task: TaskId, group: Option<fairground_stdx::TgId>) {
        let cpu = self.world.sched.task(task).cpu;
        let was_due = self.world.sched.resched_due(cpu);
        self.world.call(cpu, cpu, |sched, cx| sched.sched_move_task(cx, task, group));
        self.hear_accounts(cpu);
        // That the move asks for a reschedule is left to the record: whoever runs next is asked about there.
        self.world.sched.follow_need_resched(cpu, was_due);
    }
}
