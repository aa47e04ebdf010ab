//! What each record was part of.

use super::{Calls, Known, Start, TickPhase, is_fair};
use crate::order::Order;
use crate::recording::{QueueRecord, QuotaAct, QuotaChange, Recording};
use fairground_model::{PrevState, QueueAct, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, Ns, TaskId};
use std::collections::BTreeSet;

/// A task that ends its job reads its clock at most so often before it sleeps.
const READS_AT_END: usize = 2;
/// And goes to sleep so soon.
const END_OF_JOB_NS: u64 = 60_000;
/// A tick so soon after a wake-up may be followed by a schedule() that does not read the clock again.
const SAME_INTERRUPT_NS: u64 = 60_000;

/// An account so long after the one before is no outcome of anything that was asked there.
const LONG_AFTER_NS: u64 = 200_000;

/// A call of our own runs takes no longer.
pub(crate) const ONE_CALL: Ns = Ns::from_us(20);

/// So many such accounts make a task one that reads its own clock now and then.
const NOW_AND_THEN: u32 = 2;

/// What a record was part of. Accounts of run time are told apart by it; records of other kinds are `Plain`, but for
/// migrations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// Says all by itself.
    Plain,
    /// Account of a tick.
    Tick,
    /// Account of an hrtick, where the record tells it.
    Hrtick,
    /// Account before a task is queued; the wake-up follows.
    Enqueue,
    /// Account inside fork().
    Fork,
    /// Account of schedule(); the switch follows.
    Leave,
    /// Account before a task is taken off for another CPU; the migration follows.
    Detach,
    /// Account before tasks that came from another CPU are queued.
    Attach,
    /// Account of a task that reads its clock and then sleeps.
    EndOfJob,
    /// Account that nothing around it explains: a schedule() that kept the task, a change of nice, or a clock read.
    Bare,
    /// Account of a call that the record tells.
    Told,
    /// Account that a release of a throttled queue makes, or a task that stops for want of quota.
    Quota,
    /// Account of a task that does not run, or is not fair.
    Foreign,
    /// Migration inside a wake-up.
    WakeMove,
    /// Migration of a waiting task.
    Move,
    /// Migration to a CPU that is about to go idle, inside its schedule().
    Pull,
}

/// Who runs where, as the records tell it.
struct Running {
    on: IndexVec<CpuId, Option<TaskId>>,
    cpu_of: Vec<Option<CpuId>>,
}

impl Running {
    fn new(start: &Start, tasks: usize) -> Running {
        let mut running = Running { on: start.running.clone(), cpu_of: vec![None; tasks] };
        for (cpu, task) in start.running.iter_enumerated() {
            if let Some(task) = task {
                running.cpu_of[task.index()] = Some(cpu);
            }
        }
        running
    }
    fn switch(&mut self, cpu: CpuId, next: Option<TaskId>) {
        if let Some(old) = self.on[cpu].take() {
            self.cpu_of[old.index()] = None;
        }
        if let Some(next) = next {
            if let Some(elsewhere) = self.cpu_of[next.index()].replace(cpu) {
                self.on[elsewhere] = None;
            }
            self.on[cpu] = Some(next);
        }
    }
}

/// What each record was part of, and which tasks read their own clock now and then.
pub(super) fn mark_all(
    recording: &Recording,
    order: &Order,
    start: &Start,
    ticks: &IndexVec<CpuId, Option<TickPhase>>,
    (known, hrticks, calls): (Known, &BTreeSet<usize>, &Calls),
) -> (Vec<Mark>, Vec<bool>) {
    let nr_cpus = ticks.len();
    let mut pass = Pass {
        recording,
        order,
        ticks,
        known,
        hrticks,
        calls,
        told: calls.accounts().collect(),
        running: Running::new(start, recording.tasks.len()),
        ticked: vec![None; nr_cpus],
        woken_at: vec![None; nr_cpus],
        waking: vec![false; recording.tasks.len()],
        clock_reads: vec![0; recording.tasks.len()],
        marks: vec![Mark::Plain; recording.records.len()],
    };
    (0..recording.records.len()).for_each(|index| pass.record(index));
    (pass.marks, pass.clock_reads.into_iter().map(|reads| reads >= NOW_AND_THEN).collect())
}

struct Pass<'a> {
    recording: &'a Recording,
    order: &'a Order,
    ticks: &'a IndexVec<CpuId, Option<TickPhase>>,
    known: Known,
    hrticks: &'a BTreeSet<usize>,
    calls: &'a Calls,
    /// Accounts of calls that the record tells.
    told: BTreeSet<usize>,
    running: Running,
    /// The number of the last tick of each CPU.
    ticked: Vec<Option<u64>>,
    /// When something was last queued on each CPU since its last switch.
    woken_at: Vec<Option<u64>>,
    /// Tasks between waking and wake-up.
    waking: Vec<bool>,
    clock_reads: Vec<u32>,
    marks: Vec<Mark>,
}

impl Pass<'_> {
    fn event(&self, index: usize) -> TraceEvent {
        self.recording.records[index].event
    }
    fn at(&self, index: usize) -> u64 {
        self.recording.records[index].at.ns()
    }
    fn record(&mut self, index: usize) {
        let cpu = self.recording.records[index].cpu;
        match self.event(index) {
            TraceEvent::SchedWaking { task, .. } => self.waking[task.index()] = true,
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                self.waking[task.index()] = false;
                self.woken_at[target_cpu.index()] = Some(self.at(index));
            }
            TraceEvent::SchedSwitch { next, .. } => {
                self.woken_at[cpu.index()] = None;
                self.running.switch(cpu, next);
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } => {
                self.marks[index] = match () {
                    () if self.waking[task.index()] => Mark::WakeMove,
                    () if dest_cpu == cpu && self.is_about_to_idle(index, cpu) => Mark::Pull,
                    () => Mark::Move,
                };
            }
            TraceEvent::SchedStatRuntime { task, runtime, .. } => {
                let mark = self.account(index, cpu, task);
                self.marks[index] = mark;
                self.clock_reads[task.index()] += u32::from(mark == Mark::Bare && runtime.0 > LONG_AFTER_NS);
            }
            _ => {}
        }
    }
    fn account(&mut self, index: usize, writer: CpuId, task: TaskId) -> Mark {
        let cpu = match self.running.cpu_of[task.index()] {
            Some(cpu) if is_fair(&self.recording.tasks, task) => cpu,
            _ => return Mark::Foreign,
        };
        if self.told.contains(&index) {
            return Mark::Told;
        }
        if self.hrticks.contains(&index) {
            return Mark::Hrtick;
        }
        let arrived = |prev: usize| matches!(self.event(prev), TraceEvent::SchedMigrateTask { dest_cpu, .. } if dest_cpu == cpu && self.marks[prev] != Mark::WakeMove);
        let attaches = |prev: usize| arrived(prev) && self.is_one_call(prev, index) && !self.is_read_between(cpu, prev, index);
        if self.order.prev(index).is_some_and(attaches) {
            return Mark::Attach;
        }
        let own = writer == cpu;
        let Some(next) = self.order.next(index) else {
            return if own { self.tick_or(index, cpu, Mark::Bare) } else { Mark::Bare };
        };
        let is_one_call = self.recording.queue_acts.is_empty() || self.at(index) == self.at(next);
        match self.event(next) {
            TraceEvent::SchedWakeup { target_cpu, .. } | TraceEvent::SchedWakeupNew { target_cpu, .. }
                if target_cpu == cpu && is_one_call =>
            {
                Mark::Enqueue
            }
            TraceEvent::SchedMigrateTask { task: moved, orig_cpu, .. }
                if orig_cpu == cpu && is_one_call && !self.waking[moved.index()] =>
            {
                Mark::Detach
            }
            _ if !own => Mark::Bare,
            TraceEvent::SchedProcessFork { parent, .. } if parent == Some(task) && self.known.fork_accounts => Mark::Fork,
            TraceEvent::SchedSwitch { prev, prev_state, .. } if prev == Some(task) => {
                match self.order.prev_state(next, prev_state) {
                    PrevState::Running if self.is_accounted_between(task, index, next) => self.tick_or(index, cpu, Mark::Bare),
                    PrevState::Running if self.woken_just_now(index, cpu) => self.tick_or(index, cpu, Mark::Leave),
                    _ => Mark::Leave,
                }
            }
            TraceEvent::SchedStatRuntime { .. } | TraceEvent::SchedMigrateTask { .. } if self.pulls_next(index, cpu, task) => {
                Mark::Leave
            }
            _ if self.ends_job(index, task) => self.tick_or(index, cpu, Mark::EndOfJob),
            _ => self.tick_or(index, cpu, Mark::Bare),
        }
    }
    /// Whether another CPU accounted `task` between two records of its own.
    fn is_accounted_between(&self, task: TaskId, index: usize, next: usize) -> bool {
        self.order.next_account(task, index + 1).is_some_and(|account| account < next)
    }
    /// A tick if the record is the first in the window of one.
    fn tick_or(&mut self, index: usize, cpu: CpuId, otherwise: Mark) -> Mark {
        let number = self.ticks[cpu].and_then(|phase| phase.number_at(self.at(index)));
        // Only a schedule() is written down without run time: that of a tick was accounted by another CPU at the same instant.
        let is_empty = matches!(self.event(index), TraceEvent::SchedStatRuntime { runtime, .. } if runtime == Ns::ZERO);
        if number.is_none() || number == self.ticked[cpu.index()] || is_empty {
            return otherwise;
        }
        self.ticked[cpu.index()] = number;
        Mark::Tick
    }
    fn woken_just_now(&self, index: usize, cpu: CpuId) -> bool {
        self.woken_at[cpu.index()].is_some_and(|woken| self.at(index) - woken <= SAME_INTERRUPT_NS)
    }
    /// Whether `cpu` is in a schedule() that found nobody to run.
    fn is_about_to_idle(&self, index: usize, cpu: CpuId) -> bool {
        if Calls::are_told(self.recording) {
            return self.next_switch(index).is_some_and(|switch| self.calls.is_within(switch, index));
        }
        self.sleeps_next(index, cpu) || self.stops_for_quota(index, cpu)
    }
    /// The next switch that the CPU of a record writes.
    fn next_switch(&self, index: usize) -> Option<usize> {
        let is_switch = |&at: &usize| matches!(self.event(at), TraceEvent::SchedSwitch { .. });
        std::iter::successors(self.order.next(index), |&at| self.order.next(at)).find(is_switch)
    }
    /// Whether, but for accounts and migrations, the CPU's next act is to switch away from a task that sleeps.
    fn sleeps_next(&self, index: usize, cpu: CpuId) -> bool {
        self.running.on[cpu].is_some_and(|running| self.sleeps_after_balance(index, running))
    }
    /// Whether what runs on `cpu` has just left its queue for want of quota, as our own runs tell, so that the CPU runs empty.
    fn stops_for_quota(&self, index: usize, cpu: CpuId) -> bool {
        let acts = &self.recording.quota_acts;
        let behind = acts.partition_point(|act| act.before <= index);
        let is_now = |act: &QuotaAct| act.cpu == cpu && self.at(index).saturating_sub(act.at.ns()) <= ONE_CALL.0;
        let stops = |act: &QuotaAct| matches!(act.what, QuotaChange::Stop(_) | QuotaChange::Throttle(..));
        let last = acts[..behind].iter().rev().find(|act| act.cpu == cpu);
        !self.recording.queue_acts.is_empty() && last.is_some_and(|act| is_now(act) && stops(act)) && self.switches_next(index)
    }
    /// Whether, but for accounts and migrations, the next act of the CPU is a switch.
    fn switches_next(&self, index: usize) -> bool {
        let mut next = self.order.next(index);
        while let Some(at) = next {
            match self.event(at) {
                TraceEvent::SchedStatRuntime { .. } | TraceEvent::SchedMigrateTask { .. } => next = self.order.next(at),
                event => return matches!(event, TraceEvent::SchedSwitch { .. }) && self.is_one_call(index, at),
            }
        }
        false
    }
    /// Whether `task`, which leaves the queue at this account, leaves its CPU empty so that others are pulled there.
    fn pulls_next(&self, index: usize, cpu: CpuId, task: TaskId) -> bool {
        let mut next = self.order.next(index);
        while let Some(at) = next {
            match self.event(at) {
                TraceEvent::SchedStatRuntime { task: other, .. } if other != task => next = self.order.next(at),
                TraceEvent::SchedMigrateTask { dest_cpu, .. } => return dest_cpu == cpu && self.sleeps_after_balance(at, task),
                _ => return false,
            }
        }
        false
    }
    /// Whether, but for the moves of a balance, the CPU's next act is to switch away from `task`, which sleeps. It is accounted once
    /// more when the others are queued; a second time, and it went on after the balance.
    fn sleeps_after_balance(&self, index: usize, task: TaskId) -> bool {
        let (mut next, mut accounts) = (self.order.next(index), 0);
        while let Some(at) = next {
            match self.event(at) {
                TraceEvent::SchedStatRuntime { task: ran, .. } if ran == task && accounts > 0 => return false,
                TraceEvent::SchedStatRuntime { task: ran, .. } => accounts += u32::from(ran == task),
                TraceEvent::SchedMigrateTask { .. } => {}
                _ => return self.sleeps_at(at, task) && self.is_one_call(index, at),
            }
            next = self.order.next(at);
        }
        false
    }
    /// Whether a call that is at the first record may still be at the second one. The CPUs of recorders may share a host in
    /// turns, and a call takes as long as turns do; those of our own runs do not.
    fn is_one_call(&self, first: usize, last: usize) -> bool {
        self.recording.queue_acts.is_empty() || self.at(last) - self.at(first) <= ONE_CALL.0
    }
    /// Whether `cpu` read its clock between the two records, in an earlier call than that of the second one, as our own runs tell: what
    /// came there needed no account.
    fn is_read_between(&self, cpu: CpuId, first: usize, last: usize) -> bool {
        let rows = &self.recording.queue_acts;
        let begin = rows.partition_point(|row| row.before <= first);
        let at = self.recording.records[last].at;
        let is_that = |row: &&QueueRecord| row.act == QueueAct::Read && row.cpu == cpu && row.at < at;
        rows[begin..].iter().take_while(|row| row.before <= last).any(|row| is_that(&row))
    }
    fn sleeps_at(&self, index: usize, task: TaskId) -> bool {
        match self.event(index) {
            TraceEvent::SchedSwitch { prev, prev_state, .. } => {
                prev == Some(task) && self.order.prev_state(index, prev_state) != PrevState::Running
            }
            _ => false,
        }
    }
    /// Whether the task reads its clock at most a few times more and then sleeps.
    fn ends_job(&self, index: usize, task: TaskId) -> bool {
        let mut next = self.order.next(index);
        for _ in 0..=READS_AT_END {
            let Some(at) = next else { return false };
            match self.event(at) {
                TraceEvent::SchedStatRuntime { task: same, .. } if same == task => next = self.order.next(at),
                _ => return self.sleeps_at(at, task) && self.at(at) - self.at(index) <= END_OF_JOB_NS,
            }
        }
        false
    }
}
