//! `runnable-propagation` (2017): in a cgroup schbench's p99 is eight times that of the root group; a patch that lets
//! runnable load go up by itself takes that away.
//!
//! The text names a machine of 16 cores with 2 threads that is "mostly idle", the command, and the group's weight (the
//! largest). It names neither the background load nor the tree. The tree matters: up to v4.11 two tasks of a core were one
//! too many whatever the balancing core had, so that all cores with two compete by their loads, and a load that misleads
//! decides; v4.12 asks for one more than the balancing core has, and then mostly the number of tasks decides. Judged are the
//! rows with the rule of v4.11 (`eager-siblings`); those of v4.12 as it was released are shown beside them.

mod case;
mod misled;
mod rows;

use super::published::Published;
use super::runs::Runs;
use super::{ReproduceOptions, Reproduced};
use crate::control::Control;
use crate::error::Error;
use case::{Case, Measured};
use fairground_metrics::Decimal;
use fairground_report::{Calibration, Claim, Reproduction, ReproductionRow};

/// Runs of each case, with `--quick` too: a p99 of one run says little.
const SEEDS: u64 = 10;

/// What the experiment has given so far.
#[derive(Default)]
struct Parts {
    runs: Runs,
    rows: Vec<ReproductionRow>,
    claims: Vec<Claim>,
    done: u64,
    total: u64,
}

pub(super) fn run(options: ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let published = Published::open("runnable-propagation.toml", include_str!("../published/runnable-propagation.toml"))?;
    let variants: &[case::Variant] = if options.quick { &case::VARIANTS[..1] } else { case::VARIANTS };
    let mut parts = Parts { total: SEEDS * 3 * variants.len() as u64, ..Parts::default() };
    for variant in variants {
        let sides = variant.sides();
        let mut measured: Vec<Vec<Measured>> = Vec::new();
        for side in &sides {
            let Some(runs) = parts.measure(side, control)? else { break };
            measured.push(runs);
        }
        if let [root, cgroup, patched] = &measured[..] {
            parts.add(variant, published.root(), [root, cgroup, patched]);
            if variant.is_main() {
                parts.misled([&sides[1], &sides[2]], [cgroup, patched])?;
            }
        }
    }
    let Parts { runs, rows, claims, .. } = parts;
    let reproduction = Reproduction {
        experiment: "runnable-propagation".into(),
        quick: options.quick,
        rows,
        claims,
        calibration: calibration(),
    };
    Ok(runs.reproduced(reproduction, &[&published], control))
}

impl Parts {
    /// All runs of a case; `None` if the caller stopped them.
    fn measure(&mut self, case: &Case, control: Control<'_>) -> Result<Option<Vec<Measured>>, Error> {
        let mut measured = Vec::new();
        for seed in 1..=SEEDS {
            if control.stopped() {
                return Ok(None);
            }
            measured.push(case.run(&mut self.runs, seed)?);
            self.done += 1;
            control.at(self.done, self.total);
        }
        Ok(Some(measured))
    }
}

/// The two prices that were read off the root row.
fn calibration() -> Vec<Calibration> {
    let price =
        |price: &str, value: u64, from: &str| Calibration { price: price.into(), value: Decimal::from(value), from: from.into() };
    vec![
        price("idle state C6 of fb-16c32t: exit_time_ns", 30_000, "root row, p50 to p95"),
        price("scan_ps of xeon-bdw", 350_000, "root row, p75 to p99"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_report::Quantity;

    #[test]
    fn a_group_makes_it_worse_and_the_patch_does_not() {
        let Reproduction { rows, claims, .. } = run(ReproduceOptions { quick: true }, Control::none()).unwrap().reproduction;
        let ratio = |id: &str| match rows.iter().find(|row| row.id == id).map(|row| row.simulated.median) {
            Some(Quantity::Number(value)) => value.to_f64(),
            _ => panic!("{id} has no number"),
        };
        assert!(ratio("p99.cgroup_to_root") >= 4.0, "{}", ratio("p99.cgroup_to_root"));
        assert!(ratio("p99.patched_to_root") <= 1.5, "{}", ratio("p99.patched_to_root"));
        assert!(claims.iter().all(|claim| claim.holds), "{claims:#?}");
    }
}
