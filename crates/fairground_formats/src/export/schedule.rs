//! The account of run time that each schedule() makes.
//!
//! A kernel accounts a running task that can go on in every schedule(), some 100 ns after what asked for it. Our clock may stand in
//! between. Then there is nothing to account, and a file would not show that the task was picked again, nor whose account
//! stands before a switch. So an account of 0 ns stands there, without a virtual time: it did not change.

use crate::export::TraceWriter;
use fairground_model::reason::Question;
use fairground_model::{Decision, Distributed, LockEvent, PrevState, Sink, TaskInfo, TraceEvent, Verdict, Who};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};
use std::io;

/// What one CPU does, by its records.
#[derive(Clone, Copy, Default)]
struct Cpu {
    running: Option<TaskId>,
    /// Whether `running` was ever accounted: other classes may not be.
    is_accounted: bool,
    /// When it was accounted, if nothing else that accounts it has happened since.
    own_account: Option<Instant>,
}

/// Puts these accounts between the records that a writer gets.
pub(crate) struct ScheduleAccounts<'w> {
    writer: Box<dyn TraceWriter + 'w>,
    cpus: Vec<Cpu>,
}

impl<'w> ScheduleAccounts<'w> {
    pub(crate) fn new(writer: Box<dyn TraceWriter + 'w>) -> ScheduleAccounts<'w> {
        ScheduleAccounts { writer, cpus: Vec::new() }
    }
    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        if self.cpus.len() <= cpu.index() {
            self.cpus.resize(cpu.index() + 1, Cpu::default());
        }
        &mut self.cpus[cpu.index()]
    }
    /// schedule() found its running task able to go on.
    fn schedule(&mut self, at: Instant, cpu: CpuId) {
        let row = *self.cpu(cpu);
        if let Some(task) = row.running.filter(|_| row.is_accounted && row.own_account != Some(at)) {
            self.writer.record(at, cpu, &TraceEvent::SchedStatRuntime { task, runtime: Ns::ZERO, vruntime: None });
        }
        self.cpu(cpu).own_account = None;
    }
}

impl Sink for ScheduleAccounts<'_> {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedStatRuntime { task, .. } => {
                let row = self.cpu(cpu);
                if row.running == Some(task) {
                    (row.is_accounted, row.own_account) = (true, Some(at));
                }
            }
            TraceEvent::Decision(Decision { reason, a, .. }) => match reason.question() {
                Question::Pick if self.cpu(cpu).running.is_some_and(|task| Decision::who(a) == Who::Task(task)) => {
                    self.schedule(at, cpu);
                }
                Question::TickPreempt | Question::WakeupPreempt => self.cpu(cpu).own_account = None,
                _ => {}
            },
            TraceEvent::SchedProcessFork { .. } => self.cpu(cpu).own_account = None,
            TraceEvent::SchedSwitch { prev_state, next, .. } => {
                if prev_state == PrevState::Running {
                    self.schedule(at, cpu);
                }
                *self.cpu(cpu) = Cpu { running: next, ..Cpu::default() };
            }
            _ => {}
        }
        self.writer.record(at, cpu, event);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.writer.task(task, info);
    }
    fn context(&mut self, cpu: CpuId, current: Option<TaskId>) {
        self.writer.context(cpu, current);
    }
    fn listens(&self) -> bool {
        self.writer.listens()
    }
    fn wants_samples(&self) -> bool {
        self.writer.wants_samples()
    }
    fn distributed(&mut self, at: Instant, cpu: CpuId, call: &Distributed) {
        self.writer.distributed(at, cpu, call);
    }
    fn lock(&mut self, at: Instant, cpu: CpuId, event: &LockEvent) {
        self.writer.lock(at, cpu, event);
    }
    fn timer(&mut self, at: Instant, cpu: CpuId, task: TaskId, due: Instant) {
        self.writer.timer(at, cpu, task, due);
    }
    fn verdict(&mut self, at: Instant, cpu: CpuId, verdict: &Verdict) {
        self.writer.verdict(at, cpu, verdict);
    }
    fn wants_verdicts(&self) -> bool {
        self.writer.wants_verdicts()
    }
}

impl TraceWriter for ScheduleAccounts<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.finish()
    }
}
