//! A schedule as a text, so that a test shows what happens.
//!
//! ```text
//!       0         10
//! fair  00000.......00000     one column per unit of time: the CPU that the task has in the middle of it,
//! fifo       0000000          a point while it waits for a CPU, and nothing while it sleeps
//! ```

use super::profile;
use super::quota::simulation;
use expect_test::Expect;
use fairground_model::{PrevState, Sink, TaskSet, TraceEvent};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// Columns from one number of the head to the next.
const STEP: usize = 10;

/// Holds the schedule of `tasks` on `cpus` free CPUs at HZ 1000 against a picture: the same one in every kernel.
pub(crate) fn check(kernels: &[&str], tasks: &TaskSet, cpus: usize, unit: Ns, columns: usize, expect: &Expect) {
    let duration_ms = unit.0 * columns as u64 / 1_000_000;
    let picture =
        |name: &str| picture(tasks, &mut simulation(tasks.clone(), cpus, 1000, profile(name), duration_ms), unit, columns);
    expect.assert_eq(&picture(kernels[0]));
    for name in kernels {
        assert_eq!(picture(name), picture(kernels[0]), "{name} differs from {}", kernels[0]);
    }
}

fn picture(tasks: &TaskSet, simulation: &mut Simulation, unit: Ns, columns: usize) -> String {
    let mut rows = Rows { unit, columns, states: vec![' '; tasks.tasks.len()], texts: vec![String::new(); tasks.tasks.len()] };
    while simulation.run_until(Instant::MAX, &mut rows).unwrap() == Flow::More {}
    rows.up_to(columns);
    let widest = tasks.tasks.iter().map(|task| task.name.len()).max().unwrap_or(0);
    let head: String = (0..columns).step_by(STEP).map(|column| format!("{column:<STEP$}")).collect();
    let named = tasks.tasks.iter().zip(&rows.texts).map(|(task, text)| (task.name.as_str(), text.as_str()));
    let lines = [("", head.as_str())].into_iter().chain(named);
    lines.map(|(name, text)| format!("{name:<widest$}  {text}").trim_end().to_string() + "\n").collect()
}

/// What each task does, written down column by column.
struct Rows {
    unit: Ns,
    columns: usize,
    states: Vec<char>,
    texts: Vec<String>,
}

impl Rows {
    /// Writes the columns before this one.
    fn up_to(&mut self, column: usize) {
        for (text, state) in self.texts.iter_mut().zip(&self.states) {
            let missing = column.min(self.columns).saturating_sub(text.len());
            text.extend(std::iter::repeat_n(*state, missing));
        }
    }
    fn set(&mut self, task: TaskId, state: char) {
        self.states[task.get() as usize] = state;
    }
}

impl Sink for Rows {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        // What is so at the middle of a column counts for it.
        self.up_to(((at.ns() + self.unit.0 / 2) / self.unit.0) as usize);
        match *event {
            TraceEvent::SchedWakeup { task, .. } | TraceEvent::SchedWakeupNew { task, .. } => self.set(task, '.'),
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                let left = if prev_state == PrevState::Running { '.' } else { ' ' };
                prev.into_iter().for_each(|task| self.set(task, left));
                let digit = char::from_digit(cpu.get(), 36).unwrap();
                next.into_iter().for_each(|task| self.set(task, digit));
            }
            _ => {}
        }
    }
}
