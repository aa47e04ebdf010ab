//! A long run, put together from short ones: what a program does changes with what it has done, such as a server that warms up.
//!
//! ```text
//! [[course]]   id, metric (a rate, per second), of = [sides], by = [sides], at = [units done at each point, from 0], lasts_s,
//!              published, min, max: of the mean rate of `of` by that of `by`
//! ```
//!
//! Between two points the time for a unit, 1/rate, changes linearly with the units done. Behind the last point the rate stays.

use super::plan::Plan;
use super::values;
use fairground_metrics::{Decimal, Metric};
use fairground_report::{Band, Kind, Quantity, ReproductionRow, Simulated};
use fairground_scenario::Error;

/// See the module.
pub(super) struct Course {
    pub(super) id: String,
    pub(super) of: Vec<usize>,
    pub(super) by: Vec<usize>,
    pub(super) at: Vec<u64>,
    pub(super) metric: String,
    pub(super) lasts_s: u64,
    pub(super) published: Quantity,
    pub(super) band: Band,
}

impl Course {
    /// The row, over the seeds.
    pub(super) fn row(&self, plan: &Plan, given: &[Vec<Vec<Metric>>]) -> Result<ReproductionRow, Error> {
        let means = |sides: &[usize]| -> Result<Vec<u64>, Error> {
            let points = sides.iter().map(|&side| values(side, &self.metric, plan, given)).collect::<Result<Vec<_>, Error>>()?;
            let seeds = points.iter().map(Vec::len).min().unwrap_or(0);
            let of_seed =
                |seed: usize| -> Vec<u64> { points.iter().map(|point| point[seed].value / point[seed].unit.scale()).collect() };
            Ok((0..seeds).map(|seed| done(&self.at, &of_seed(seed), self.lasts_s)).collect())
        };
        let ratios = means(&self.of)?
            .into_iter()
            .zip(means(&self.by)?)
            .map(|(of, by)| Decimal::ratio(of.saturating_mul(1000) / by.max(1), 1000));
        Ok(ReproductionRow {
            id: self.id.clone(),
            unit: "times".into(),
            published: self.published,
            simulated: Simulated::spread(ratios.collect()),
            kind: Kind::Predicted,
            band: self.band,
        })
    }
}

/// The units that are done in so many seconds, by the rates at the points.
fn done(at: &[u64], rates: &[u64], lasts_s: u64) -> u64 {
    const NS: u128 = 1_000_000_000;
    let mut left = u128::from(lasts_s) * NS;
    for point in 1..at.len() {
        let units = u128::from(at[point] - at[point - 1]);
        let (from, to) = (u128::from(rates[point - 1].max(1)), u128::from(rates[point].max(1)));
        let takes = units * NS * (from + to) / (2 * from * to);
        if takes > left {
            return at[point - 1] + (units * left / takes) as u64;
        }
        left -= takes;
    }
    let (last, rate) = (at.last().copied().unwrap_or(0), rates.last().copied().unwrap_or(0));
    last + (u128::from(rate) * left / NS) as u64
}

#[cfg(test)]
mod tests {
    use super::done;

    #[test]
    fn a_course_goes_through_its_points() {
        assert_eq!(done(&[0], &[100], 10), 1000);
        // 1000 units take 1000 * (1/100 + 1/200) / 2 = 7.5 s; then 2.5 s at 200.
        assert_eq!(done(&[0, 1000], &[100, 200], 10), 1500);
        assert_eq!(done(&[0, 1000], &[100, 200], 3), 400, "it ends before the second point");
        assert_eq!(done(&[0, 1000, 1500], &[100, 100, 50], 100), 1000 + 500 + (100_000 - 10_000 - 7_500) * 50 / 1000);
        assert_eq!(done(&[0, 1000], &[0, 0], 10), 10, "no rate counts as one");
    }
}
