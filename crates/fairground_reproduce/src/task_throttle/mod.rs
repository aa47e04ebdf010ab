//! `task-throttle` (2025): a CPU that releases 384 throttled queues, and what tasks below them hold while they are throttled.
//!
//! The text has one histogram: how long distribute_cfs_runtime() takes on a machine of 384 CPUs with 20,000 hogs in 2 groups of
//! 100 groups of 10, whose quota a script sets to 20, 10 and 5 CPUs in turn. It does not name HZ: both usual ones are run. It
//! shows the patched kernel alone. Rows `predicted` have the prices of any server; rows `calibrated` three that were read off
//! other runs of the patch, of which the text has nothing.

mod case;
mod over;
mod rows;
mod throttled_holder;

use super::published::Published;
use super::runs::{Runs, run_all};
use crate::experiment::{ReproduceOptions, Reproduced};
use case::{Case, Measured, PUBLISHED, Prices};
use fairground_metrics::Decimal;
use fairground_report::{Calibration, Reproduction};
use fairground_scenario::{Control, Error};
use fairground_stdx::Ns;
pub(super) use over::OVER;

/// The stages of the script: what each of the two groups may use in 100 ms.
const QUOTAS_MS: [u64; 3] = [2000, 1000, 500];
const HZ: [u32; 2] = [1000, 250];
/// What a stage of the script lasts.
const STAGE: Ns = Ns::from_secs(20);
/// What counts of a stage in the quick form.
const QUICK: Ns = Ns::from_secs(1);
/// The run of the patch whose timer released all queues itself had another quota, of which nothing is told. With that of the script
/// the CPUs that are released first empty the pool before all have had their turn.
const INLINE_QUOTAS_MS: [u64; 2] = [2000, 15_000];

/// All set-ups with what they gave; those that the caller stopped are missing.
struct Done(Vec<(Case, Measured)>);

impl Done {
    /// The stages of one reading, in their order.
    fn stages(&self, hz: u32, prices: Prices, on_its_cpu: bool) -> impl Iterator<Item = &(Case, Measured)> {
        self.0.iter().filter(move |(case, _)| (case.hz, case.prices, case.on_its_cpu) == (hz, prices, on_its_cpu))
    }
}

fn cases(quick: bool) -> Vec<Case> {
    let window = if quick { QUICK } else { STAGE };
    let mut cases = Vec::new();
    for prices in Prices::ALL {
        for hz in HZ {
            let stage = |quota_ms| Case { tree: PUBLISHED, hz, prices, on_its_cpu: true, quota_ms, window };
            cases.extend(QUOTAS_MS.map(stage));
        }
        let inline =
            |quota_ms| Case { tree: PUBLISHED, hz: HZ[0], prices, on_its_cpu: false, quota_ms, window: Ns::from_secs(1) };
        cases.extend(INLINE_QUOTAS_MS.map(inline));
    }
    cases
}

pub(super) fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let file = Published::open("task-throttle.toml", include_str!("../published/task-throttle.toml"))?;
    let cases = cases(options.quick);
    let measured = run_all(&cases, &mut 0, cases.len() as u64, control, |case| Ok((*case, case.run(1)?)))?;
    let done = Done(measured.into_iter().flatten().collect());
    let mut runs = Runs::default();
    done.0.iter().for_each(|row| runs.add(row.1.digest));
    let (mut all, claims) = rows::all(&done, &file);
    if !control.stopped() {
        let (digests, rows) = throttled_holder::rows()?;
        digests.into_iter().for_each(|digest| runs.add(digest));
        all.extend(rows);
    }
    let price =
        |price: &str, value: u64, from: &str| Calibration { price: price.into(), value: Decimal::from(value), from: from.into() };
    let reproduction = Reproduction {
        experiment: "task-throttle".into(),
        quick: options.quick,
        rows: all,
        claims,
        calibration: vec![
            price(
                "a visit of another CPU's queue, ns, in task-throttle-box",
                3500,
                "another run: 383 visits, 1101 groups and 69 tasks in 1.592 ms",
            ),
            price(
                "a group of a walk, ns, in task-throttle-box",
                112,
                "another run: 384 queues, 422,784 groups and 10,000 tasks in 67.3 ms",
            ),
            price("a task that is queued again, ns, in task-throttle-box", 2000, "the same"),
        ],
        tables: rows::tables(&done),
    };
    Ok(runs.reproduced(reproduction, &[&file], control))
}
