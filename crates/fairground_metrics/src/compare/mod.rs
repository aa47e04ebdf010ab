//! A against B over paired seeds.
//!
//! Both sides run with the same seeds; pair *i* is the metric of both with seed *i*. What decides is `b - a`, pair by pair:
//! `max_t.rs` says whether it could be chance, two-sided and corrected over all metrics of the comparison; `interval.rs` says how
//! large it is.
//!
//! | verdict | rule |
//! | --- | --- |
//! | no difference | all differences are 0; or the whole interval of the effect is smaller than what matters |
//! | better, worse | the corrected p is at most 1/20, and the effect is at least what matters |
//! | differs | as before, for a metric that is neither better small nor better large |
//! | inconclusive | anything else; fewer than six pairs can never reach p ≤ 1/20, as 2/2^5 is more |
//!
//! What matters is [`Rule::worth_permille`] of the baseline's mean.

mod interval;
mod max_t;
mod stats;

pub use interval::Effect;
pub use max_t::PValue;
use max_t::{Row, max_t};
pub use stats::SideStats;

use crate::metric::{Better, Metric, Unit};
use std::collections::BTreeMap;

/// The fewest pairs that can decide anything.
pub const FEWEST_PAIRS: u64 = 6;

/// When two sides count as different.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The corrected p must be at most one in this many.
    pub p_one_in: u64,
    /// The smallest effect that matters, in thousandths of the baseline's mean.
    pub worth_permille: u64,
}

impl Default for Rule {
    /// p ≤ 1/20 and at least half a percent.
    fn default() -> Self {
        Rule { p_one_in: 20, worth_permille: 5 }
    }
}

/// What a comparison says of one metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// B is better than A.
    Better,
    /// B is worse than A.
    Worse,
    /// B differs from A, in a metric without a better side.
    Differs,
    /// B does as A does.
    NoDifference,
    /// The runs do not tell.
    Inconclusive,
}

impl Verdict {
    /// The verdict as tables and JSON spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Differs => "differs",
            Verdict::NoDifference => "no difference",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// The values of one metric on both sides; those at the same place have the same seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paired {
    /// The metric.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Values (as held) of the baseline.
    pub a: Vec<u64>,
    /// Values (as held) of the other side.
    pub b: Vec<u64>,
}

impl Paired {
    /// Collects pairs from the metrics of each run. Metrics that not every run has are left out.
    pub fn collect(a: &[Vec<Metric>], b: &[Vec<Metric>]) -> Vec<Paired> {
        let values = |runs: &[Vec<Metric>], name: &str| -> Option<Vec<u64>> {
            runs.iter().map(|run| run.iter().find(|metric| metric.name == name).map(|metric| metric.value)).collect()
        };
        let first = a.first().map(Vec::as_slice).unwrap_or_default();
        let pair = |metric: &Metric| {
            let (a, b) = (values(a, &metric.name)?, values(b, &metric.name)?);
            Some(Paired { name: metric.name.clone(), unit: metric.unit, better: metric.better, a, b })
        };
        first.iter().filter_map(pair).collect()
    }
    /// The names of the metrics that some runs have, and not all.
    pub fn left_out(a: &[Vec<Metric>], b: &[Vec<Metric>]) -> Vec<String> {
        let mut runs_with: BTreeMap<&str, usize> = BTreeMap::new();
        for metric in a.iter().chain(b).flatten() {
            *runs_with.entry(&metric.name).or_default() += 1;
        }
        runs_with.into_iter().filter(|row| row.1 < a.len() + b.len()).map(|row| row.0.to_string()).collect()
    }
    /// What the pairs of this metric alone say. Values without a partner do not count.
    pub fn compare(&self, rule: Rule) -> Comparison {
        compare_all(std::slice::from_ref(self), rule).remove(0)
    }
    fn row(&self) -> Row {
        let pairs = || self.a.iter().zip(&self.b).map(|(&a, &b)| (i128::from(a), i128::from(b)));
        let (differences, sums) = (pairs().map(|(a, b)| b - a).collect(), pairs().map(|(a, b)| a + b).collect());
        Row { differences, sums, is_of_task: self.name.starts_with("tasks.") }
    }
}

/// What the pairs of all metrics of a comparison say: the chance of any false verdict among them is at most that of the rule.
pub fn compare_all(metrics: &[Paired], rule: Rule) -> Vec<Comparison> {
    let rows: Vec<Row> = metrics.iter().map(Paired::row).collect();
    let p = max_t(&rows);
    metrics.iter().zip(&rows).zip(p).map(|((metric, row), p)| judged(metric, &row.differences, p, rule)).collect()
}

fn judged(metric: &Paired, differences: &[i128], p: PValue, rule: Rule) -> Comparison {
    let pairs = differences.len();
    let (a, b) = (SideStats::new(&metric.a[..pairs]), SideStats::new(&metric.b[..pairs]));
    let effect = Effect::of(differences);
    let sum: u128 = metric.a[..pairs].iter().map(|&value| u128::from(value)).sum();
    // A thousandth of the mean, times what matters.
    let worth = sum * u128::from(rule.worth_permille) / (1000 * pairs.max(1) as u128);
    let matters = effect.estimate != 0 && effect.estimate.unsigned_abs() >= worth;
    // What is tested is the mean. A median change that points the other way is no effect that could be named.
    let agrees = differences.iter().sum::<i128>().signum() == effect.estimate.signum();
    let verdict = if pairs > 0 && differences.iter().all(|&difference| difference == 0) {
        Verdict::NoDifference
    } else if matters && agrees && p.at_most_one_in(rule.p_one_in) {
        direction(effect.estimate, metric.better)
    } else if effect.is_within(worth) {
        Verdict::NoDifference
    } else {
        Verdict::Inconclusive
    };
    Comparison { name: metric.name.clone(), unit: metric.unit, better: metric.better, a, b, pairs, p, effect, verdict }
}

fn direction(difference: i128, better: Better) -> Verdict {
    match better {
        Better::Neither => Verdict::Differs,
        Better::Higher if difference > 0 => Verdict::Better,
        Better::Lower if difference < 0 => Verdict::Better,
        Better::Higher | Better::Lower => Verdict::Worse,
    }
}

/// One metric of both sides with its verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The metric.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// The baseline.
    pub a: SideStats,
    /// The other side.
    pub b: SideStats,
    /// The number of pairs.
    pub pairs: usize,
    /// The chance of such a difference by accident, corrected over all metrics of the comparison.
    pub p: PValue,
    /// How large the difference is.
    pub effect: Effect,
    /// What it says.
    pub verdict: Verdict,
}

impl Comparison {
    /// Change of the mean in percent of the baseline's; `None` if that is 0.
    pub fn change_percent(&self) -> Option<f64> {
        (self.a.mean > 0.0).then(|| (self.b.mean - self.a.mean) / self.a.mean * 100.0)
    }
}

#[cfg(test)]
mod tests;
