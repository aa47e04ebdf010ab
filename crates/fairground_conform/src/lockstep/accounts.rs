//! Accounts of run time: they move the clock, and are compared.

use super::{Lockstep, Owed};
use crate::outcome::{Kind, VruntimeError};
use crate::read::Mark;
use fairground_model::{PrevState, TraceEvent};
use fairground_sched::{Ctx, Sched};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// No account is longer than this: a running task is accounted for at every tick, without ticks still once in a while.
const LONGEST_ACCOUNT: Ns = Ns(3_600_000_000_000);
/// What is accounted by a wake-up comes so soon after it.
const AT_ONCE: Ns = Ns::from_us(1);
/// The load that is left on idle CPUs is aged so often while others are busy.
///
/// Kernel: fair.c nohz_balancer_kick() with LOAD_AVG_PERIOD, v4.17–
const BLOCKED_LOAD_PERIOD: Ns = Ns::from_ms(32);

impl Lockstep<'_> {
    /// One `sched_stat_runtime`: the clock moves; where no other record follows that belongs to the same act, the
    /// core is called at once.
    pub(super) fn account(&mut self, index: usize, owed: Owed) {
        let record = self.recording.records[index];
        let (writer, at, task) = (record.cpu, record.at, owed.task);
        if owed.runtime > LONGEST_ACCOUNT {
            return self.fact("accounts of more than an hour of run time, which no kernel makes: left out");
        }
        if self.taken.remove(&index) {
            return;
        }
        let mark = self.tick_or_hrtick(index, writer, at, task);
        if mark == Mark::Foreign {
            if self.rows[task].fair {
                self.fact("accounts of run time of tasks that do not run");
            }
            return;
        }
        let cpu = self.world.sched.task(task).cpu;
        if self.curr(cpu) != Some(task) {
            return self.fact("accounts of run time of tasks that do not run");
        }
        if mark == Mark::Quota {
            return self.owe(cpu, owed);
        }
        if self.cpus[cpu].ahead.take() == Some(index) && !self.told.calls {
            // The wake-up before it did not account the task: schedule() did, which kept it if no switch follows.
            self.owe(cpu, owed);
            let next = self.reading.order.next(index).map(|next| self.recording.records[next].event);
            let leaves = matches!(next, Some(TraceEvent::SchedSwitch { prev, .. }) if prev == Some(task));
            if !leaves {
                self.kept(cpu, at);
            }
            return;
        }
        if self.joins(index, cpu, owed) {
            return;
        }
        match mark {
            Mark::Enqueue => {
                self.close_stale(cpu, self.moves_clock(cpu, owed));
                self.owe(cpu, owed);
                if !self.world.sched.account_may_resched() {
                    // Others may read the floor of this queue before the wake-up is written.
                    self.settle(cpu);
                }
            }
            Mark::Leave if !self.told.calls => {
                self.schedule_unseen(index, cpu);
                self.owe(cpu, owed);
                self.begin_sleep(index, cpu);
            }
            Mark::Attach => {
                self.close_stale(cpu, self.moves_clock(cpu, owed));
                self.owe(cpu, owed);
                self.attach_all(index, writer, at);
            }
            Mark::Bare | Mark::EndOfJob if std::mem::take(&mut self.rows[task].exiting) => {
                if !self.world.sched.resched_due(cpu) {
                    // Whatever happens from here on, leaving the autogroup asks for a reschedule of its own.
                    self.went_on(cpu);
                }
                self.owe(cpu, owed);
                self.world.call(cpu, cpu, |sched, cx| sched.exit_autogroup(cx));
                self.hear_accounts(cpu);
            }
            Mark::Bare | Mark::EndOfJob | Mark::Tick if self.changes_nice(index, owed) => self.change_nice(cpu, at, owed),
            Mark::Tick if !self.told.calls => {
                self.close_stale(cpu, self.moves_clock(cpu, owed));
                self.owe(cpu, owed);
                self.tick(cpu, at, Sched::sched_tick);
            }
            Mark::Hrtick if !self.told.calls => {
                self.close_stale(cpu, self.moves_clock(cpu, owed));
                self.owe(cpu, owed);
                self.tick(cpu, at, Sched::hrtick);
            }
            Mark::Bare | Mark::EndOfJob if !self.told.calls => self.bare(index, writer, cpu, at, owed),
            Mark::Bare | Mark::EndOfJob | Mark::Tick | Mark::Hrtick | Mark::Leave | Mark::Told => {
                // Ticks and each schedule() are told.
                self.close_stale(cpu, self.moves_clock(cpu, owed));
                self.owe(cpu, owed);
                self.update(cpu, at);
            }
            _ => {
                self.close_stale(cpu, self.moves_clock(cpu, owed));
                self.owe(cpu, owed);
            }
        }
    }

    /// What an account is part of. Shortly before a tick it may be an hrtick that was due: then the tick comes next.
    fn tick_or_hrtick(&mut self, index: usize, writer: CpuId, at: Instant, task: TaskId) -> Mark {
        let mark = self.mark(index);
        if self.reading.tells_hrticks {
            return mark;
        }
        let cpu = self.world.sched.task(task).cpu;
        let before = self.reading.ticks[cpu].is_some_and(|phase| phase.is_before(at.ns()));
        match mark {
            Mark::Tick if before && writer == cpu && self.world.hrtick_fired(cpu) => {
                self.cpus[cpu].tick_comes = true;
                Mark::Bare
            }
            Mark::Bare | Mark::EndOfJob if !before && std::mem::take(&mut self.cpus[cpu].tick_comes) => Mark::Tick,
            _ => mark,
        }
    }

    /// The clock of `cpu` moves so that the next account of its running task has the recorded length.
    pub(super) fn owe(&mut self, cpu: CpuId, owed: Owed) {
        self.settle(cpu);
        self.attribute(cpu, owed.task, owed.runtime);
        self.world.clocks[cpu] = self.world.sched.accounted_until(owed.task) + owed.runtime;
        self.cpus[cpu].behind = self.world.at.saturating_since(self.world.clocks[cpu]);
        self.cpus[cpu].owed_at = self.world.at;
        // The core makes no account of no time.
        self.cpus[cpu].owed = (owed.runtime > Ns::ZERO).then_some(owed);
    }

    /// Before `task` comes to a queue of `cpu`, or leaves one, at `at`: if somebody of another queue runs there, only the groups above him
    /// are accounted, and of that there is no record. Then the clock follows timestamps, up to his next account.
    pub(super) fn bring_clock(&mut self, cpu: CpuId, task: TaskId, at: Instant) {
        if self.cpus[cpu].owed.is_some() {
            self.enqueue_lag = at.saturating_since(self.cpus[cpu].owed_at);
            return;
        }
        let Some(curr) = self.curr(cpu).filter(|_| self.has_groups) else { return };
        let group = |task: TaskId| self.world.sched.task(task).group;
        if group(curr) == group(task) {
            return;
        }
        let late = self.cpus[cpu].behind.0 + self.enqueue_lag.0;
        let now = Instant::from_ns(at.ns().saturating_sub(late));
        let next = self.reading.order.next_account(curr, self.next + 1);
        let limit = match next.map(|next| self.recording.records[next].event) {
            Some(TraceEvent::SchedStatRuntime { runtime, .. }) => self.world.sched.accounted_until(curr) + runtime,
            _ => Instant::MAX,
        };
        let clock = self.world.clocks[cpu];
        if self.told.clocks {
            self.cpus[cpu].ahead = next.filter(|&next| limit == clock && self.is_of_schedule(cpu, next));
            return;
        }
        let same = next.filter(|&next| self.is_same_reading(cpu, curr, next));
        let to = clock.max(if same.is_some() { limit } else { now.min(limit) });
        self.close_stale(cpu, to.since(clock));
        self.cpus[cpu].ahead = same;
        self.world.clocks[cpu] = to;
    }

    /// Whether an account at the present clock of `cpu` is no act of its own. At the same instant a tick may come on a CPU that another
    /// one has just acted on.
    fn is_of_schedule(&self, cpu: CpuId, next: usize) -> bool {
        match self.mark(next) {
            Mark::Tick => self.recording.records[self.next].cpu == cpu,
            Mark::Hrtick | Mark::Detach | Mark::Attach | Mark::Enqueue | Mark::Fork => false,
            _ => true,
        }
    }

    /// By how much an account moves the clock of `cpu`, which may have been read since the last one.
    fn moves_clock(&self, cpu: CpuId, owed: Owed) -> Ns {
        (self.world.sched.accounted_until(owed.task) + owed.runtime).saturating_since(self.world.clocks[cpu])
    }

    /// Whether the account `next` goes by the same reading of the clock: it comes at once, in the test whether the wakee preempts, or is that
    /// of a schedule() that takes the CPU from `curr` and does not read the clock again.
    fn is_same_reading(&self, cpu: CpuId, curr: TaskId, next: usize) -> bool {
        let records = &self.recording.records;
        let writer = records[self.next].cpu;
        let at_once =
            self.reading.order.next(self.next) == Some(next) && records[next].at.since(records[self.next].at) <= AT_ONCE;
        let switch = self.reading.order.next(next).map(|switch| records[switch].event);
        let preempts =
            matches!(switch, Some(TraceEvent::SchedSwitch { prev, prev_state: PrevState::Running, .. }) if prev == Some(curr));
        let alone = records[self.next + 1..next].iter().all(|record| record.cpu != cpu);
        (at_once && records[next].cpu == writer) || (preempts && alone)
    }

    /// An account that no call of the core made yet is made now.
    pub(super) fn settle(&mut self, cpu: CpuId) {
        if self.cpus[cpu].owed.is_some() {
            self.world.call(cpu, cpu, |sched, cx| sched.account_curr(cx));
            self.hear_accounts(cpu);
            if self.cpus[cpu].owed.take().is_some() {
                self.fact("accounts of run time that the core could not make");
            }
        }
    }

    /// Compares the accounts that the core just made on `cpu` with the one that is owed.
    pub(super) fn hear_accounts(&mut self, cpu: CpuId) {
        for heard in std::mem::take(&mut self.world.ear.accounts) {
            let is_that = |owed: &Owed| owed.task == heard.task && owed.runtime == heard.runtime;
            let Some(owed) = self.cpus[cpu].owed.filter(is_that).or_else(|| self.take_ahead(cpu).filter(is_that)) else {
                if self.reading.has_runtime {
                    self.fact("accounts of run time that the core made and the record does not have");
                }
                self.attribute(cpu, heard.task, heard.runtime);
                continue;
            };
            self.cpus[cpu].owed = None;
            let (Some(ours), Some(recorded)) = (heard.vruntime, owed.vruntime) else { continue };
            self.vruntimes.compared += 1;
            let error = ours.since(recorded).unsigned_abs();
            self.vruntimes.exact += u64::from(error == 0);
            self.vruntimes.largest = self.vruntimes.largest.max(error);
            if error != 0 && self.vruntime_errors.len() < self.keep {
                let at = self.recording.records[self.next].at;
                self.vruntime_errors.push(VruntimeError { at, cpu, task: owed.task, recorded, core: ours });
            }
        }
    }

    /// The account that comes next in the record and that the core has made already.
    fn take_ahead(&mut self, cpu: CpuId) -> Option<Owed> {
        let index = self.cpus[cpu].ahead.take()?;
        let TraceEvent::SchedStatRuntime { task, runtime, vruntime } = self.recording.records[index].event else { return None };
        self.taken.insert(index);
        self.attribute(cpu, task, runtime);
        Some(Owed { task, runtime, vruntime })
    }

    /// Books run time: to the task that ran, and to the one that would have run by the core's answers.
    fn attribute(&mut self, cpu: CpuId, task: TaskId, runtime: Ns) {
        self.shares[task].ran += runtime;
        self.rows[task].ran_since_wakeup += runtime;
        match self.cpus[cpu].instead {
            None => self.shares[task].given += runtime,
            Some(Some(other)) => self.shares[other].given += runtime,
            Some(None) => {}
        }
    }

    /// A tick, or an hrtick.
    pub(super) fn tick(&mut self, cpu: CpuId, at: Instant, entry: fn(&mut Sched, &mut Ctx<'_, '_>)) {
        let was_due = self.world.sched.resched_due(cpu);
        self.world.call(cpu, cpu, entry);
        self.asked(cpu, cpu, at, Kind::TickPreempt, was_due);
        self.hear_accounts(cpu);
        self.age_loads(cpu, at);
    }

    /// After a tick: its soft interrupt ages the loads of its CPU, and now and then those that are left on idle ones.
    fn age_loads(&mut self, cpu: CpuId, at: Instant) {
        if !self.has_groups || self.told.clocks {
            return;
        }
        self.world.call(cpu, cpu, |sched, cx| sched.follow_balance_softirq(cx));
        if at < self.next_blocked {
            return;
        }
        self.next_blocked = at + BLOCKED_LOAD_PERIOD;
        for idle in self.cpus.ids().filter(|&idle| self.cpus[idle].running.is_none()).collect::<Vec<CpuId>>() {
            self.age_idle(idle, at);
        }
    }

    /// The load that is left on a CPU that is, or goes, idle is aged.
    pub(super) fn age_idle(&mut self, cpu: CpuId, at: Instant) {
        if self.has_groups && !self.told.clocks {
            self.world.idle_until(cpu, at);
            self.world.call(cpu, cpu, |sched, cx| sched.follow_blocked_load(cx));
        }
    }

    /// A mere account. Kernels in which any account may end a turn are asked that too.
    fn update(&mut self, cpu: CpuId, at: Instant) {
        let was_due = self.world.sched.resched_due(cpu);
        self.world.call(cpu, cpu, |sched, cx| sched.account_curr(cx));
        if self.world.sched.account_may_resched() {
            self.asked(cpu, cpu, at, Kind::UpdatePreempt, was_due);
        }
        self.hear_accounts(cpu);
    }

    /// Whether a task that is to get another nice value got it at this account. Where the record has virtual times, the
    /// weight of the next account tells; else it is the first one, but for a tick with another one behind it.
    fn changes_nice(&self, index: usize, owed: Owed) -> bool {
        let Some(nice) = self.rows[owed.task].nice_due else { return false };
        let next = self.reading.order.next_account(owed.task, index + 1).map(|next| (next, self.recording.records[next].event));
        let Some((next, TraceEvent::SchedStatRuntime { runtime, vruntime, .. })) = next else { return true };
        match (owed.vruntime, vruntime) {
            (Some(before), Some(after)) => {
                let expected = self.world.sched.profile().vruntime_at_nice(nice, runtime);
                after.since(before).unsigned_abs() == expected
            }
            _ => self.mark(index) != Mark::Tick || self.mark(next) == Mark::Leave,
        }
    }

    /// The act of a child by which it gets another nice value.
    fn change_nice(&mut self, cpu: CpuId, at: Instant, owed: Owed) {
        let Some(nice) = self.rows[owed.task].nice_due.take() else { return };
        self.close_stale(cpu, self.moves_clock(cpu, owed));
        self.owe(cpu, owed);
        let was_due = self.world.sched.resched_due(cpu);
        self.world.call(cpu, cpu, |sched, cx| sched.set_user_nice(cx, owed.task, nice));
        self.asked(cpu, cpu, at, Kind::UpdatePreempt, was_due);
        self.hear_accounts(cpu);
    }

    /// An account that nothing around it explains.
    fn bare(&mut self, index: usize, writer: CpuId, cpu: CpuId, at: Instant, owed: Owed) {
        let kept = writer == cpu && self.is_outcome(cpu, self.moves_clock(cpu, owed), self.mark(index) == Mark::EndOfJob);
        if kept {
            self.owe(cpu, owed);
            self.kept(cpu, at);
        } else {
            self.close_stale(cpu, self.moves_clock(cpu, owed));
            self.owe(cpu, owed);
            match writer == cpu && !self.reading.tells_hrticks && self.world.hrtick_fired(cpu) {
                true => self.tick(cpu, at, Sched::hrtick),
                false => self.update(cpu, at),
            }
        }
    }
}
