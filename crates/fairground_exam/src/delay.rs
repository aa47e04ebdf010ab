//! The worst delay of a task, measured from the records of a run. It shares nothing with what `explain` measures.
//!
//! A task is delayed while it could go on and does not: it is runnable and off its CPU, it waits for a lock, its CPU is
//! taken from it by a device or the host, or its timer is late.

use fairground::run::{self, RunOptions};
use fairground_model::event::Section;
use fairground_model::{LockAct, LockEvent, PrevState, Sink, TaskInfo, TraceEvent};
use fairground_scenario::{Control, Error, Overrides, Scenario};
use fairground_stdx::{CpuId, Instant, MarkerId, Ns, TaskId};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads a scenario from a text.
pub fn read(name: &str, text: &str) -> Result<Scenario, Error> {
    read_with(name, text, &Overrides::default())
}

fn read_with(name: &str, text: &str, overrides: &Overrides) -> Result<Scenario, Error> {
    Scenario::parse(name, text, Path::new(""), overrides)
}

/// What of a task is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Each delay by itself. `sleep` is how long each of its sleeps is meant to last, if they are all equal.
    Delays {
        /// That length.
        sleep: Option<Ns>,
    },
    /// By how much more than this time each of its rounds begins after the one before. A round begins when the task runs for
    /// the first time after it slept.
    Rounds {
        /// That time.
        every: Ns,
    },
    /// The time from the arrival of a request to its answer, whoever serves it.
    Requests,
}

/// The worst delay of the task of this name in a run of this scenario.
pub fn worst_delay(text: &str, task: &str, measure: Measure) -> Result<Ns, Error> {
    worst_delay_with(text, (&Overrides::default(), None), task, measure)
}

/// The same with changes, and with so many CPUs.
pub(crate) fn worst_delay_with(
    text: &str,
    (overrides, cpus): (&Overrides, Option<usize>),
    task: &str,
    measure: Measure,
) -> Result<Ns, Error> {
    let mut scenario = read_with("planted", text, overrides)?;
    if let Some(cpus) = cpus {
        scenario = scenario.with_machine(scenario.machine.with_cpus(cpus));
    }
    let set = scenario.tasks();
    let markers = set.markers.iter_enumerated().filter(|row| row.1.name == "request_latency").map(|row| row.0);
    let mut sink =
        Delays { name: task.to_string(), measure, markers: markers.collect(), tasks: BTreeMap::new(), worst: Ns::ZERO };
    let outcome = run::run(&scenario, &RunOptions::default(), &mut sink, Control::none())?;
    sink.end(outcome.end());
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
    /// Whether it has not run since it slept.
    rested: bool,
    /// When its present round began.
    round: Option<Instant>,
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
    measure: Measure,
    markers: Vec<MarkerId>,
    tasks: BTreeMap<TaskId, State>,
    worst: Ns,
}

impl Delays {
    fn ended(&mut self, since: Instant, at: Instant) {
        if let Measure::Delays { .. } = self.measure {
            self.worst = self.worst.max(at.saturating_since(since));
        }
    }
    /// A round begins, or there will be no other one.
    fn round(&mut self, since: Instant, at: Instant) {
        if let Measure::Rounds { every } = self.measure {
            self.worst = self.worst.max(Ns(at.saturating_since(since).0.saturating_sub(every.0)));
        }
    }
    /// The run ends.
    fn end(&mut self, end: Instant) {
        let open: Vec<State> = self.tasks.values().copied().collect();
        for state in open {
            if let Some(since) = state.since() {
                self.ended(since, end);
            }
            if let Some(since) = state.round {
                self.round(since, end);
            }
        }
    }
    /// A task became runnable.
    fn woken(&mut self, task: TaskId, at: Instant) {
        let Measure::Delays { sleep } = self.measure else { return };
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
                        _ => (state.asleep, state.rested) = (Some(at), true),
                    }
                }
                let Some(state) = next.and_then(|next| self.tasks.get_mut(&next)) else { return };
                state.on = Some(cpu);
                let runnable = state.runnable.take();
                let round = if std::mem::take(&mut state.rested) { state.round.replace(at) } else { None };
                if let Some(since) = round {
                    self.round(since, at);
                }
                let Some(state) = next.and_then(|next| self.tasks.get(&next)) else { return };
                if let Some(since) = runnable.filter(|_| state.waits.is_none()) {
                    self.ended(since, at);
                }
            }
            TraceEvent::KernelSection { section: Section::DeviceInterrupt | Section::Stolen, took }
                if self.tasks.values().any(|state| state.on == Some(cpu)) =>
            {
                self.ended(at, at + took);
            }
            TraceEvent::Marker { marker, value, .. } if self.measure == Measure::Requests && self.markers.contains(&marker) => {
                self.worst = self.worst.max(Ns(value));
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
