//! The named numbers of parts of programs: how much of the tasks' CPU time each took.

use fairground_metrics::{Better, Metric, MetricRow, Unit};
use fairground_model::{Instr, LockKind, TaskSet};
use fairground_sim::{Simulation, SliceExtensions};
use fairground_stdx::Ns;

/// The part of those that name none.
pub(crate) const OTHER: &str = "other";

/// What came of the parts of a run.
#[derive(Clone, Debug, Default)]
pub struct PartOutcome {
    /// Each part with its CPU time in the window: those that steps name, `spin:LOCK` of each spin lock, and `other`.
    pub rows: Vec<PartRow>,
    /// Extensions of slices; `None` if no program asks for any.
    pub extensions: Option<SliceExtensions>,
}

/// A part, its CPU time, and that of all parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartRow {
    /// Its name.
    pub name: String,
    /// Its CPU time.
    pub time: Ns,
    /// That of all tasks.
    pub all: Ns,
}

impl PartRow {
    /// Its share of all, in thousandths of a percent, rounded down.
    pub fn share(&self) -> u64 {
        (u128::from(self.time.0) * 100_000).checked_div(u128::from(self.all.0)).unwrap_or(0) as u64
    }
}

impl PartOutcome {
    /// What a run of `tasks` has shown so far.
    pub fn of(simulation: &Simulation, tasks: &TaskSet) -> PartOutcome {
        let times = simulation.part_times();
        let all = times.total();
        let parts = tasks.parts.iter().zip(times.parts.iter()).map(|(name, time)| (name.clone(), *time));
        let spins = tasks.locks.iter().zip(times.spins.iter()).filter(|row| matches!(row.0.kind, LockKind::Spin(_)));
        let spins = spins.map(|(lock, time)| (spin_part(&lock.name), *time));
        let other = [(OTHER.to_string(), times.other)];
        let rows = parts.chain(spins).chain(other).map(|(name, time)| PartRow { name, time, all });
        let rows = if times.wanted { rows.collect() } else { Vec::new() };
        PartOutcome { rows, extensions: simulation.slice_extensions() }
    }
    /// That of a run which has not begun.
    pub(crate) fn nothing(tasks: &TaskSet) -> PartOutcome {
        let spins: Vec<String> =
            tasks.locks.iter().filter(|lock| matches!(lock.kind, LockKind::Spin(_))).map(|lock| spin_part(&lock.name)).collect();
        let named = tasks.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::Part { .. }));
        let wanted = named || !spins.is_empty();
        let names = tasks.parts.iter().cloned().chain(spins).chain([OTHER.to_string()]).filter(|_| wanted);
        let asks = |instr: &Instr| matches!(instr, Instr::SliceExt { .. });
        let extensions = tasks.programs.iter().flat_map(|program| &program.code).any(asks).then(SliceExtensions::default);
        PartOutcome { rows: names.map(|name| PartRow { name, time: Ns::ZERO, all: Ns::ZERO }).collect(), extensions }
    }
}

fn spin_part(lock: &str) -> String {
    format!("spin:{lock}")
}

/// The metrics of each part.
pub(super) static PART_METRICS: [MetricRow<PartRow>; 2] = [
    MetricRow::new(
        "cpu_ms",
        Unit::Ms,
        Better::Neither,
        "CPU time of the tasks in this part, in the window if there is one",
        |row| row.time.0,
    ),
    MetricRow::new("share_pct", Unit::Percent, Better::Neither, "That in percent of the CPU time of all tasks", PartRow::share),
];

/// The metrics of extensions of slices.
pub(super) static EXTENSION_METRICS: [MetricRow<SliceExtensions>; 4] = {
    use Better::{Lower, Neither};
    use Unit::Count;
    [
        MetricRow::new("granted", Count, Neither, "How often a task could go on though a reschedule was due", |row| row.granted),
        MetricRow::new("yielded", Count, Neither, "How often it gave its CPU away in time", |row| row.yielded),
        MetricRow::new("expired", Count, Lower, "How often the timer ended the extension", |row| row.expired),
        MetricRow::new("aborted", Count, Lower, "How often a system call ended it", |row| row.aborted),
    ]
};

/// The metrics of parts; none if no program has parts and nobody spins.
pub(super) fn part_metrics(outcome: &PartOutcome) -> Vec<Metric> {
    let of_row =
        |row: &PartRow| PART_METRICS.iter().map(|metric| metric.of(&format!("parts.{}.", row.name), row)).collect::<Vec<_>>();
    let extensions =
        outcome.extensions.iter().flat_map(|row| EXTENSION_METRICS.iter().map(|metric| metric.of("slice_extensions.", row)));
    outcome.rows.iter().flat_map(of_row).chain(extensions).collect()
}
