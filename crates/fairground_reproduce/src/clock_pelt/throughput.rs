//! What load tracking costs: `perf bench sched pipe` and hackbench on the board, in the root group and one and two groups
//! deep, before and after the series.
//!
//! Before it each update of an average multiplies by frequency and capacity, after it each update of a run queue's clock
//! does (`pelt_scale`). Nothing else differs at the highest frequency.

use super::{MAINLINE, PATCHED, Parts};
use crate::published::{Published, decimal};
use crate::runs::{refused, run_all, run_setup};
use fairground_machine::{CostModel, Machine};
use fairground_metrics::Decimal;
use fairground_model::{Op, Sink, TaskGroupSpec, TaskSet, TraceEvent};
use fairground_report::{Band, Calibration, Claim, Kind, Quantity, ReproductionRow, Simulated};
use fairground_scenario::{Control, Error};
use fairground_sched::Profile;
use fairground_sim::Setup;
use fairground_stdx::{CpuId, Instant, MarkerId, Ns};
use fairground_workload::{Args, build};
use toml_edit::{Item, Table};

const MACHINE: &str = "hikey";
/// How late ticks come at most: what makes runs differ.
const JITTER: Ns = Ns::from_us(10);
/// No run takes that long.
const LONGEST: Ns = Ns::from_secs(60);
/// The groups in which the benchmarks run, by their depth.
const LEVELS: [&str; 3] = ["root", "level1", "level2"];
const SIDES: [(&str, &str); 2] = [("baseline", MAINLINE), ("patched", PATCHED)];
/// Within so many percent of the published one the baseline of the pipe must lie.
const PIPE_PERCENT: u64 = 2;
/// Between how many percent the time of hackbench must change.
const HACKBENCH_CHANGE: (i64, i64) = (-12, -1);
/// No change of the pipe is as large, percent.
const PIPE_CHANGE_MOST: u64 = 10;

/// A benchmark of the published tables.
struct Bench {
    /// The name of its table.
    id: &'static str,
    unit: &'static str,
    workload: &'static str,
    args: &'static [(&'static str, &'static str)],
    /// How many runs each case has in the full form, and in the quick one.
    seeds: [u64; 2],
    /// The marker of the time that it takes, ns.
    time: &'static str,
    /// What is measured, in thousandths of the unit, of a time in ns.
    measure: fn(u64) -> u64,
}

/// Round trips of a run of the pipe. The published one makes ten times as many, at the same rate.
const ROUND_TRIPS: u64 = 100_000;

const BENCHES: [Bench; 2] = [
    Bench {
        id: "perf_bench_sched_pipe",
        unit: "ops/s",
        workload: "sched_pipe",
        args: &[("loop", "100000")],
        // As many as in the mail; they hardly differ.
        seeds: [16, 2],
        time: "total",
        measure: |ns| (u128::from(ROUND_TRIPS) * 1_000_000_000_000 / u128::from(ns.max(1))) as u64,
    },
    Bench {
        id: "hackbench",
        unit: "s",
        workload: "hackbench",
        args: &[("loops", "1000")],
        // Runs differ by 3 to 6 %. So the median of changes of 64 pairs is known to 1 %, of the mail's sixteen to 2, and one pair says
        // nothing: in the quick form the changes are shown and not judged.
        seeds: [64, 1],
        time: "hackbench_time",
        measure: |ns| ns / 1_000_000,
    },
];

impl Bench {
    /// How many runs each case has.
    fn seeds(&self, quick: bool) -> u64 {
        self.seeds[usize::from(quick)]
    }
}

/// How many runs there are in all.
pub(super) fn runs(quick: bool) -> u64 {
    BENCHES.iter().map(|bench| bench.seeds(quick)).sum::<u64>() * (LEVELS.len() * SIDES.len()) as u64
}

/// One set-up, but for its seed.
struct Case {
    bench: &'static Bench,
    /// How many groups deep it runs.
    depth: usize,
    profile: &'static str,
}

/// What a run gave, in thousandths of the benchmark's unit.
struct Measured {
    digest: u128,
    value: u64,
}

impl Case {
    fn run(&self, seed: u64) -> Result<Measured, Error> {
        let profile = Profile::parse(self.profile).map_err(|error| Error::one(self.profile, error.message, error.hint))?;
        let mut machine = Machine::preset(MACHINE).map_err(refused)?;
        machine.tick_jitter = JITTER;
        let tasks = self.tasks()?;
        let marker = tasks.markers.iter_enumerated().find(|row| row.1.name == self.bench.time).map(|row| row.0);
        let mut time = Time { marker: marker.expect("invariant: the benchmark measures its time"), ns: 0 };
        let setup = Setup { machine, profile, tasks, seed, duration: LONGEST, paranoid: false };
        let digest = run_setup(setup, &mut time)?;
        Ok(Measured { digest, value: (self.bench.measure)(time.ns) })
    }

    fn tasks(&self) -> Result<TaskSet, Error> {
        let mut set = build(self.bench.workload, &Args::of(self.bench.args)).map_err(refused)?;
        let mut above = None;
        for level in 1..=self.depth {
            let name = (1..=level).map(|level| format!("/level{level}")).collect::<String>();
            above = Some(set.groups.push(TaskGroupSpec::new(name, above)));
        }
        set.tasks.iter_mut().for_each(|task| task.group = above);
        Ok(set)
    }
}

/// The time that a benchmark says it took.
struct Time {
    marker: MarkerId,
    ns: u64,
}

impl Sink for Time {
    fn record(&mut self, _at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Marker { marker, value, .. } = *event
            && marker == self.marker
        {
            self.ns = value;
        }
    }
}

impl Parts {
    /// All rows of both benchmarks.
    pub(super) fn throughput(&mut self, published: &Published, quick: bool, control: Control<'_>) -> Result<(), Error> {
        for bench in &BENCHES {
            let mut changes = Vec::new();
            for (depth, level) in LEVELS.into_iter().enumerate() {
                let mut sides = Vec::new();
                for (_, profile) in SIDES {
                    let case = Case { bench, depth, profile };
                    let Some(measured) = self.measure(&case, bench.seeds(quick), control)? else { return Ok(()) };
                    sides.push(measured);
                }
                let table = published.rows(bench.id).find(|table| table.get("level").and_then(Item::as_str) == Some(level));
                for ((side, _), runs) in SIDES.into_iter().zip(&sides) {
                    self.rows.push(value_row(bench, level, side, table, runs));
                }
                if let [baseline, patched] = &sides[..] {
                    let change = change(baseline, patched);
                    changes.push(change[change.len() / 2]);
                    self.rows.push(change_row(bench, level, table, &change, quick));
                }
            }
            if bench.id == "perf_bench_sched_pipe" {
                let holds = changes.windows(2).all(|pair| pair[0] < pair[1]);
                self.claims.push(Claim { id: "the gain of the pipe grows with depth".into(), holds, value: None });
            }
        }
        Ok(())
    }

    /// All runs of a case, several at a time; `None` if the caller stopped them.
    fn measure(&mut self, case: &Case, seeds: u64, control: Control<'_>) -> Result<Option<Vec<Measured>>, Error> {
        let seeds: Vec<u64> = (1..=seeds).collect();
        let measured = run_all(&seeds, &mut self.done, self.total, control, |&seed| case.run(seed))?;
        let measured: Option<Vec<Measured>> = measured.into_iter().collect();
        measured.iter().flatten().for_each(|run| self.runs.add(run.digest));
        Ok(measured)
    }
}

/// By how much each seed's value changed, in thousandths of a percent, smallest first.
fn change(baseline: &[Measured], patched: &[Measured]) -> Vec<i64> {
    let of = |pair: (&Measured, &Measured)| {
        let (before, after) = (pair.0.value.max(1) as i64, pair.1.value as i64);
        (after - before) * 100_000 / before
    };
    let mut changes: Vec<i64> = baseline.iter().zip(patched).map(of).collect();
    changes.sort_unstable();
    changes
}

fn spread(mut values: Vec<i64>) -> Simulated {
    values.sort_unstable();
    let [lo, median, hi] = [values[0], values[values.len() / 2], values[values.len() - 1]]
        .map(|value| Quantity::Number(Decimal::thousandths(value)));
    Simulated { median, lo, hi, runs: values.len() as u32 }
}

fn published_of(table: Option<&Table>, key: &str) -> Quantity {
    table.and_then(|table| decimal(table, key)).map_or(Quantity::Unknown, Quantity::Number)
}

fn value_row(bench: &Bench, level: &str, side: &str, table: Option<&Table>, runs: &[Measured]) -> ReproductionRow {
    let pipe = bench.id == "perf_bench_sched_pipe";
    // Prices were fitted to what the unpatched kernel did with the pipe, and in the root group with hackbench.
    let fitted = side == "baseline" && (pipe || level == "root");
    let whole = table.and_then(|table| table.get(side)).and_then(Item::as_integer).and_then(|value| u64::try_from(value).ok());
    let band = match whole {
        Some(value) if pipe && fitted => {
            Band::Between((value * (100 - PIPE_PERCENT) / 100).into(), (value * (100 + PIPE_PERCENT) / 100).into())
        }
        _ => Band::NotJudged,
    };
    ReproductionRow {
        id: format!("{}.{level}.{side}", bench.id),
        unit: bench.unit.into(),
        published: published_of(table, side),
        simulated: spread(runs.iter().map(|run| run.value as i64).collect()),
        kind: if fitted { Kind::Calibrated } else { Kind::Predicted },
        band,
    }
}

fn change_row(bench: &Bench, level: &str, table: Option<&Table>, change: &[i64], quick: bool) -> ReproductionRow {
    let band = match bench.id {
        "hackbench" if quick => Band::NotJudged,
        "hackbench" => {
            Band::Between(Decimal::thousandths(HACKBENCH_CHANGE.0 * 1000), Decimal::thousandths(HACKBENCH_CHANGE.1 * 1000))
        }
        // More than nothing, and not as much as to be something else.
        _ => Band::Between(Decimal::thousandths(1), PIPE_CHANGE_MOST.into()),
    };
    ReproductionRow {
        id: format!("{}.{level}.change", bench.id),
        unit: "%".into(),
        published: published_of(table, "change_pct"),
        simulated: spread(change.to_vec()),
        kind: Kind::Predicted,
        band,
    }
}

/// The prices that were fitted to rows of the unpatched kernel.
pub(super) fn calibration() -> Result<Vec<Calibration>, Error> {
    let prices = CostModel::preset("a53").map_err(refused)?;
    let price = |op: Op, from: &str| Calibration {
        price: format!("{} of a53, ps", op.key()),
        value: Decimal::from(prices.price_ps(op)),
        from: from.into(),
    };
    Ok(vec![
        price(Op::PickSwitch, "perf_bench_sched_pipe.root.baseline, with all CPU work by one factor"),
        price(Op::CgroupLevel, "perf_bench_sched_pipe.level1.baseline and level2.baseline"),
        price(Op::UnixOp, "hackbench.root.baseline"),
    ])
}
