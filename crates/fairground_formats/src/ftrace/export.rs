//! Events as trace text, with times in ns as `trace-cmd report -t` and `perf script --ns` print them.

use super::QUEUE_ACT;
use crate::export::{Output, Shown, TaskTable, TraceWriter, WriterOptions, sentence};
use fairground_model::{Sink, TaskInfo, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Id, Instant, TaskId};
use std::io::{self, Write};

const HEADER: &str = "# tracer: nop\n#\n\
    #                                _-----=> irqs-off\n\
    #                               / _----=> need-resched\n\
    #                              | / _---=> hardirq/softirq\n\
    #                              || / _--=> preempt-depth\n\
    #                              ||| / _-=> migrate-disable\n\
    #           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
    #              | |         |   |||||     |         |\n";

/// Writes trace text.
pub(crate) struct FtraceWriter<'w> {
    output: Output<'w>,
    options: WriterOptions,
    tasks: TaskTable,
    /// The current task of each CPU.
    current: Vec<Option<TaskId>>,
}

impl<'w> FtraceWriter<'w> {
    pub(crate) fn new(out: Box<dyn Write + 'w>, options: &WriterOptions) -> FtraceWriter<'w> {
        let mut output = Output::new(out);
        output.write(HEADER.as_bytes());
        FtraceWriter { output, options: options.clone(), tasks: TaskTable::default(), current: Vec::new() }
    }
    /// The task in the first column and the interrupt flag. A waker stands there even if the trace
    /// began after it got its CPU.
    fn current_of(&mut self, cpu: CpuId, event: &TraceEvent) -> (Option<TaskId>, char) {
        if self.current.len() <= cpu.index() {
            self.current.resize(cpu.index() + 1, None);
        }
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => {
                self.current[cpu.index()] = next;
                (prev, '.')
            }
            TraceEvent::SchedWaking { waker, context, .. } => {
                let current = waker.or(self.current[cpu.index()]);
                match context {
                    WakeContext::Hardirq => (current, 'h'),
                    WakeContext::Softirq => (waker, 's'),
                    WakeContext::Task => (waker, '.'),
                }
            }
            _ => (self.current[cpu.index()], '.'),
        }
    }
    fn shown(&self, task: TaskId) -> String {
        let Shown { name, pid, prio } = self.tasks.get(task);
        format!("comm={name} pid={pid} prio={prio}")
    }
    fn unprioritised(&self, task: TaskId) -> String {
        let Shown { name, pid, .. } = self.tasks.get(task);
        format!("comm={name} pid={pid}")
    }
    /// One side of a switch.
    fn side(&self, side: &str, task: Option<TaskId>, cpu: CpuId) -> String {
        let idle = format!("swapper/{cpu}");
        let Shown { name, pid, prio } = match task {
            Some(task) => self.tasks.get(task),
            None => Shown { name: &idle, pid: 0, prio: 120 },
        };
        format!("{side}_comm={name} {side}_pid={pid} {side}_prio={prio}")
    }
    /// The event and its fields; nothing for events that trace text cannot hold.
    fn body(&self, cpu: CpuId, current: Option<TaskId>, event: &TraceEvent) -> Option<String> {
        let pid = current.map_or(0, |task| self.tasks.get(task).pid);
        Some(match *event {
            TraceEvent::SchedWaking { task, target_cpu, .. } => {
                format!("sched_waking: {} target_cpu={:03}", self.shown(task), target_cpu.get())
            }
            TraceEvent::SchedWakeup { task, target_cpu } => {
                format!("sched_wakeup: {} target_cpu={:03}", self.shown(task), target_cpu.get())
            }
            TraceEvent::SchedWakeupNew { task, target_cpu } => {
                format!("sched_wakeup_new: {} target_cpu={:03}", self.shown(task), target_cpu.get())
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => format!(
                "sched_switch: {} prev_state={} ==> {}",
                self.side("prev", prev, cpu),
                prev_state.letter(),
                self.side("next", next, cpu)
            ),
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                format!("sched_migrate_task: {} orig_cpu={orig_cpu} dest_cpu={dest_cpu}", self.shown(task))
            }
            TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
                let vruntime = vruntime.map_or(String::new(), |vruntime| format!(" vruntime={} [ns]", vruntime.0));
                format!("sched_stat_runtime: {} runtime={} [ns]{vruntime}", self.unprioritised(task), runtime.0)
            }
            TraceEvent::SchedProcessFork { parent, child } => {
                let parent = parent.map_or("comm=swapper pid=0".to_string(), |parent| self.unprioritised(parent));
                let child = self.tasks.get(child);
                format!("sched_process_fork: {parent} child_comm={} child_pid={}", child.name, child.pid)
            }
            TraceEvent::SchedProcessExit { task } => format!("sched_process_exit: {}", self.shown(task)),
            TraceEvent::CpuFrequency { cpu, khz } => format!("cpu_frequency: state={khz} cpu_id={cpu}"),
            TraceEvent::Decision(decision) => {
                format!("tracing_mark_write: I|{pid}|{}: {}", decision.reason.slug(), sentence(&decision, &self.tasks))
            }
            TraceEvent::KernelWarn(warn) => {
                format!("tracing_mark_write: I|{pid}|kernel-warn: {}, {}: {}", warn.slug(), warn.function(), warn.condition())
            }
            TraceEvent::Marker { task, marker, value } => {
                format!("tracing_mark_write: C|{}|{}|{value}", self.tasks.get(task).pid, self.options.marker_name(marker))
            }
            TraceEvent::QueueAct { act, cpu, clock, group, task } => {
                let group = group.map_or(String::new(), |group| format!(" group={group}"));
                let task = task.map_or(String::new(), |task| format!(" pid={}", self.tasks.get(task).pid));
                format!("{QUEUE_ACT}: cpu={:03} clock={} act={}{group}{task}", cpu.get(), clock.0, act.name())
            }
            TraceEvent::KernelSection { .. } | TraceEvent::CfsSample { .. } | TraceEvent::SeSample { .. } => return None,
        })
    }
}

impl Sink for FtraceWriter<'_> {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.tasks.set(task, info);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let (current, interrupt) = self.current_of(cpu, event);
        let Some(body) = self.body(cpu, current, event) else { return };
        let column = match current.map(|task| self.tasks.get(task)) {
            Some(Shown { name, pid, .. }) => format!("{name}-{pid}"),
            None => "<idle>-0".to_string(),
        };
        let (seconds, below) = (at.ns() / 1_000_000_000, at.ns() % 1_000_000_000);
        let line = format!("{column:>22} [{:03}] d.{interrupt}2. {seconds:5}.{below:09}: {body}\n", cpu.get());
        self.output.write(line.as_bytes());
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl TraceWriter for FtraceWriter<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
