//! How far a setting must go so that one metric moves by about one standard deviation.

use super::knobs::Knob;
use crate::delay::read;
use crate::dice::Dice;
use fairground::run::{self, RunOptions};
use fairground_metrics::{Metric, Paired, Rule};
use fairground_model::NullSink;
use fairground_scenario::{Control, Error, Scenario};
use rayon::prelude::*;

/// Two sides of which a metric is known to move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OneDeviation {
    /// The baseline.
    pub a: String,
    /// The other side.
    pub b: String,
    /// The metric.
    pub metric: String,
    /// By how many thousandths of the standard deviation of the pairs' differences.
    pub permille: i64,
}

/// Seeds of the truth begin here; those of comparisons elsewhere.
const SEEDS_FROM: u64 = 50_000_000;
/// Seeds by which a metric is chosen, a strength found, and the effect told.
const SEEDS: [u64; 3] = [12, 40, 120];
/// Where a strength is looked for, it is halved so often.
const HALVINGS: usize = 7;
/// How far the full strength moves the metric, in thousandths of its standard deviation.
const MOVED: std::ops::RangeInclusive<i64> = 1_400..=9_000;
/// What counts as one standard deviation, in thousandths.
const ONE: std::ops::RangeInclusive<i64> = 900..=1_200;

/// Sides of a kind of difference, for one seed; none if no metric was found that moves by one standard deviation.
pub fn one_deviation(knob: &Knob, seed: u64) -> Result<Option<OneDeviation>, Error> {
    let text = |strength: u64| knob.text(seed, strength);
    let a = text(0);
    let at = |strength: u64, from: u64, count: u64| -> Result<Vec<Paired>, Error> {
        let sides = (runs(&read(knob.name, &a)?, from, count)?, runs(&read(knob.name, &text(strength))?, from, count)?);
        Ok(Paired::collect(&sides.0, &sides.1))
    };
    // Any metric that the full strength moves well beyond one standard deviation, and not so far that no strength moves it by one.
    let is_moved = |pair: &Paired| MOVED.contains(&deviations(pair).abs());
    let moved: Vec<String> = at(1000, SEEDS_FROM, SEEDS[0])?.into_iter().filter(is_moved).map(|pair| pair.name).collect();
    if moved.is_empty() {
        return Ok(None);
    }
    let metric = moved[Dice::new(seed, "metric").between(0, moved.len() as u64 - 1) as usize].clone();
    let effect = |strength: u64, from: u64, count: u64| -> Result<i64, Error> {
        Ok(at(strength, from, count)?.iter().find(|pair| pair.name == metric).map_or(0, deviations))
    };
    let (mut low, mut high) = (0, 1000);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2;
        let found = effect(middle, SEEDS_FROM + 1_000, SEEDS[1])?.abs();
        if ONE.contains(&found) {
            let told = at(middle, SEEDS_FROM + 2_000, SEEDS[2])?;
            let Some(pair) = told.iter().find(|pair| pair.name == metric) else { return Ok(None) };
            let permille = deviations(pair);
            let is_one = ONE.contains(&permille.abs()) && matters(pair);
            return Ok(is_one.then(|| OneDeviation { b: text(middle), a, metric, permille }));
        }
        if found < *ONE.start() { low = middle } else { high = middle }
    }
    Ok(None)
}

/// The metrics of runs with seeds from `from` on.
pub(super) fn runs(side: &Scenario, from: u64, count: u64) -> Result<Vec<Vec<Metric>>, Error> {
    (0..count)
        .into_par_iter()
        .map(|seed| {
            let side = side.with_seed(from + seed);
            run::run(&side, &RunOptions::default(), &mut NullSink, Control::none()).map(|outcome| outcome.metrics)
        })
        .collect()
}

/// Whether the mean difference is clearly above what matters to `compare`, half a percent: less is no verdict, by its rule.
fn matters(pair: &Paired) -> bool {
    let sum = |values: &[u64]| values.iter().map(|&value| u128::from(value)).sum::<u128>();
    let (a, b) = (sum(&pair.a), sum(&pair.b));
    a.abs_diff(b) * 1000 >= a * u128::from(Rule::default().worth_permille) * 5 / 4
}

/// The mean difference in thousandths of the standard deviation of the differences; 0 if they do not scatter.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a measure of draws, told to three digits")]
fn deviations(pair: &Paired) -> i64 {
    let differences: Vec<f64> = pair.a.iter().zip(&pair.b).map(|(&a, &b)| b as f64 - a as f64).collect();
    let count = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / count;
    let squares: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    if deviation > 0.0 { (mean / deviation * 1000.0) as i64 } else { 0 }
}
