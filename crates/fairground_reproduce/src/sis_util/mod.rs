//! `sis-util` (2022): on a cache domain of 112 CPUs a search for an idle CPU costs more than it gains; a patch that ends it by
//! how much the domain is used makes 196 and 224 pairs of netperf three times as fast, and nothing else.
//!
//! The text says that 28 to 224 threads are 25 to 200 % of the CPUs: `llc112`, one socket of 56 cores with 2 threads. The
//! other reading, two such sockets (`spr-2x56`), stands beside it. Prices are those of `sis-util-box`: one factor, read off the
//! number of searches of the unpatched kernel. With a factor of 1 the rows of netperf TCP_RR stand beside them.

mod case;
mod discussion;
mod measured;
mod over;
mod rows;
mod tables;

use super::kept::Kept;
use super::published::Published;
use super::runs::{Runs, run_all};
use crate::experiment::{ReproduceOptions, Reproduced};
use case::{Case, Change, Lengths, MAIN, PATCHED, Point, Reading, VANILLA};
use fairground_metrics::Decimal;
use fairground_report::{Calibration, Reproduction};
use fairground_scenario::{Control, Error};
use fairground_stdx::Ns;
use measured::Measured;
pub(super) use over::OVER;
use rows::HIGHEST;

/// Seeds of the full form; the quick one and everything beside the main table have one.
const SEEDS: u64 = 3;
const WARMUP: Ns = Ns::from_secs(2);
/// The quick form. With 84 pairs of netperf and with hackbench searches and rates have not settled by then.
const QUICK: Lengths = Lengths::fixed(Ns::from_ms(250), Ns::from_ms(250));
/// With the highest load a machine begins half idle, and takes between 1.5 and 2 s until it never is.
const QUICK_HIGHEST: Lengths = Lengths::fixed(Ns::from_ms(1_500), Ns::from_ms(500));
/// schbench measures once in 60 ms.
const QUICK_SCHBENCH: Lengths = Lengths::fixed(WARMUP, Ns::from_secs(2));
const FULL: Lengths = Lengths { warmup: WARMUP, least: Ns::from_secs(1), most: Ns::from_secs(5) };
/// What stands beside the main table has one seed, and shows where a jump is gone.
const BESIDE: Lengths = Lengths::fixed(WARMUP, Ns::from_secs(1));
/// What the quick form runs.
const QUICK_POINTS: [(&str, &str, u64, &str); 6] = [
    ("netperf", "TCP_RR", 28, "thread"),
    ("netperf", "TCP_RR", 84, "thread"),
    ("netperf", "TCP_RR", HIGHEST, "thread"),
    ("hackbench", "process-pipe", 4, "group"),
    ("tbench", "loopback", 112, "thread"),
    ("schbench", "normal", 2, "mthread"),
];
/// The same prices without the factor.
const FACTOR_ONE: Reading = Reading { name: "factor1", costs: "xeon-spr", ..MAIN };
/// The other machine that the text may mean.
const TWO_SOCKETS: Reading = Reading { name: "spr-2x56", machine: "spr-2x56", ..MAIN };
/// What may make the jump, each otherwise than it is.
const SUSPECTS: [Reading; 7] = [
    Reading { name: "irq-time-accounted", change: Change::IrqTimeAccounted, ..MAIN },
    Reading { name: "frequency-0.85", change: Change::Frequency(870), ..MAIN },
    Reading { name: "fast-siblings", change: Change::FastSiblings, ..MAIN },
    Reading { name: "seen-at-once", change: Change::SeenAtOnce, ..MAIN },
    Reading { name: "frozen", change: Change::Frozen, ..MAIN },
    Reading { name: "softirq-inline", change: Change::Inline, ..MAIN },
    Reading { name: "no-threads", change: Change::NoThreads, ..MAIN },
];
/// The loads at which suspects are looked at.
const SUSPECT_LOADS: [u64; 2] = [84, HIGHEST];

impl Reading {
    /// What the ids of its rows begin with.
    fn prefix(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!("{}.", self.name) }
    }
}

/// What is run for the main table.
struct Plan {
    points: Vec<Point>,
    quick: bool,
}

impl Plan {
    fn new(quick: bool, file: &Published) -> Plan {
        let mut points: Vec<Point> = Vec::new();
        if quick {
            points.extend(QUICK_POINTS.map(|(bench, case, load, unit)| Point::new(bench, case, load, unit)));
            return Plan { points, quick };
        }
        for point in file.rows("compare").chain(file.rows("efficiency")).filter_map(rows::point_of) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        Plan { points, quick }
    }
    fn has(&self, point: &Point) -> bool {
        self.points.contains(point)
    }
    fn lengths(&self, point: &Point) -> Lengths {
        match (self.quick, point.bench.as_str(), point.load) {
            (false, ..) => FULL,
            (true, "schbench", _) => QUICK_SCHBENCH,
            (true, _, HIGHEST) => QUICK_HIGHEST,
            (true, ..) => QUICK,
        }
    }
    /// All cases with their seeds. Points of which only the unpatched kernel was published are run with that.
    fn cases(&self, file: &Published) -> Vec<(Case, u64)> {
        let compared: Vec<Point> = file.rows("compare").filter_map(rows::point_of).collect();
        let mut cases = Vec::new();
        for point in &self.points {
            let sides: &[&'static str] = if compared.contains(point) { &[VANILLA, PATCHED] } else { &[VANILLA] };
            let seeds = if self.quick { 1 } else { SEEDS };
            cases.extend(sides.iter().map(|&profile| (self.case(point, MAIN, profile, self.lengths(point)), seeds)));
        }
        if self.quick {
            return cases;
        }
        let netperf = |point: &&Point| (point.bench.as_str(), point.case.as_str()) == ("netperf", "TCP_RR");
        for point in self.points.iter().filter(netperf) {
            let suspects = SUSPECTS.iter().filter(|_| SUSPECT_LOADS.contains(&point.load));
            for &reading in [FACTOR_ONE, TWO_SOCKETS].iter().chain(suspects) {
                cases.extend([VANILLA, PATCHED].map(|profile| (self.case(point, reading, profile, BESIDE), 1)));
            }
        }
        cases
    }
    fn case(&self, point: &Point, reading: Reading, profile: &'static str, lengths: Lengths) -> Case {
        Case { point: point.clone(), reading, profile, lengths }
    }
}

/// All cases with their runs, seed after seed.
struct Done(Vec<(Case, Vec<Measured>)>);

pub(super) fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let file = Published::open("sis-util.toml", include_str!("../published/sis-util.toml"))?;
    let plan = Plan::new(options.quick, &file);
    let discussed = discussion::cases(options.quick);
    let mut runs = Runs::default();
    let kept = options.keep.as_deref().map(Kept::open).transpose()?;
    let done = measure(&plan.cases(&file), kept.as_ref(), discussed.len() as u64, &mut runs, control)?;
    let claims_of_text = discussion::run(&discussed, &mut runs, control)?;

    let mut all = rows::scan_table(&file);
    all.extend(rows::changes(&plan, &done, &file, MAIN));
    all.extend(rows::efficiencies(&plan, &done, &file));
    let (counters, mut claims) = rows::counters(&done, &file);
    all.extend(counters);
    all.extend(rows::histogram(&done, &file));
    claims.extend(rows::schbench_falls(&done));
    for reading in [FACTOR_ONE, TWO_SOCKETS].iter().chain(&SUSPECTS) {
        all.extend(rows::changes(&plan, &done, &file, *reading));
    }
    let (discussed_rows, discussed_claims) = claims_of_text;
    all.extend(discussed_rows);
    claims.extend(discussed_claims);
    let reproduction = Reproduction {
        experiment: "sis-util".into(),
        quick: options.quick,
        rows: all,
        claims,
        calibration: vec![
            Calibration {
                price: "factor of sis-util-box on syscall, socket, network, wakeup, enqueue and switch".into(),
                value: Decimal::from(3),
                from: "counters_224.sis_search.vanilla".into(),
            },
            Calibration {
                price: "enqueue_remote of xeon-spr, ns".into(),
                value: Decimal::from(3000),
                from: "vanilla with 224 pairs: of 0 to 3000 the value with which searches go on finding idle CPUs".into(),
            },
        ],
        tables: tables::all(&done),
    };
    Ok(runs.reproduced(reproduction, &[&file], control))
}

/// All runs, several cases at a time; those that the caller stopped are missing.
fn measure(cases: &[(Case, u64)], kept: Option<&Kept>, more: u64, runs: &mut Runs, control: Control<'_>) -> Result<Done, Error> {
    let one = |(case, seeds): &(Case, u64)| match kept {
        Some(kept) => kept.run(&format!("{case:?}"), *seeds, || case.run(*seeds)),
        None => case.run(*seeds),
    };
    let measured = run_all(cases, &mut 0, cases.len() as u64 + more, control, one)?;
    let all = cases.iter().zip(measured).map(|((case, _), measured)| (case.clone(), measured.unwrap_or_default())).collect();
    let done = Done(all);
    done.0.iter().flat_map(|(_, measured)| measured).for_each(|run| runs.add(run.digest));
    Ok(done)
}
