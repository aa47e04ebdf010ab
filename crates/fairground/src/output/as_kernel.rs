//! Files tell a simulated run as a kernel would. Two of its records differ from ours.
//!
//! - **Accounts.** A kernel accounts a running task that can go on in every schedule(), some 100 ns after what asked for it. Our clock
//!   may stand in between. Then there is nothing to account, and a file would not show that the task was picked again, nor
//!   whose account stands before a switch. So an account of 0 ns stands there, without a virtual time: it did not change.
//! - **Stoppers.** While its stopper runs, a CPU of ours has no task.

use super::stopper::Stoppers;
use fairground_formats::TraceWriter;
use fairground_model::{Distributed, LockEvent, Sink, TaskInfo, TraceEvent, Verdict, WakeContext};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};
use std::io;

/// Passes a run on to a writer or another sink, as a kernel would have recorded it.
pub struct AsKernel<S: Sink + ?Sized> {
    writer: Box<S>,
    stoppers: Stoppers,
}

impl<S: Sink + ?Sized> AsKernel<S> {
    /// To this sink.
    pub fn new(writer: Box<S>) -> AsKernel<S> {
        AsKernel { writer, stoppers: Stoppers::default() }
    }
    /// The sink again.
    pub fn into_inner(self) -> Box<S> {
        self.writer
    }
}

impl<S: Sink + ?Sized> Sink for AsKernel<S> {
    fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.writer.record(at, cpu, &TraceEvent::SchedStatRuntime { task, runtime: Ns::ZERO, vruntime: None });
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let stopped = self.stoppers.tell(cpu, event);
        if let Some((stopper, info)) = &stopped.begins {
            self.writer.task(*stopper, info);
        }
        if let Some(before) = stopped.before {
            self.writer.record(at, cpu, &before);
        }
        self.writer.record(at, cpu, &stopped.event);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.stoppers.see(task);
        self.writer.task(task, info);
    }
    fn context(&mut self, cpu: CpuId, current: Option<TaskId>) {
        self.writer.context(cpu, current);
    }
    fn interrupted(&mut self, context: WakeContext) {
        self.writer.interrupted(context);
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

impl TraceWriter for AsKernel<dyn TraceWriter> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.writer.finish()
    }
}
