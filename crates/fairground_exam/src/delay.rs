//! The worst delay of a task, measured from the records of a run. It shares nothing with what `explain` measures.
//!
//! A task is delayed while it could go on and does not: it is runnable and off its CPU, it waits for a lock, its CPU is
//! taken from it by a device or the host, or its timer is late.

use fairground::run::{self, RunOptions};
use fairground_model::event::Section;
use fairground_model::{LockAct, LockEvent, PrevState, Sink, TaskInfo, TraceEvent};
use fairground_scenario::{Control, Error, Overrides, Scenario};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a scenario from a text.
pub fn read(name: &str, text: &str) -> Result<Scenario, Error> {
    read_with(name, text, &Overrides::default())
}

fn read_with(name: &str, text: &str, overrides: &Overrides) -> Result<Scenario, Error> {
    Scenario::parse(name, text, Path::new(""), overrides)
}

/// The worst delay of the task of this name in a run of this scenario. `sleep` is how long each of its sleeps is meant to
/// last, if they are all equal.
pub fn worst_delay(text: &str, task: &str, sleep: Option<Ns>) -> Result<Ns, Error> {
    worst_delay_with(text, &Overrides::default(), task, sleep)
}

/// The same with changes.
pub(crate) fn worst_delay_with(text: &str, overrides: &Overrides, task: &str, sleep: Option<Ns>) -> Result<Ns, Error> {
    let scenario = read_with("planted", text, overrides)?;
    let mut sink = Delays { name: task.to_string(), sleep, tasks: BTreeMap::new(), worst: Ns::ZERO };
    let outcome = run::run(&scenario, &RunOptions::default(), &mut sink, Control::none())?;
    let end = outcome.end();
    let open: Vec<Instant> = sink.tasks.values().filter_map(|state| state.since()).collect();
    open.into_iter().for_each(|since| sink.ended(since, end));
    Ok(sink.worst)
}

/// What a task of the name is about.
#[derive(Clone, Copy, Default)]
struct State {
    /// Since when it has been runnable and off its CPU.
    runnable: Option<Instant>,
    /// Since when it has waited for a lock.
    waits: Option<Instant>,
    /// When its sleep began.
    asleep: Option<Instant>,
    /// The CPU on which it runs.
    on: Option<CpuId>,
}

impl State {
    /// Since when it has been delayed.
    fn since(&self) -> Option<Instant> {
        self.waits.or(self.runnable)
    }
}

/// The sink.
struct Delays {
    name: String,
    sleep: Option<Ns>,
    tasks: BTreeMap<TaskId, State>,
    worst: Ns,
}

impl Delays {
    fn ended(&mut self, since: Instant, at: Instant) {
        self.worst = self.worst.max(at.saturating_since(since));
    }
    /// A task became runnable.
    fn woken(&mut self, task: TaskId, at: Instant) {
        let sleep = self.sleep;
        let Some(state) = self.tasks.get_mut(&task) else { return };
        if state.on.is_some() || state.runnable.is_some() {
            return;
        }
        // What the timer was late is part of the delay.
        let due = state.asleep.take().zip(sleep).map(|(began, length)| began + length);
        state.runnable = Some(due.map_or(at, |due| due.min(at)));
    }
}

impl Sink for Delays {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        if info.name == self.name {
            self.tasks.entry(task).or_default();
        }
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, .. } | TraceEvent::SchedWakeupNew { task, .. } => self.woken(task, at),
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(state) = prev.and_then(|prev| self.tasks.get_mut(&prev)) {
                    state.on = None;
                    match prev_state {
                        PrevState::Running => state.runnable = Some(at),
                        _ => state.asleep = Some(at),
                    }
                }
                let Some(state) = next.and_then(|next| self.tasks.get_mut(&next)) else { return };
                state.on = Some(cpu);
                let runnable = state.runnable.take();
                if let Some(since) = runnable.filter(|_| state.waits.is_none()) {
                    self.ended(since, at);
                }
            }
            TraceEvent::KernelSection { section: Section::DeviceInterrupt | Section::Stolen, took }
                if self.tasks.values().any(|state| state.on == Some(cpu)) =>
            {
                self.ended(at, at + took);
            }
            _ => {}
        }
    }
    fn lock(&mut self, at: Instant, _cpu: CpuId, event: &LockEvent) {
        let Some(state) = self.tasks.get_mut(&event.task) else { return };
        match event.act {
            LockAct::Waits => _ = state.waits.get_or_insert(at),
            LockAct::Holds => {
                if let Some(since) = state.waits.take() {
                    self.ended(since, at);
                }
            }
            LockAct::Releases => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}
