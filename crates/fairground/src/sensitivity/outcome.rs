//! What came out of a sensitivity run, and what it says.

use fairground_metrics::Metric;
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
}

/// A metric at some prices: sums over the seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// The prices.
    pub prices: Prices,
    /// Of the baseline.
    pub a: u128,
    /// Of the other side, if there is one.
    pub b: Option<u128>,
}

impl Case {
    /// Whether the other side has more (1), less (-1) or as much (0).
    pub fn sign(&self) -> Option<i32> {
        self.b.map(|b| b.cmp(&self.a) as i32)
    }
    /// From the baseline to the other side, in hundredths of a percent of the baseline.
    pub fn effect(&self) -> Option<i128> {
        change(self.a, self.b?)
    }
    /// From `given` to these prices, in hundredths of a percent: of the baseline's value, or with two sides of the ratio of the
    /// other to it.
    pub fn change(&self, given: &Case) -> Option<i128> {
        match (self.b, given.b) {
            (Some(b), Some(given_b)) => change(given_b.checked_mul(self.a)?, b.checked_mul(given.a)?),
            _ => change(given.a, self.a),
        }
    }
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
    /// The prices at which the other side is on the other side of the baseline than at those that are given, or beside it.
    pub fn turned(&self) -> impl Iterator<Item = Prices> + '_ {
        self.cases.iter().filter(|case| case.sign() != self.given().sign()).map(|case| case.prices)
    }
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
    /// 0 every sign held (or there is one side only), 1 a sign turned.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.metrics.iter().any(|row| row.turned().next().is_some()))
    }
}
