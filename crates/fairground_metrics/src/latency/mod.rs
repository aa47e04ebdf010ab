//! The statistics of every run: how long tasks wait and run, what CPUs do, why decisions fell.
//!
//! [`RunStats`] lies on the hot path: a record costs a few table updates. Once each task and CPU was seen, memory grows only
//! with classes of latency that come for the first time, which are bounded in number.
//!
//! * **Wake-up latency**: from `sched_waking` (or the first queueing of a new task) to the switch to
//!   the task.
//! * **Scheduling delay**: any time in which a task could run and did not, after a wake-up or a preemption.
//! * **Run time**: from the switch to a task to the switch away from it, kernel sections included.
//! * **Busy**: a CPU's time with a task on it; **kernel** is the part of the CPU's time that kernel
//!   sections took, whether a task or the idle task was current.
//! * **Voluntary** switches leave a task asleep or dead, **involuntary** ones leave it runnable.

mod cpu;
mod report;
mod task;

pub use cpu::{CpuReport, SectionTime};
pub use report::{RUN_METRICS, ReasonCount, RunReport, WarnReport};
pub use task::{TaskReport, Wait, Waits};

use crate::marker::MarkerStats;
use crate::window::Window;
use cpu::CpuRow;
use fairground_model::{KernelWarn, MarkerSpec, PrevState, Reason, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, MarkerId, TaskId};
use task::TaskRow;

/// Collects the statistics of a run.
#[derive(Clone, Debug)]
pub struct RunStats {
    start: Instant,
    tasks: Vec<TaskRow>,
    cpus: Vec<CpuRow>,
    reasons: [u64; Reason::ALL.len()],
    warns: Vec<WarnReport>,
    markers: MarkerStats,
    /// Measurements of the programs count in this part of the run only.
    window: Window,
    switches: u64,
    wakeups: u64,
    migrations: u64,
    mismatched_switches: u64,
}

impl RunStats {
    /// Statistics of a run that begins at `start` on `nr_cpus` CPUs. More CPUs are accepted as they
    /// are seen (a recorded trace may not tell their number beforehand).
    pub fn new(start: Instant, nr_cpus: usize) -> RunStats {
        RunStats {
            start,
            tasks: Vec::new(),
            cpus: vec![CpuRow::new(start); nr_cpus],
            reasons: [0; Reason::ALL.len()],
            warns: Vec::new(),
            markers: MarkerStats::default(),
            window: Window::ALL,
            switches: 0,
            wakeups: 0,
            migrations: 0,
            mismatched_switches: 0,
        }
    }
    /// The same for a run whose programs make these measurements.
    pub fn with_markers(mut self, markers: &IndexVec<MarkerId, MarkerSpec>) -> RunStats {
        self.markers = MarkerStats::with_markers(markers);
        self
    }
    /// The same, but measurements of the programs count in a part of the run only.
    pub fn measured_in(mut self, window: Option<(Instant, Instant)>) -> RunStats {
        self.window = window.map_or(Window::ALL, |(start, end)| Window { start, end });
        self
    }
    /// The waits of each task so far, by row.
    pub fn waits(&self) -> impl Iterator<Item = Waits> {
        self.tasks.iter().enumerate().map(|(index, row)| row.waits(TaskId::from_index(index)))
    }
    /// The report of a run that ended at `end`.
    pub fn finish(mut self, end: Instant) -> RunReport {
        self.tasks.iter_mut().for_each(|task| task.run_ends(end));
        self.cpus.iter_mut().for_each(|cpu| cpu.account(end));
        RunReport::new(self, end)
    }

    #[inline]
    fn task_row(&mut self, task: TaskId) -> &mut TaskRow {
        if task.index() >= self.tasks.len() {
            self.grow_tasks(task);
        }
        &mut self.tasks[task.index()]
    }
    #[cold]
    fn grow_tasks(&mut self, task: TaskId) {
        self.tasks.resize_with(task.index() + 1, TaskRow::default);
    }
    #[inline]
    fn cpu_row(&mut self, cpu: CpuId) -> &mut CpuRow {
        if cpu.index() >= self.cpus.len() {
            self.grow_cpus(cpu);
        }
        &mut self.cpus[cpu.index()]
    }
    #[cold]
    fn grow_cpus(&mut self, cpu: CpuId) {
        self.cpus.resize(cpu.index() + 1, CpuRow::new(self.start));
    }
    /// The switch away from `current` was lost: nobody knows until when it ran.
    #[cold]
    fn mismatch(&mut self, current: Option<TaskId>) {
        self.mismatched_switches += 1;
        if let Some(current) = current {
            self.task_row(current).is_lost();
        }
    }
    /// What is recorded neither at every tick nor for every message. Apart, so that what is needs no registers saved for this.
    #[inline(never)]
    fn record_rarer(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => self.switch(at, cpu, prev, prev_state, next),
            TraceEvent::SchedStatRuntime { task, runtime, .. } => self.task_row(task).exec_ns += runtime.0,
            TraceEvent::KernelSection { section, took } => self.cpu_row(cpu).section(section, took),
            TraceEvent::SchedWaking { task, .. } => self.task_row(task).wakes(at),
            TraceEvent::SchedWakeup { task, .. } => {
                self.wakeups += 1;
                self.task_row(task).is_queued(at);
            }
            TraceEvent::SchedWakeupNew { task, .. } => {
                self.wakeups += 1;
                self.task_row(task).wakes(at);
            }
            TraceEvent::SchedMigrateTask { task, .. } => {
                self.migrations += 1;
                self.task_row(task).migrations += 1;
            }
            TraceEvent::KernelWarn(warn) => self.warn(at, cpu, warn),
            TraceEvent::Marker { .. }
            | TraceEvent::Decision(_)
            | TraceEvent::SchedProcessFork { .. }
            | TraceEvent::SchedProcessExit { .. }
            | TraceEvent::CpuFrequency { .. }
            | TraceEvent::CfsSample { .. }
            | TraceEvent::SeSample { .. }
            | TraceEvent::QueueAct { .. } => {}
        }
    }
    fn warn(&mut self, at: Instant, cpu: CpuId, warn: KernelWarn) {
        match self.warns.iter_mut().find(|row| row.warn == warn) {
            Some(row) => row.count += 1,
            None => self.warns.push(WarnReport { warn, at, cpu, count: 1 }),
        }
    }
    fn switch(&mut self, at: Instant, cpu: CpuId, prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) {
        self.switches += 1;
        let current = self.cpu_row(cpu).switch(at, prev, next);
        if current != prev {
            self.mismatch(current);
        }
        if let Some(prev) = prev {
            self.task_row(prev).leaves_cpu(at, prev_state);
        }
        if let Some(next) = next {
            self.task_row(next).gets_cpu(at);
        }
    }
}

impl Sink for RunStats {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.task_row(task).info = Some(info.clone());
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Decision(decision) => self.reasons[decision.reason as usize] += 1,
            TraceEvent::SchedStatRuntime { task, runtime, .. } if task.index() < self.tasks.len() => {
                self.tasks[task.index()].exec_ns += runtime.0;
            }
            TraceEvent::Marker { task, marker, value } if self.window.holds(at) => self.markers.record(task, marker, value),
            _ => self.record_rarer(at, cpu, event),
        }
    }
}

#[cfg(test)]
mod tests;
