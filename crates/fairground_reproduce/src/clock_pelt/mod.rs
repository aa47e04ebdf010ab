//! `clock-pelt` (2018): scale invariance of load tracking by a scaled clock in place of scaled contributions.
//!
//! Three tables: how long a task must run until its utilisation reaches a value, what load tracking costs in
//! benchmarks of the scheduler, and when schedutil asks for the highest frequency.

mod max_opp;
mod throughput;
mod util;

use super::published::Published;
use super::runs::Runs;
use crate::experiment::{ReproduceOptions, Reproduced};
use fairground_report::{Claim, Reproduction, ReproductionRow};
use fairground_scenario::{Control, Error};

/// The kernel before the series.
const MAINLINE: &str = "v4.20";
/// The series as mailed.
const PATCHED: &str = "v4.20+clock-pelt";

/// What the experiment has given so far.
#[derive(Default)]
struct Parts {
    runs: Runs,
    rows: Vec<ReproductionRow>,
    claims: Vec<Claim>,
    done: u64,
    total: u64,
}

pub(super) fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let published = Published::open("clock-pelt.toml", include_str!("../published/clock-pelt.toml"))?;
    let quick = options.quick;
    let mut parts = Parts { total: util::RUNS + max_opp::RUNS + throughput::runs(quick), ..Parts::default() };
    parts.time_to_util(&published, control)?;
    parts.time_to_max_opp(&published, control)?;
    parts.throughput(&published, quick, control)?;
    let Parts { runs, rows, claims, .. } = parts;
    let reproduction = Reproduction {
        experiment: "clock-pelt".into(),
        quick,
        rows,
        claims,
        calibration: throughput::calibration()?,
        tables: Vec::new(),
    };
    Ok(runs.reproduced(reproduction, &[&published], control))
}
