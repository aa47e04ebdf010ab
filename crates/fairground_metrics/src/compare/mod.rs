//! A against B over paired seeds.
//!
//! Both sides run with the same seeds; pair *i* is the metric of both with seed *i*. The verdict is
//! an exact **sign-flip permutation test** on the differences `b - a`, in integers: if A and B did
//! not differ, each difference would have either sign with equal chance, so the 2^n ways to choose
//! the signs are equally likely. The one-sided p is the share of those whose sum is at least as far
//! on the observed side as the observed sum. With more than 20 pairs the differences are
//! first summed in that many groups (pair *i* goes to group *i* modulo that number), which keeps the
//! test exact.
//!
//! | verdict | rule |
//! | --- | --- |
//! | no difference | all differences are 0; or the means differ by less than [`Rule::min_effect_permille`] and the sides are at least five pairs |
//! | better, worse | p ≤ 1/[`Rule::p_one_in`], and the means differ by at least that effect |
//! | differs | as before, for a metric that is neither better small nor better large |
//! | inconclusive | anything else; fewer than five pairs can never reach p ≤ 1/20, as 1/2^4 is more |

mod sign_flip;
mod stats;

pub use sign_flip::PValue;
use sign_flip::sign_flip;
pub use stats::SideStats;

use crate::metric::{Better, Metric, Unit};

/// Fewest pairs from which a small difference of means counts as none.
const MIN_PAIRS: usize = 5;

/// When two sides count as different.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The one-sided p must be at most one in this many.
    pub p_one_in: u64,
    /// Smallest difference of the means that matters, in thousandths of the baseline's mean.
    pub min_effect_permille: u64,
}

impl Default for Rule {
    /// p ≤ 1/20 and at least half a percent.
    fn default() -> Self {
        Rule { p_one_in: 20, min_effect_permille: 5 }
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
    /// What the pairs say. Values without a partner do not count.
    pub fn compare(&self, rule: Rule) -> Comparison {
        let differences: Vec<i128> = self.a.iter().zip(&self.b).map(|(&a, &b)| i128::from(b) - i128::from(a)).collect();
        let p = sign_flip(&differences);
        let pairs = differences.len();
        let (a, b) = (SideStats::new(&self.a[..pairs]), SideStats::new(&self.b[..pairs]));
        let sum: i128 = differences.iter().sum();
        let big = is_big(sum, self.a[..pairs].iter().map(|&value| u128::from(value)).sum(), rule);
        let verdict = if pairs > 0 && differences.iter().all(|&difference| difference == 0) {
            Verdict::NoDifference
        } else if big && p.at_most_one_in(rule.p_one_in) {
            direction(sum, self.better)
        } else if !big && pairs >= MIN_PAIRS {
            Verdict::NoDifference
        } else {
            Verdict::Inconclusive
        };
        Comparison { name: self.name.clone(), unit: self.unit, better: self.better, a, b, pairs, p, verdict }
    }
}

/// Whether the sums differ by at least the rule's share of the baseline; any difference from 0 does.
fn is_big(difference: i128, baseline: u128, rule: Rule) -> bool {
    difference != 0 && difference.unsigned_abs() * 1000 >= baseline * u128::from(rule.min_effect_permille)
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
    /// The chance of such a difference by accident.
    pub p: PValue,
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
