//! `bisect`: which change of the kernel moved a metric?
//!
//! # The problem
//!
//! Two kernels differ in dozens of rows: seams, feature switches, tunables. A metric moved between them. People build and boot
//! kernels for days to find the change. Here each state between the two is a profile, and a run takes seconds.
//!
//! # The rule
//!
//! ```text
//! 1. the ends        both kernels with the same seeds; a difference that could be chance, or is too small, ends the search
//! 2. the history     each version between at which a row changed, in order: which steps move the metric? (runs.rs)
//! 3. the rows        within such a step: rows that the core can run apart only together are one unit (units.rs);
//!                    the smallest set of units that carries the metric over to the other side (search.rs)
//! 4. the remainder   what the changes that were found leave over
//! ```
//!
//! A state counts as carried over if its mean lies nearer to the end of the step than to its beginning. The search takes the
//! shortest prefix of the units that does so. Its last unit is needed; it is kept, and the search goes on before it. So two
//! changes that act only together are found in twice the runs of one. At the end each unit that can be left out is.
//!
//! States between the kernels that can be run otherwise are mixes of rows: they are consistent, and not held against a
//! recording.

mod runs;
mod search;
mod show;
mod units;

pub use runs::Effect;
pub use show::{document, summary, tables};

use fairground::compare::{self, CompareOptions};
use fairground_metrics::Metric;
use fairground_scenario::{Control, Error, Scenario};
use fairground_sched::profile::{Change, Profile};
use runs::Runs;
use search::Trial;

/// So many steps of the history are taken apart, those that move the metric most.
const STEPS_AT_MOST: usize = 3;
/// So many changes are named of a step.
const CHANGES_AT_MOST: usize = 3;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BisectOptions {
    /// The first profile; the scenario's if there is none.
    pub a: Option<String>,
    /// The second profile; the first one's if there is none.
    pub b: Option<String>,
    /// Changes that make the second side out of its profile: a feature, `NAME=VALUE`, or `+overlay`.
    pub changes: Vec<String>,
    /// The metric, by name.
    pub metric: String,
    /// The least change of its mean that matters, in thousandths of the first side's.
    pub worth_permille: u64,
    /// The number of seeds, from the scenario's on.
    pub runs: u64,
}

/// A step of the history.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// The kernel before it.
    pub from: String,
    /// The kernel that made it.
    pub to: String,
    /// How many rows it changed.
    pub rows: usize,
    /// What it did to the metric.
    pub effect: Effect,
}

/// A change that moved the metric: one row, or several that act only together.
#[derive(Clone, PartialEq, Debug)]
pub struct Culprit {
    /// The step in which it lies.
    pub step: usize,
    /// Its rows: what they were, what they became, and since when.
    pub rows: Vec<Change>,
    /// What it does to the metric alone, from the state before it.
    pub effect: Effect,
    /// What each of its units does alone, if it has several.
    pub alone: Vec<(String, Effect)>,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Bisected {
    /// The metric, with no value.
    pub metric: Metric,
    /// Both profiles.
    pub a: Profile,
    /// See `a`.
    pub b: Profile,
    /// How many rows differ.
    pub rows: usize,
    /// The whole difference.
    pub effect: Effect,
    /// The history; empty if the ends do not differ enough.
    pub steps: Vec<Step>,
    /// What moved the metric, in order of the history.
    pub culprits: Vec<Culprit>,
    /// What is left over of the difference's sum.
    pub remainder: i128,
    /// The seeds.
    pub runs: u64,
    /// How many runs were made.
    pub made: usize,
}

impl Bisected {
    /// 0: nothing moved, or it is found; 4: it moved, and no change was found for it.
    pub fn exit_code(&self) -> u8 {
        if self.effect.moves && self.culprits.is_empty() { 4 } else { 0 }
    }
}

/// Finds what moved a metric between two profiles; `None` if the caller stopped it.
pub fn bisect(scenario: &Scenario, options: &BisectOptions, control: Control<'_>) -> Result<Option<Bisected>, Error> {
    let sides = CompareOptions {
        a: options.a.clone(),
        b: options.b.clone(),
        changes: options.changes.clone(),
        ..CompareOptions::default()
    };
    let (a, b) = compare::sides(scenario, &sides)?;
    let (a, b) = (a.profile, b.profile);
    let mut runs = Runs::new(scenario, options, control);
    let Some(metric) = runs.metric(&[a.clone(), b.clone()])? else { return Ok(None) };
    let Some(effect) = runs.effect(&a, &b)? else { return Ok(None) };
    let rows = a.rows_apart(&b).len();
    let made = runs.made();
    let mut found = Bisected {
        metric,
        a: a.clone(),
        b: b.clone(),
        rows,
        effect,
        steps: Vec::new(),
        culprits: Vec::new(),
        remainder: 0,
        runs: options.runs.max(1),
        made,
    };
    if found.effect.moves {
        let way = a.way_to(&b);
        if runs.make(&way)?.is_none() {
            return Ok(None);
        }
        for pair in way.windows(2) {
            let Some(effect) = runs.effect(&pair[0], &pair[1])? else { return Ok(None) };
            let (from, to, rows) = (pair[0].full_name(), pair[1].full_name(), pair[0].rows_apart(&pair[1]).len());
            found.steps.push(Step { from, to, rows, effect });
        }
        for (step, before, after) in movers(&found, &way, &a, &b) {
            let Some(culprits) = culprits(&mut runs, step, before, after)? else { return Ok(None) };
            found.culprits.extend(culprits);
        }
        let explained: i128 = found.culprits.iter().map(|culprit| culprit.effect.difference()).sum();
        found.remainder = found.effect.difference() - explained;
    }
    found.made = runs.made();
    Ok(Some(found))
}

/// The steps that move the metric, in order; if none does by itself, the whole way is one.
fn movers(found: &Bisected, way: &[Profile], a: &Profile, b: &Profile) -> Vec<(usize, Profile, Profile)> {
    let mut steps: Vec<usize> = (0..found.steps.len()).filter(|&step| found.steps[step].effect.moves).collect();
    if steps.is_empty() {
        return vec![(found.steps.len().saturating_sub(1), a.clone(), b.clone())];
    }
    steps.sort_by_key(|&step| std::cmp::Reverse(found.steps[step].effect.difference().unsigned_abs()));
    steps.truncate(STEPS_AT_MOST);
    steps.sort_unstable();
    steps.into_iter().map(|step| (step, way[step].clone(), way[step + 1].clone())).collect()
}

/// What moves the metric within a step: the first set of changes, then what else the rest of the step holds.
fn culprits(runs: &mut Runs<'_>, step: usize, before: Profile, after: Profile) -> Result<Option<Vec<Culprit>>, Error> {
    let mut found = Vec::new();
    let mut before = before;
    while found.len() < CHANGES_AT_MOST {
        let Some(left) = runs.effect(&before, &after)? else { return Ok(None) };
        if !left.moves && !found.is_empty() {
            break;
        }
        let units = units::units(&before, &after);
        let mut way = Way { runs, before: &before, after: &after, units: &units };
        let Some(needed) = search::smallest(&mut way, units.len())? else { return Ok(None) };
        if needed.is_empty() {
            break;
        }
        let rows = way.rows(&needed);
        let Ok(with) = before.with_rows(&after, &rows) else { break };
        let Some(effect) = runs.effect(&before, &with)? else { return Ok(None) };
        let mut alone = Vec::new();
        for unit in needed.iter().filter(|_| needed.len() > 1).map(|&unit| &units[unit]) {
            if let Ok(one) = before.with_rows(&after, unit) {
                let Some(effect) = runs.effect(&before, &one)? else { return Ok(None) };
                alone.push((unit.join(", "), effect));
            }
        }
        let changes = before.changes(&after).into_iter().filter(|change| rows.contains(&change.to.name)).collect();
        found.push(Culprit { step, rows: changes, effect, alone });
        before = with;
    }
    Ok(Some(found))
}

/// A step, with the units of its rows.
struct Way<'a, 'r> {
    runs: &'a mut Runs<'r>,
    before: &'a Profile,
    after: &'a Profile,
    units: &'a [Vec<&'static str>],
}

impl Way<'_, '_> {
    fn rows(&self, units: &[usize]) -> Vec<&'static str> {
        let mut rows: Vec<&'static str> = units.iter().flat_map(|&unit| self.units[unit].iter().copied()).collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
    fn mix(&self, units: &[usize]) -> Option<Profile> {
        self.before.with_rows(self.after, &self.rows(units)).ok()
    }
}

impl Trial<Error> for Way<'_, '_> {
    fn runs(&self, units: &[usize]) -> bool {
        self.mix(units).is_some()
    }
    fn carries(&mut self, units: &[usize]) -> Result<Option<bool>, Error> {
        match self.mix(units) {
            None => Ok(Some(false)),
            Some(mixed) => self.runs.is_nearer_to(&mixed, self.before, self.after),
        }
    }
}
