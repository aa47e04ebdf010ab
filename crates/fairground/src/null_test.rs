//! The null test of a replay: the recording, run again unchanged on its own machine, against itself.
//!
//! A prediction from a recording rests on it: what a replay gets wrong with nothing changed, it gets wrong with a change too.
//!
//! ```text
//! error = (replayed - recorded) / recorded          per thread name, and of all threads together
//! ```

use fairground_metrics::{Histogram, RunReport};
use fairground_report::units::format_ns;
use fairground_report::{Cell, Table, columns};
use fairground_stdx::{IndexVec, Ns, TaskId};
use std::collections::BTreeMap;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Wake-ups after which the thread came on a CPU.
    Wakeups,
    /// Time on a CPU.
    RunTime,
    /// Median of wake-up latency, to one percent.
    LatencyP50,
    /// 99th percentile of wake-up latency, to one percent.
    LatencyP99,
}

impl Figure {
    /// All of them, in the order of the table.
    pub const ALL: [Figure; 4] = [Figure::Wakeups, Figure::RunTime, Figure::LatencyP50, Figure::LatencyP99];
    /// Its name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Figure::Wakeups => "wake-ups",
            Figure::RunTime => "run time",
            Figure::LatencyP50 => "p50",
            Figure::LatencyP99 => "p99",
        }
    }
    /// The largest error with which it passes, in thousandths of the recorded value.
    pub const fn limit_permille(self) -> u64 {
        match self {
            Figure::Wakeups => 20,
            Figure::RunTime => 10,
            Figure::LatencyP50 => 100,
            Figure::LatencyP99 => 250,
        }
    }
    /// So many wake-ups are needed before it is judged: a percentile needs values on both sides of it.
    const fn fewest_wakeups(self) -> u64 {
        match self {
            Figure::Wakeups | Figure::RunTime => 1,
            Figure::LatencyP50 => 10,
            Figure::LatencyP99 => 100,
        }
    }
}

/// One figure, recorded and replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    /// In the recording; ns but for counts.
    pub recorded: u64,
    /// In the replay.
    pub replayed: u64,
}

impl Pair {
    /// The error in thousandths of the recorded value, rounded to zero; `None` where nothing was recorded.
    pub fn error_permille(self) -> Option<i64> {
        let difference = i128::from(self.replayed) - i128::from(self.recorded);
        let permille = (difference * 1000).checked_div(i128::from(self.recorded))?;
        i64::try_from(permille).ok()
    }
    /// Whether the error is at most so many thousandths of the recorded value.
    pub fn is_within(self, permille: u64) -> bool {
        u128::from(self.replayed.abs_diff(self.recorded)) * 1000 <= u128::from(self.recorded) * u128::from(permille)
    }
}

/// The threads of one name, or all threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NullRow {
    /// Their name; of all threads "all".
    pub name: String,
    /// How many they are.
    pub threads: u64,
    /// In the order of [`Figure::ALL`].
    pub pairs: [Pair; 4],
}

impl NullRow {
    /// One figure.
    pub fn pair(&self, figure: Figure) -> Pair {
        self.pairs[figure as usize]
    }
    /// Whether a figure passes; `None` where the recording has too few wake-ups to say.
    pub fn passes(&self, figure: Figure) -> Option<bool> {
        let is_enough = self.pair(Figure::Wakeups).recorded >= figure.fewest_wakeups() || figure == Figure::RunTime;
        is_enough.then(|| self.pair(figure).is_within(figure.limit_permille()))
    }
    /// The figures that fail.
    pub fn failures(&self) -> impl Iterator<Item = Figure> {
        Figure::ALL.into_iter().filter(|figure| self.passes(*figure) == Some(false))
    }
}

/// A replay of a recording in its own situation, held against the recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NullTest {
    /// By name, those with most recorded run time first.
    pub rows: Vec<NullRow>,
    /// All threads together.
    pub all: NullRow,
}

/// What is added up for a name.
#[derive(Clone, Default)]
struct Sum {
    threads: u64,
    run_ns: [u64; 2],
    latency: [Histogram; 2],
}

impl Sum {
    fn add(&mut self, side: usize, runtime: Ns, latency: &Histogram) {
        self.run_ns[side] += runtime.0;
        self.latency[side].merge(latency);
    }
    fn row(&self, name: &str) -> NullRow {
        let pair = |of: &dyn Fn(usize) -> u64| Pair { recorded: of(0), replayed: of(1) };
        let pairs = [
            pair(&|side| self.latency[side].len()),
            pair(&|side| self.run_ns[side]),
            pair(&|side| self.latency[side].quantile(500)),
            pair(&|side| self.latency[side].quantile(990)),
        ];
        NullRow { name: name.to_string(), threads: self.threads, pairs }
    }
}

impl NullTest {
    /// Holds a replay against its recording; `task_of` has the replayed task of each recorded one.
    pub fn new(recorded: &RunReport, replayed: &RunReport, task_of: &IndexVec<TaskId, Option<TaskId>>) -> NullTest {
        let ours: BTreeMap<TaskId, usize> = replayed.tasks.iter().enumerate().map(|(row, task)| (task.task, row)).collect();
        let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
        let mut all = Sum::default();
        for theirs in &recorded.tasks {
            let Some(task) = task_of.get(theirs.task).copied().flatten() else { continue };
            let sum = sums.entry(&theirs.info.name).or_default();
            for sum in [sum, &mut all] {
                sum.threads += 1;
                sum.add(0, theirs.runtime, &theirs.latency);
                if let Some(row) = ours.get(&task) {
                    sum.add(1, replayed.tasks[*row].runtime, &replayed.tasks[*row].latency);
                }
            }
        }
        let mut rows: Vec<NullRow> = sums.iter().map(|(name, sum)| sum.row(name)).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.pair(Figure::RunTime).recorded));
        NullTest { rows, all: all.row("all") }
    }
    /// The threads of a name.
    pub fn of(&self, name: &str) -> Option<&NullRow> {
        self.rows.iter().find(|row| row.name == name)
    }
    /// The rows that matter: all of at least a hundredth of the run time or of the wake-ups, and the sum.
    pub fn main_rows(&self) -> impl Iterator<Item = &NullRow> {
        let part = |row: &NullRow, figure| row.pair(figure).recorded * 100 >= self.all.pair(figure).recorded;
        let rows = self.rows.iter().filter(move |row| part(row, Figure::RunTime) || part(row, Figure::Wakeups));
        rows.chain([&self.all])
    }
    /// The table, of all rows or of those that matter.
    pub fn table(&self, is_full: bool) -> Table {
        let columns = columns![
            left "threads" "name", right "count", right "wake-ups" "wakeups", right "replayed" "wakeups_replayed", right "error" "wakeups_error_permille",
            right "run time" "run_ns", right "replayed" "run_ns_replayed", right "error" "run_error_permille",
            right "p50" "p50_ns", right "replayed" "p50_ns_replayed", right "error" "p50_error_permille",
            right "p99" "p99_ns", right "replayed" "p99_ns_replayed", right "error" "p99_error_permille",
            left "verdict",
        ];
        let mut table =
            Table::new("null_test", "Null test: the recording, and its replay on the machine and kernel given", columns);
        let everything = || self.rows.iter().chain([&self.all]);
        let shown: Vec<&NullRow> = if is_full { everything().collect() } else { self.main_rows().collect() };
        for row in &shown {
            let mut cells = vec![row.name.clone().into(), Cell::count(row.threads)];
            for figure in Figure::ALL {
                let pair = row.pair(figure);
                let value = |value: u64| {
                    if figure == Figure::Wakeups { Cell::count(value) } else { Cell::new(format_ns(Ns(value)), value) }
                };
                cells.extend([
                    value(pair.recorded),
                    value(pair.replayed),
                    pair.error_permille().map_or_else(Cell::none, percent),
                ]);
            }
            cells.push(verdict(row).into());
            table.push(cells);
        }
        let left_out = self.rows.len() + 1 - shown.len();
        if left_out > 0 {
            table.note(format!("{left_out} more names, each with less than 1 % of run time and wake-ups: --full"));
        }
        table.note("limits: wake-ups 2 %, run time 1 %, p50 of wake-up latency 10 %, p99 25 %".to_string());
        table
    }
}

fn verdict(row: &NullRow) -> String {
    let failures: Vec<&str> = row.failures().map(Figure::name).collect();
    match failures.is_empty() {
        true => "passes".to_string(),
        false => format!("fails: {}", failures.join(", ")),
    }
}

/// Thousandths with sign as percent.
fn percent(permille: i64) -> Cell {
    let sign = if permille < 0 { "-" } else { "+" };
    Cell::new(format!("{sign}{}.{} %", permille.unsigned_abs() / 10, permille.unsigned_abs() % 10), permille)
}
