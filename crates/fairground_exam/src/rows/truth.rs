//! What planted rows do, by brute force: alone, and what the rows beside them do without them.

use super::draw::{Draft, Draw, draw};
use crate::delay::read;
use crate::dice::Dice;
use fairground::run::{self, RunOptions};
use fairground_metrics::{Metric, Paired, Rule, Verdict};
use fairground_model::NullSink;
use fairground_scenario::{Control, Error, Scenario};
use fairground_sched::profile::Profile;
use rayon::prelude::*;

/// A planted change whose truth is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlantedChange {
    /// What was drawn.
    pub draw: Draw,
    /// A metric that it moves.
    pub metric: String,
    /// What it does to its mean, in thousandths.
    pub permille: i128,
    /// Draws before it without effect, or with another one beside it.
    pub discarded: u32,
}

/// So many draws in a row may show no truth.
const DRAWS: u32 = 1_000;
/// Seeds of the truth begin here; those of an answer begin at that of the scenario.
const SEEDS_FROM: u64 = 50_000_000;
/// Seeds of a first look, by which the metric is chosen, begin here.
const FIRST_FROM: u64 = 60_000_000;
/// Seeds of a first look.
const FEW: u64 = 4;
/// Seeds of the truth.
const SEEDS: u64 = 24;
/// Seeds that tell the effect of a draw once it is chosen: from where, and how many.
const AGAIN: (u64, u64) = (55_000_000, 48);
/// What other rows do is at most this part of the effect, or this part of it where it may be nothing.
const FAR_LESS: i128 = 6;
const LESS: i128 = 3;
/// What matters, in thousandths: the default of `bisect`.
pub(super) const WORTH_PERMILLE: u64 = 20;

/// Plants a change: the first draw in which the planted rows move a metric by themselves, and those beside them do not.
pub fn plant_change(draft: Draft, name: &str, seed: u64) -> Result<PlantedChange, Error> {
    let mut dice = Dice::new(seed, name);
    for discarded in 0..DRAWS {
        // What cannot be run, such as threads of many caches with a rule that is not modelled, is discarded too.
        if let Some(draw) = draw(draft, &mut dice)?
            && let Ok(Some((metric, permille))) = effect(&draw, &mut dice)
        {
            return Ok(PlantedChange { draw, metric, permille, discarded });
        }
        dice = dice.again();
    }
    Err(Error::one(name, format!("no draw of {DRAWS} with seed {seed} shows a truth"), "Look at the draws of this kind."))
}

/// The metric that the planted rows move, and how far.
fn effect(draw: &Draw, dice: &mut Dice) -> Result<Option<(String, i128)>, Error> {
    let base = read("planted", &draw.text)?;
    let states = (draw.with(&draw.planted), draw.with(&draw.beside), draw.b());
    let (Ok(alone), Ok(rest), Ok(b)) = states else { return Ok(None) };
    // Most rows do nothing: one run of each tells.
    if ran(&base, &draw.a, FIRST_FROM, 1)?.1 == ran(&base, &alone, FIRST_FROM, 1)?.1 {
        return Ok(None);
    }
    let (few_a, few_alone) = (ran(&base, &draw.a, FIRST_FROM, FEW)?, ran(&base, &alone, FIRST_FROM, FEW)?);
    // A metric may be chosen by what is seen first: the truth is told by other seeds.
    let is_moved = |pair: &Paired| is_asked_for(&pair.name) && permille(pair).unsigned_abs() >= u128::from(WORTH_PERMILLE);
    let moved: Vec<String> = Paired::collect(&few_a.0, &few_alone.0).into_iter().filter(is_moved).map(|pair| pair.name).collect();
    if moved.is_empty() {
        return Ok(None);
    }
    let name = moved[dice.between(0, moved.len() as u64 - 1) as usize].clone();
    let many = |state: &Profile| Ok::<_, Error>(ran(&base, state, SEEDS_FROM, SEEDS)?.0);
    let of = |from: &[Vec<Metric>], to: &[Vec<Metric>]| Paired::collect(from, to).into_iter().find(|pair| pair.name == name);
    let (a, with) = (many(&draw.a)?, many(&alone)?);
    // By chance once in a hundred; and at the border of what matters an answer would be a matter of luck.
    let is_shown = |pair: &Paired| moves(pair, 100) && permille(pair).unsigned_abs() * 4 >= u128::from(WORTH_PERMILLE) * 5;
    let Some(shown) = of(&a, &with).filter(is_shown) else { return Ok(None) };
    let effect = sum(&shown);
    // What others do beside it is nothing like it: far less, or less and perhaps nothing.
    let is_little = |effect: i128, from: &[Vec<Metric>], to: &[Vec<Metric>]| {
        of(from, to).is_some_and(|pair| {
            let part = |parts: i128| sum(&pair).abs() * parts <= effect.abs();
            part(FAR_LESS) || part(LESS) && !moves(&pair, 20)
        })
    };
    // The rows beside the planted ones, without them and with them.
    if !is_little(effect, &a, &many(&rest)?) || !is_little(effect, &with, &many(&b)?) {
        return Ok(None);
    }
    // None of several planted rows can be left out: without it they cannot be run, or do nothing like it.
    for row in draw.planted.iter().filter(|_| draw.planted.len() > 1) {
        let others: Vec<&'static str> = draw.planted.iter().copied().filter(|other| other != row).collect();
        if let Ok(less) = draw.with(&others)
            && !is_little(effect, &a, &many(&less)?)
        {
            return Ok(None);
        }
    }
    // The draw is kept since these seeds show an effect and no other, and of hundreds of draws some do so by chance. Other seeds tell.
    let again = |state: &Profile| Ok::<_, Error>(ran(&base, state, AGAIN.0, AGAIN.1)?.0);
    let with = again(&alone)?;
    let told = of(&again(&draw.a)?, &with).filter(|pair| is_shown(pair) && sum(pair).signum() == effect.signum());
    match told {
        Some(told) if is_little(sum(&told), &with, &again(&b)?) => Ok(Some((name, permille(&told)))),
        _ => Ok(None),
    }
}

/// Metrics that people ask for: no single tasks, and no extremes, which need more seeds than anybody makes.
fn is_asked_for(name: &str) -> bool {
    !name.starts_with("tasks.") && !name.contains("max") && !name.contains(".p99.9")
}

/// The runs of a state with seeds from `from` on: the metrics of each, and the digests.
fn ran(base: &Scenario, state: &Profile, from: u64, seeds: u64) -> Result<(Vec<Vec<Metric>>, Vec<u128>), Error> {
    let side = base.with_profile(state.clone());
    let outcomes: Result<Vec<_>, Error> = (0..seeds)
        .into_par_iter()
        .map(|seed| {
            run::run(&side.with_seed(from + seed), &RunOptions::default(), &mut NullSink, Control::none())
                .map(|outcome| (outcome.metrics, outcome.digest))
        })
        .collect();
    Ok(outcomes?.into_iter().unzip())
}

/// The difference of the sums.
fn sum(pair: &Paired) -> i128 {
    pair.a.iter().zip(&pair.b).map(|(&a, &b)| i128::from(b) - i128::from(a)).sum()
}

/// The difference in thousandths of the first side.
fn permille(pair: &Paired) -> i128 {
    let before: i128 = pair.a.iter().map(|&value| i128::from(value)).sum();
    if before == 0 { 0 } else { sum(pair) * 1000 / before }
}

/// Whether it is more than chance and at least what matters.
fn moves(pair: &Paired, p_one_in: u64) -> bool {
    let verdict = pair.compare(Rule { p_one_in, worth_permille: WORTH_PERMILLE }).verdict;
    matches!(verdict, Verdict::Better | Verdict::Worse | Verdict::Differs)
}
