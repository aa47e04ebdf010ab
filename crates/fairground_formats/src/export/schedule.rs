//! The account of run time that each schedule() makes.
//!
//! A kernel accounts a running task that can go on in every schedule(), some 100 ns after what asked for it. Our clock may stand in
//! between. Then there is nothing to account, and a file would not show that the task was picked again, nor whose account
//! stands before a switch. So an account of 0 ns stands there, without a virtual time: it did not change.

use crate::export::TraceWriter;
use fairground_model::{Distributed, LockEvent, Sink, TaskInfo, TraceEvent, Verdict};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};
use std::io;

/// Puts these accounts between the records that a writer gets.
pub(crate) struct ScheduleAccounts<'w>(pub(crate) Box<dyn TraceWriter + 'w>);

impl Sink for ScheduleAccounts<'_> {
    fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.0.record(at, cpu, &TraceEvent::SchedStatRuntime { task, runtime: Ns::ZERO, vruntime: None });
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.0.record(at, cpu, event);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.0.task(task, info);
    }
    fn context(&mut self, cpu: CpuId, current: Option<TaskId>) {
        self.0.context(cpu, current);
    }
    fn listens(&self) -> bool {
        self.0.listens()
    }
    fn wants_samples(&self) -> bool {
        self.0.wants_samples()
    }
    fn distributed(&mut self, at: Instant, cpu: CpuId, call: &Distributed) {
        self.0.distributed(at, cpu, call);
    }
    fn lock(&mut self, at: Instant, cpu: CpuId, event: &LockEvent) {
        self.0.lock(at, cpu, event);
    }
    fn timer(&mut self, at: Instant, cpu: CpuId, task: TaskId, due: Instant) {
        self.0.timer(at, cpu, task, due);
    }
    fn verdict(&mut self, at: Instant, cpu: CpuId, verdict: &Verdict) {
        self.0.verdict(at, cpu, verdict);
    }
    fn wants_verdicts(&self) -> bool {
        self.0.wants_verdicts()
    }
}

impl TraceWriter for ScheduleAccounts<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()
    }
}
