//! What came out of a sensitivity run, and what it says.

use fairground_metrics::{Comparison, FEWEST_PAIRS, Metric, Paired, Rule, Verdict, compare_all};
use fairground_model::{CostClass, TimeSpent};
use fairground_stdx::Factor;

/// At which prices runs were made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prices {
    /// Those of the machine.
    AsGiven,
    /// Those of a class times a factor.
    Scaled(CostClass, Factor),
}

impl Prices {
    /// The class that is multiplied, if one is.
    pub fn class(self) -> Option<CostClass> {
        match self {
            Prices::AsGiven => None,
            Prices::Scaled(class, _) => Some(class),
        }
    }
    /// By what it is multiplied.
    pub fn factor(self) -> Option<Factor> {
        match self {
            Prices::AsGiven => None,
            Prices::Scaled(_, factor) => Some(factor),
        }
    }
}

/// A metric at some prices, seed by seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The prices.
    pub prices: Prices,
    /// Of the baseline.
    pub a: Vec<u64>,
    /// Of the other side, if there is one.
    pub b: Option<Vec<u64>>,
}

impl Case {
    /// The sum over the seeds, of the baseline.
    pub fn sum_a(&self) -> u128 {
        sum(&self.a)
    }
    /// The same of the other side.
    pub fn sum_b(&self) -> Option<u128> {
        self.b.as_deref().map(sum)
    }
    /// Whether the other side has more (1), less (-1) or as much (0).
    pub fn sign(&self) -> Option<i32> {
        self.sum_b().map(|b| b.cmp(&self.sum_a()) as i32)
    }
    /// From the baseline to the other side, in hundredths of a percent of the baseline.
    pub fn effect(&self) -> Option<i128> {
        change(self.sum_a(), self.sum_b()?)
    }
    /// From `given` to these prices, in hundredths of a percent: of the baseline's value, or with two sides of the ratio of the
    /// other to it.
    pub fn change(&self, given: &Case) -> Option<i128> {
        match (self.sum_b(), given.sum_b()) {
            (Some(b), Some(given_b)) => change(given_b.checked_mul(self.sum_a())?, b.checked_mul(given.sum_a())?),
            _ => change(given.sum_a(), self.sum_a()),
        }
    }
}

fn sum(values: &[u64]) -> u128 {
    values.iter().map(|&value| u128::from(value)).sum()
}

/// What the seeds say of an effect at other prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// There is an effect at the given prices, and one of the same sign here.
    Held,
    /// There is one of the other sign here.
    Turned,
    /// There is one at the given prices, and none was shown here.
    NotShown,
    /// None was shown at the given prices, so nothing can turn.
    NoEffect,
}

/// From `from` to `to` in hundredths of a percent of `from`, rounded to the nearest; none from 0.
fn change(from: u128, to: u128) -> Option<i128> {
    let (from, to) = (i128::try_from(from).ok()?, i128::try_from(to).ok()?);
    let doubled = (to - from).checked_mul(20_000)?;
    // Half a hundredth more, away from 0, and the rest cut off.
    (from > 0).then(|| (doubled + from * doubled.signum()) / (2 * from))
}

/// One metric at all prices; those that are given come first.
#[derive(Clone, PartialEq, Debug)]
pub struct MetricCases {
    /// Its name and unit.
    pub metric: Metric,
    /// Its values.
    pub cases: Vec<Case>,
}

impl MetricCases {
    /// The case at the prices that are given.
    pub fn given(&self) -> &Case {
        self.cases.first().expect("invariant: a sensitivity run begins with the prices that are given")
    }
    /// The case of a class times a factor, unless no run uses that class.
    pub fn scaled(&self, class: CostClass, factor: Factor) -> Option<&Case> {
        self.cases.iter().find(|case| case.prices == Prices::Scaled(class, factor))
    }
    /// The prices at which the sum of the other side is on the other side of the baseline than at those that are given, or beside it.
    pub fn turned(&self) -> impl Iterator<Item = Prices> + '_ {
        self.cases.iter().filter(|case| case.sign() != self.given().sign()).map(|case| case.prices)
    }
    /// What is tested of each case: the other side against the baseline, or of one side these prices against the given ones.
    fn paired(&self) -> Vec<Paired> {
        let pair = |case: &Case| {
            let (a, b) = match &case.b {
                Some(b) => (case.a.clone(), b.clone()),
                None => (self.given().a.clone(), case.a.clone()),
            };
            let Metric { name, unit, better, .. } = self.metric.clone();
            Paired { name, unit, better, a, b }
        };
        self.cases.iter().map(pair).collect()
    }
}

/// What the seeds say of each case of each metric: two-sided, and corrected over all of them together.
pub(super) fn judged(metrics: &[MetricCases], rule: Rule) -> Vec<Vec<Comparison>> {
    let all: Vec<Paired> = metrics.iter().flat_map(MetricCases::paired).collect();
    let mut judged = compare_all(&all, rule).into_iter();
    metrics.iter().map(|row| judged.by_ref().take(row.cases.len()).collect()).collect()
}

/// Whether an effect was shown.
pub(super) fn is_shown(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::Better | Verdict::Worse | Verdict::Differs)
}

/// What came out of a sensitivity run.
#[derive(Clone, PartialEq, Debug)]
pub struct Sensitivity {
    /// The scenario's title.
    pub title: String,
    /// The profile of the baseline, and of the other side if there is one.
    pub sides: Vec<String>,
    /// How many seeds were run at each setting of prices.
    pub seeds: u64,
    /// The metrics.
    pub metrics: Vec<MetricCases>,
    /// What the seeds say of each case of each metric.
    pub judged: Vec<Vec<Comparison>>,
    /// The smallest effect that matters, in thousandths of a mean.
    pub worth_permille: u64,
    /// Where the time of the baseline's first run at the given prices went.
    pub spent: Option<TimeSpent>,
    /// Classes that no run at the given prices counts.
    pub unused: Vec<CostClass>,
    /// Digest over the digests of all runs in order.
    pub digest: u128,
    /// Whether the caller stopped it: then it says nothing.
    pub interrupted: bool,
}

impl Sensitivity {
    /// Whether there are two sides.
    pub fn has_sides(&self) -> bool {
        self.sides.len() > 1
    }
    /// Whether there are enough seeds to decide anything.
    pub fn is_decidable(&self) -> bool {
        self.seeds >= FEWEST_PAIRS
    }
    /// What the seeds say of the sign of a metric at other prices.
    pub fn sign(&self, metric: usize, case: usize) -> Sign {
        let (given, here) = (&self.judged[metric][0], &self.judged[metric][case]);
        match (is_shown(given), is_shown(here)) {
            (false, _) => Sign::NoEffect,
            (true, false) => Sign::NotShown,
            (true, true) if given.effect.estimate.signum() == here.effect.estimate.signum() => Sign::Held,
            (true, true) => Sign::Turned,
        }
    }
    /// The cases with this sign, those at the given prices left out: the place of the metric, and the prices.
    pub fn with_sign(&self, sign: Sign) -> Vec<(usize, Prices)> {
        let cases = self
            .metrics
            .iter()
            .enumerate()
            .flat_map(|(metric, row)| row.cases.iter().enumerate().skip(1).map(move |(case, at)| (metric, case, at.prices)));
        cases.filter(|row| self.sign(row.0, row.1) == sign).map(|row| (row.0, row.2)).collect()
    }
    /// Of two sides 0 every effect keeps its sign, 1 a sign turned, 4 that is not decided; 0 of one side.
    pub fn exit_code(&self) -> u8 {
        let any = |sign| !self.with_sign(sign).is_empty();
        match () {
            () if !self.has_sides() => 0,
            () if !self.is_decidable() => 4,
            () if any(Sign::Turned) => 1,
            () if any(Sign::NotShown) || !any(Sign::Held) => 4,
            () => 0,
        }
    }
}
