//! Everything downstream of a run is a sink. A sink cannot reach back: it gets records and returns nothing.

use crate::balance::Verdict;
use crate::digest::Digest;
use crate::distributed::Distributed;
use crate::event::{TraceEvent, WakeContext};
use crate::lock_event::LockEvent;
use crate::message_event::MessageEvent;
use fairground_stdx::{CpuId, Instant, TaskId};

/// What is known of a task beside its row number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TaskInfo {
    /// The command name (`comm`).
    pub name: String,
    /// The process id shown in traces.
    pub pid: u32,
    /// The kernel's priority number: 120 + nice for fair tasks.
    pub prio: i32,
}

/// The control group that a recording tells of a task: its path from the root of the hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InGroup<'p> {
    /// The task is there; since when is not told.
    Is(&'p str),
    /// It comes there at this moment.
    Comes(&'p str),
}

impl<'p> InGroup<'p> {
    /// The path.
    pub fn path(self) -> &'p str {
        match self {
            InGroup::Is(path) | InGroup::Comes(path) => path,
        }
    }
}

/// Receives a run.
pub trait Sink {
    /// What the clock of the recording shows at the instant 0, in ns. Comes before the first record; the clock of a run shows 0.
    fn epoch(&mut self, _clock_ns: u64) {}
    /// A task is introduced (or its name or priority changed). Comes before the task's first record.
    fn task(&mut self, _task: TaskId, _info: &TaskInfo) {}
    /// The control group that a task is in from the next record on, where a recording tells it, with the time and the CPU of whoever
    /// wrote that. Comes behind the task's introduction.
    fn group(&mut self, _at: Instant, _cpu: CpuId, _task: TaskId, _group: InGroup<'_>) {}
    /// The hierarchy of control groups that is wanted, where it is known which one has the cpu controller: 0 is cgroup v2, those of
    /// cgroup v1 have other numbers. A reader tells no groups of others.
    fn hierarchy(&self) -> u64 {
        0
    }
    /// One record. Times never go back.
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent);
    /// The CPU's current task (`None`: the idle task) when it wrote the record that comes next, where a recording tells.
    fn context(&mut self, _cpu: CpuId, _current: Option<TaskId>) {}
    /// Where the record that comes next was written, a wake-up, if a recording tells: an interrupt is nobody's doing.
    fn interrupted(&mut self, _context: WakeContext) {}
    /// A record that no recorder wrote: it follows from others, which could not be otherwise.
    fn inferred(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.record(at, cpu, event);
    }
    /// Whether anything is done with what it receives. One that does nothing with it need not be called.
    fn listens(&self) -> bool {
        true
    }
    /// Whether samples ([`TraceEvent::is_sample`]) are wanted too.
    fn wants_samples(&self) -> bool {
        false
    }
    /// A call that handed out quota ended. No record: it is not in the digest.
    fn distributed(&mut self, _at: Instant, _cpu: CpuId, _call: &Distributed) {}
    /// A task waits for a lock, holds or releases it. No record: it is not in the digest.
    fn lock(&mut self, _at: Instant, _cpu: CpuId, _event: &LockEvent) {}
    /// A task asks for a message of a pipe, or has one. No record: it is not in the digest.
    fn message(&mut self, _at: Instant, _event: &MessageEvent) {}
    /// The timer of a task that sleeps has rung; it was due at `due`. No record: it is not in the digest.
    fn timer(&mut self, _at: Instant, _cpu: CpuId, _task: TaskId, _due: Instant) {}
    /// schedule() accounted its running task, which can go on, and its clock had not moved since the last account. A kernel's would have,
    /// so that it writes a `sched_stat_runtime`. No record: it is not in the digest.
    fn no_runtime(&mut self, _at: Instant, _cpu: CpuId, _task: TaskId) {}
    /// What a balance came to. No record: it is not in the digest, and comes only if it is wanted.
    fn verdict(&mut self, _at: Instant, _cpu: CpuId, _verdict: &Verdict) {}
    /// Whether verdicts are wanted.
    fn wants_verdicts(&self) -> bool {
        false
    }
}

/// A sink that keeps nothing.
pub struct NullSink;

impl Sink for NullSink {
    fn record(&mut self, _at: Instant, _cpu: CpuId, _event: &TraceEvent) {}
    fn listens(&self) -> bool {
        false
    }
}

/// Passes everything to two sinks.
impl<A: Sink + ?Sized, B: Sink + ?Sized> Sink for (&mut A, &mut B) {
    fn epoch(&mut self, clock_ns: u64) {
        self.0.epoch(clock_ns);
        self.1.epoch(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.0.task(task, info);
        self.1.task(task, info);
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.0.group(at, cpu, task, group);
        self.1.group(at, cpu, task, group);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if !event.is_sample() || self.0.wants_samples() {
            self.0.record(at, cpu, event);
        }
        if !event.is_sample() || self.1.wants_samples() {
            self.1.record(at, cpu, event);
        }
    }
    fn listens(&self) -> bool {
        self.0.listens() || self.1.listens()
    }
    fn wants_samples(&self) -> bool {
        self.0.wants_samples() || self.1.wants_samples()
    }
    fn distributed(&mut self, at: Instant, cpu: CpuId, call: &Distributed) {
        self.0.distributed(at, cpu, call);
        self.1.distributed(at, cpu, call);
    }
    fn lock(&mut self, at: Instant, cpu: CpuId, event: &LockEvent) {
        self.0.lock(at, cpu, event);
        self.1.lock(at, cpu, event);
    }
    fn message(&mut self, at: Instant, event: &MessageEvent) {
        self.0.message(at, event);
        self.1.message(at, event);
    }
    fn timer(&mut self, at: Instant, cpu: CpuId, task: TaskId, due: Instant) {
        self.0.timer(at, cpu, task, due);
        self.1.timer(at, cpu, task, due);
    }
    fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.0.no_runtime(at, cpu, task);
        self.1.no_runtime(at, cpu, task);
    }
    fn verdict(&mut self, at: Instant, cpu: CpuId, verdict: &Verdict) {
        self.0.verdict(at, cpu, verdict);
        self.1.verdict(at, cpu, verdict);
    }
    fn wants_verdicts(&self) -> bool {
        self.0.wants_verdicts() || self.1.wants_verdicts()
    }
}

/// Passes everything to each of a list of sinks.
impl Sink for Vec<Box<dyn Sink + '_>> {
    fn epoch(&mut self, clock_ns: u64) {
        self.iter_mut().for_each(|sink| sink.epoch(clock_ns));
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.iter_mut().for_each(|sink| sink.task(task, info));
    }
    fn group(&mut self, at: Instant, cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.iter_mut().for_each(|sink| sink.group(at, cpu, task, group));
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        for sink in self.iter_mut() {
            if !event.is_sample() || sink.wants_samples() {
                sink.record(at, cpu, event);
            }
        }
    }
    fn listens(&self) -> bool {
        self.iter().any(|sink| sink.listens())
    }
    fn wants_samples(&self) -> bool {
        self.iter().any(|sink| sink.wants_samples())
    }
    fn distributed(&mut self, at: Instant, cpu: CpuId, call: &Distributed) {
        self.iter_mut().for_each(|sink| sink.distributed(at, cpu, call));
    }
    fn lock(&mut self, at: Instant, cpu: CpuId, event: &LockEvent) {
        self.iter_mut().for_each(|sink| sink.lock(at, cpu, event));
    }
    fn message(&mut self, at: Instant, event: &MessageEvent) {
        self.iter_mut().for_each(|sink| sink.message(at, event));
    }
    fn timer(&mut self, at: Instant, cpu: CpuId, task: TaskId, due: Instant) {
        self.iter_mut().for_each(|sink| sink.timer(at, cpu, task, due));
    }
    fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.iter_mut().for_each(|sink| sink.no_runtime(at, cpu, task));
    }
    fn verdict(&mut self, at: Instant, cpu: CpuId, verdict: &Verdict) {
        self.iter_mut().for_each(|sink| sink.verdict(at, cpu, verdict));
    }
    fn wants_verdicts(&self) -> bool {
        self.iter().any(|sink| sink.wants_verdicts())
    }
}

/// The one way records leave the core: into the digest, then to whoever watches.
pub struct Recorder<'a> {
    digest: &'a mut Digest,
    sink: &'a mut dyn Sink,
    samples: bool,
    verdicts: bool,
    decisions: bool,
}

impl<'a> Recorder<'a> {
    /// A recorder that digests every record and passes it on to `sink`.
    pub fn new(digest: &'a mut Digest, sink: &'a mut dyn Sink) -> Recorder<'a> {
        let (samples, verdicts) = (sink.wants_samples(), sink.wants_verdicts());
        Recorder { digest, sink, samples, verdicts, decisions: true }
    }
    /// From now on our core does not tell why: another one decides.
    pub fn without_decisions(&mut self) {
        self.decisions = false;
    }
    /// Whether our core tells why.
    #[inline]
    pub fn takes_decisions(&self) -> bool {
        self.decisions
    }
    /// Takes one record.
    #[inline]
    pub fn record(&mut self, at: Instant, cpu: CpuId, event: TraceEvent) {
        self.digest.record(at, cpu, &event);
        self.sink.record(at, cpu, &event);
    }
    /// Introduces a task to the sink.
    pub fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.sink.task(task, info);
    }
    /// Whether samples are wanted; they cost nothing where they are not.
    #[inline]
    pub fn wants_samples(&self) -> bool {
        self.samples
    }
    /// Whether verdicts are wanted.
    #[inline]
    pub fn wants_verdicts(&self) -> bool {
        self.verdicts
    }
    /// Passes on what a call did that handed out quota.
    pub fn distributed(&mut self, at: Instant, cpu: CpuId, call: &Distributed) {
        self.sink.distributed(at, cpu, call);
    }
    /// Passes on what a task does with a lock.
    pub fn lock(&mut self, at: Instant, cpu: CpuId, event: &LockEvent) {
        self.sink.lock(at, cpu, event);
    }
    /// Passes on what a task does with a message.
    pub fn message(&mut self, at: Instant, event: &MessageEvent) {
        self.sink.message(at, event);
    }
    /// Passes on that the timer of a task has rung.
    pub fn timer(&mut self, at: Instant, cpu: CpuId, task: TaskId, due: Instant) {
        self.sink.timer(at, cpu, task, due);
    }
    /// Passes on that schedule() had no run time to account.
    pub fn no_runtime(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        self.sink.no_runtime(at, cpu, task);
    }
    /// Passes on what a balance came to, if that is wanted.
    #[inline]
    pub fn verdict(&mut self, at: Instant, cpu: CpuId, verdict: impl FnOnce() -> Verdict) {
        if self.verdicts {
            self.sink.verdict(at, cpu, &verdict());
        }
    }
}
