//! What a record tells of run queues beside its tracepoints: our own traces do. Where it does, clocks are set and loads are aged as it
//! says, and nothing of that is taken from timestamps or from when kernels mostly do it.
//!
//! ```text
//! read    the clock of the queue, before the act that updates loads at it
//! age     the loads that are left on a CPU are aged
//! tell    the queue of a group tells its load in the act that comes next, or in the one before
//! join    a task comes to another group
//! tick, hrtick, schedule, release, stop   such a call begins
//! exhaust    the account of a queue is used up by the account of run time in the same act, so that who runs is to give way
//! throttle   a queue is throttled by the act under way
//! ```
//!
//! Rows stand where the kernel's code writes them, within an act. Some acts are made here at their first record, so that what stands behind it
//! is looked for ahead.

use super::Lockstep;
use crate::read::{Calls, ONE_CALL};
use crate::recording::{QueueRecord, Record};
use fairground_model::{PrevState, QueueAct, TraceEvent};
use fairground_sched::seam::ThrottleAt;
use fairground_sched::{Ctx, SCHED_CLOCK_AT_START, Sched};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// What is left to do of the record's rows about queues.
#[derive(Default)]
pub(super) struct Told {
    /// Whether clocks are told.
    pub(super) clocks: bool,
    /// Whether ticks and each schedule() are told.
    pub(super) calls: bool,
    /// Whether it is told where queues with a quota are throttled and released.
    pub(super) quotas: bool,
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
        self.told.calls = Calls::are_told(self.recording);
        self.told.quotas = self.recording.tells_quotas_in_place();
        self.world.clocks_are_told = self.told.clocks;
        if self.told.calls && self.begins_empty() {
            // No queue has a past that is to be learnt.
            self.cpus.iter_mut().for_each(|cpu| cpu.floor_known = true);
        }
        if acts.iter().any(|row| row.act == QueueAct::Tell) {
            self.world.sched.follow_tells();
        }
    }

    /// Whether it begins where a run does: at the instant 0 with the first task's birth.
    fn begins_empty(&self) -> bool {
        let is_birth = |record: &Record| matches!(record.event, TraceEvent::SchedProcessFork { .. });
        let first = self.recording.records.first();
        first.is_some_and(|record| record.at == Instant::ZERO && is_birth(record))
            && self.reading.start.running.iter().all(Option::is_none)
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
        if row.writer.index() >= self.cpus.len() || row.cpu.index() >= self.cpus.len() {
            return self.fact("rows about queues of CPUs that write nothing: left out");
        }
        self.world.at = row.at;
        match row.act {
            QueueAct::Join => self.join_told(number, &row),
            QueueAct::Tick => self.tick_told(number, &row, Sched::sched_tick),
            QueueAct::Hrtick if self.told.calls => self.tick_told(number, &row, Sched::hrtick),
            QueueAct::Hrtick => self.hrtick_without_account(number, &row),
            QueueAct::Schedule => self.schedule_told(number, &row),
            QueueAct::Throttle => self.throttle_told(&row),
            QueueAct::Release => self.release_told(number, &row),
            QueueAct::Stop => self.stop_told(number, &row),
            _ if !self.told.clocks => {}
            QueueAct::Read => {
                let within = row.writer == row.cpu && self.cpus[row.cpu].leaving.is_some();
                if within && !self.cpus[row.cpu].exhausted.is_empty() {
                    // The pick that throttles them came before.
                    self.look_for_next(row.cpu);
                }
                self.read_clock(&row);
                if within {
                    // What is accounted as the rest of its schedule() puts the last one down goes by this reading.
                    self.world.call(row.cpu, row.cpu, |sched, cx| sched.follow_clock(cx));
                }
            }
            QueueAct::Tell | QueueAct::Exhaust => self.grant(&row),
            QueueAct::Age => {
                if row.writer == row.cpu && self.cpus[row.cpu].leaving.is_some() {
                    // Its schedule() found nobody, maybe once more after others were pulled here.
                    self.look_for_next(row.cpu);
                }
                self.read_clock(&row);
                self.grant_tells_before(row.writer, row.at, self.next);
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

    /// The act under way may do what the row says: a queue tells its load, or the account of one is used up.
    fn grant(&mut self, row: &QueueRecord) {
        let Some(group) = row.group.filter(|&group| self.world.sched.has_group(group)) else { return };
        match row.act {
            QueueAct::Exhaust => self.world.sched.follow_last_charge(group, row.cpu),
            _ => self.world.sched.follow_tell(group, row.cpu),
        }
    }

    /// The rows of `writer` before its next record, behind the present one.
    fn rows_ahead(&self, writer: CpuId) -> impl Iterator<Item = (usize, QueueRecord)> + use<'_> {
        self.rows_before(writer, self.next + 1)
    }

    /// The rows of `writer` before its first record from number `from` on.
    fn rows_before(&self, writer: CpuId, from: usize) -> impl Iterator<Item = (usize, QueueRecord)> + use<'_> {
        let records = self.recording.records.get(from..).unwrap_or_default();
        let end = records.iter().position(|record| record.cpu == writer).map_or(usize::MAX, |offset| from + offset);
        let rows = self.recording.queue_acts.iter().copied().enumerate().skip(self.told.next);
        rows.take_while(move |row| row.1.before <= end).filter(move |row| row.1.writer == writer)
    }

    /// The act of the present record begins, of `writer`: the queues that tell their load within it may.
    pub(super) fn grant_tells(&mut self, writer: CpuId) {
        self.grant_tells_before(writer, self.recording.records[self.next].at, self.next + 1);
    }

    /// The same for an act that begins at `at` and ends before the first record of `writer` from number `from` on.
    fn grant_tells_before(&mut self, writer: CpuId, at: Instant, from: usize) {
        if !self.told.clocks {
            return;
        }
        let is_within = |row: &(usize, QueueRecord)| is_part(row.1.act) && row.1.at.saturating_since(at) <= ONE_CALL;
        let is_granted = |row: &(usize, QueueRecord)| matches!(row.1.act, QueueAct::Tell | QueueAct::Exhaust);
        let rows = self.rows_before(writer, from).take_while(is_within).filter(is_granted);
        for (number, row) in rows.collect::<Vec<_>>() {
            if self.take_ahead_of_time(number) {
                self.grant(&row);
            }
        }
    }

    /// Whether the queue of `cpu` was looked at between two records: who was on the way there has arrived.
    pub(super) fn is_read_between(&self, cpu: CpuId, first: usize, last: usize) -> bool {
        let rows = &self.recording.queue_acts;
        let begin = rows.partition_point(|row| row.before <= first);
        let looks = |row: &QueueRecord| row.cpu == cpu && matches!(row.act, QueueAct::Read | QueueAct::Age);
        rows[begin..].iter().take_while(|row| row.before <= last).any(looks)
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
        // Behind another row than these comes another act.
        let row = self
            .rows_ahead(writer)
            .take_while(|row| matches!(row.1.act, QueueAct::Read | QueueAct::Tell | QueueAct::Exhaust))
            .find(|row| is_that(row) && self.told.done.binary_search(&row.0).is_err());
        if let Some((number, row)) = row {
            self.take_ahead_of_time(number);
            self.read_clock(&row);
        }
    }

    /// The call of a row begins: the clock is read, and who runs there is accounted if the record has that.
    fn begin_call(&mut self, number: usize, row: &QueueRecord) {
        let cpu = row.cpu;
        self.settle(cpu);
        if self.told.calls && row.act != QueueAct::Schedule && !self.world.sched.resched_due(cpu) {
            self.had_no_outcome(cpu);
        }
        if self.told.clocks {
            self.world.clocks[cpu] = self.told_clock(row);
        }
        self.take_account(cpu, self.reading.calls.account(number));
        if row.act != QueueAct::Schedule || !self.world.sched.resched_due(cpu) {
            self.close_stale(cpu, Ns::ZERO);
        }
        let behind = self.reading.calls.account(number).map_or(self.next, |account| account + 1);
        self.grant_tells_before(row.writer, row.at, behind);
    }

    fn tick_told(&mut self, number: usize, row: &QueueRecord, entry: fn(&mut Sched, &mut Ctx<'_, '_>)) {
        if self.curr(row.cpu).is_some() {
            self.begin_call(number, row);
            self.tick(row.cpu, row.at, entry);
        }
    }

    /// schedule() begins: if its task leaves the CPU, its second half is done at the switch; else it keeps the task.
    fn schedule_told(&mut self, number: usize, row: &QueueRecord) {
        let cpu = row.cpu;
        if self.cpus[cpu].leaving.is_some() {
            return;
        }
        let Some(curr) = self.curr(cpu) else { return self.stays_idle(number, row) };
        self.begin_call(number, row);
        let throttles = self.throttles_ahead(row.writer);
        self.cpus[cpu].quota_stop |= throttles.iter().any(|row| row.1.group.is_some_and(|group| self.is_below(curr, group)));
        let Some(switch) = self.reading.calls.switch(number) else {
            self.exhaust_ahead(row.writer);
            self.kept(cpu, row.at);
            self.cpus[cpu].quota_stop = false;
            return self.end_exhausted_by(row.writer);
        };
        let TraceEvent::SchedSwitch { prev, prev_state, next } = self.recording.records[switch].event else { return };
        if prev != Some(curr) {
            return;
        }
        let state = self.reading.order.prev_state(switch, prev_state);
        let fair_next = next.filter(|&next| self.rows[next].fair);
        self.end_questions(cpu, state, (next, fair_next));
        if state != PrevState::Running {
            self.world.sched.set_current_state(cpu, state);
        }
        self.schedule_begin(cpu);
        if next.is_none() || self.balances_until(switch, row) {
            // The first pick found nobody: sleepers in delayed dequeue leave before the clock is read anew for a balance.
            self.exhaust_ahead(row.writer);
            self.look_for_next(cpu);
        }
    }

    /// Whether the schedule() of a row takes time until its switch, or pulls tasks: it found nobody at first.
    fn balances_until(&self, switch: usize, row: &QueueRecord) -> bool {
        let pulls = |index: usize| {
            let record = &self.recording.records[index];
            record.cpu == row.cpu && matches!(record.event, TraceEvent::SchedMigrateTask { .. })
        };
        self.recording.records[switch].at > row.at || (self.next..switch).any(pulls)
    }

    /// schedule() of an idle CPU, which stays idle if there is no switch: nobody but sleepers in delayed dequeue was on its queue.
    fn stays_idle(&mut self, number: usize, row: &QueueRecord) {
        let cpu = row.cpu;
        if self.reading.calls.switch(number).is_some() || self.cpus[cpu].running.is_some() {
            if self.told.clocks {
                // Not the clock by which a sleeper that left meanwhile was aged: that is an estimate of what the queue's would show.
                self.world.clocks[cpu] = self.told_clock(row);
            }
            return;
        }
        self.world.idle_until(cpu, row.at);
        self.begin_call(number, row);
        self.world.call(cpu, cpu, |sched, cx| {
            let leaving = sched.schedule_begin(cx);
            sched.schedule_following(cx, leaving, None)
        });
        self.hear_accounts(cpu);
    }

    /// The queues that `writer` throttles in the call that has just begun.
    fn throttles_ahead(&self, writer: CpuId) -> Vec<(usize, QueueRecord)> {
        self.rows_ahead(writer).take_while(|row| is_part(row.1.act)).filter(|row| row.1.act == QueueAct::Throttle).collect()
    }

    /// The same queues are about to be throttled.
    pub(super) fn exhaust_ahead(&mut self, writer: CpuId) {
        self.exhaust_ahead_if(writer, false, |_| true);
    }

    /// Those that are meant. `charges`: the act that comes makes the charge by which they are.
    fn exhaust_ahead_if(&mut self, writer: CpuId, charges: bool, is_meant: impl Fn(&QueueRecord) -> bool) {
        if !self.told.quotas {
            return;
        }
        for (number, row) in self.throttles_ahead(writer).into_iter().filter(|row| is_meant(&row.1)) {
            if self.take_ahead_of_time(number) {
                self.exhaust(&row, charges);
            }
        }
    }

    fn exhaust(&mut self, row: &QueueRecord, charges: bool) {
        if let Some(group) = row.group.filter(|&group| self.world.sched.has_group(group)) {
            self.throttle(group, row.cpu, row.writer, charges);
        }
    }

    fn throttle_told(&mut self, row: &QueueRecord) {
        self.exhaust(row, false);
        if row.cpu == row.writer && self.cpus[row.cpu].leaving.is_some() && !self.picks_next(row) {
            // In the pick, if that comes to it; else as the last task is put down.
            self.look_for_next(row.cpu);
        }
    }

    /// Whether the next record of the row's CPU is the switch to a task, at the same instant: the pick in which the queue is
    /// throttled is that of the switch, and none comes before it.
    fn picks_next(&self, row: &QueueRecord) -> bool {
        let next = self.recording.records[self.next..].iter().find(|record| record.cpu == row.cpu);
        next.is_some_and(|record| record.at == row.at && matches!(record.event, TraceEvent::SchedSwitch { next: Some(_), .. }))
    }

    fn release_told(&mut self, number: usize, row: &QueueRecord) {
        if let Some(group) = row.group.filter(|&group| self.world.sched.has_group(group)) {
            self.begin_call(number, row);
            let profile = self.world.sched.profile();
            let (all, others) = (profile.throttle.dequeues_queues(), profile.throttle_at == ThrottleAt::Charge);
            let is_other = |row: &QueueRecord, of: &QueueRecord| (row.group, row.cpu) != (of.group, of.cpu);
            self.exhaust_ahead_if(row.writer, true, |ahead| all || others && is_other(ahead, row));
            self.release_now(group, row.cpu, row.writer);
            // A queue that is throttled at once is so by the account that its own release makes: what is released was queued before.
            self.exhaust_ahead(row.writer);
            self.end_exhausted_by(row.writer);
        }
    }

    fn stop_told(&mut self, number: usize, row: &QueueRecord) {
        let Some(task) = row.task.filter(|&task| self.rows[task].fair) else { return };
        self.begin_call(number, row);
        self.stop(task, None);
    }

    /// An hrtick that found nothing to account; else its account makes it.
    fn hrtick_without_account(&mut self, number: usize, row: &QueueRecord) {
        if self.told.clocks && !self.reading.accounted_hrticks.contains(&number) && self.curr(row.cpu).is_some() {
            self.read_clock(row);
            self.tick(row.cpu, row.at, fairground_sched::Sched::hrtick);
        }
    }

    /// A task comes to another group.
    fn join_told(&mut self, number: usize, row: &QueueRecord) {
        let Some(task) = row.task.filter(|&task| self.has_groups && self.rows[task].fair) else { return };
        if row.group.is_some_and(|group| !self.world.sched.has_group(group)) {
            return self.fact("moves to groups that nothing tells of: not followed");
        }
        if self.world.sched.task(task).cpu == row.cpu {
            self.begin_call(number, row);
        }
        self.exhaust_ahead_if(row.writer, true, |_| true);
        self.join(task, row.group);
        self.end_exhausted_by(row.writer);
    }

    /// `task` goes to `group`, wherever it is.
    pub(super) fn join(&mut self, task: TaskId, group: Option<fairground_stdx::TgId>) {
        let cpu = self.world.sched.task(task).cpu;
        let was_due = self.world.sched.resched_due(cpu);
        self.world.call(cpu, cpu, |sched, cx| sched.sched_move_task(cx, task, group));
        self.hear_accounts(cpu);
        if !self.told.calls {
            // That the move asks for a reschedule is left to the record: whoever runs next is asked about there.
            self.world.sched.follow_need_resched(cpu, was_due);
        }
    }
}

/// Whether a row is part of the act that began before it.
const fn is_part(act: QueueAct) -> bool {
    matches!(act, QueueAct::Read | QueueAct::Tell | QueueAct::Exhaust | QueueAct::Throttle)
}
