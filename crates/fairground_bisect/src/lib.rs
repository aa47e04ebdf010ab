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
//! 2. the history     each version between at which a row changed, in order: which steps move the metric?
//! 3. the rows        within such a step: rows that the core can run apart only together are one unit (units.rs);
//!                    the smallest set of units that carries the metric over to the other side (search.rs),
//!                    and the earlier rows without which that set does nothing (hunt.rs)
//! 4. the rest        what is left over with these changes is searched as a whole
//! 5. the others      without the change, is the metric where it is with it? Then other rows do the same
//! ```
//!
//! A state counts as carried over if its mean lies nearer to the end of the step than to its beginning. The search takes the
//! shortest prefix of the units that does so. Its last unit is needed; it is kept, and the search goes on before it. So two
//! changes that act only together are found in twice the runs of one. At the end each unit that can be left out is.
//!
//! Few seeds are made first, and more only where they do not tell (decide.rs). What does nothing is seen without a test: the
//! digests of the runs are equal.
//!
//! States between the kernels that can be run otherwise are mixes of rows: they are consistent, and not held against a
//! recording.

mod decide;
mod effect;
mod hunt;
mod page;
mod runs;
mod search;
mod show;
mod units;

pub use effect::Effect;
pub use page::file;
pub use show::{document, summary, tables};

use fairground::compare::{self, CompareOptions};
use fairground_metrics::Metric;
use fairground_scenario::{Control, Error, Scenario};
use fairground_sched::profile::{Change, Profile};
use hunt::Set;
use runs::{FIRST, HALF, Runs, Stop};

/// So many steps of the history are taken apart, those that move the metric most.
const STEPS_AT_MOST: usize = 3;
/// So many changes are named.
const CHANGES_AT_MOST: usize = 6;
/// Steps of the history, and what is left over, are looked at with so many seeds at most.
const SEEDS_OF_STEP: usize = 8;
/// A change is looked for if it may do this part of the whole difference.
const PART: i128 = 4;

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
    /// The number of seeds at most, from the scenario's on.
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
    /// What it did to the metric, over the first seeds.
    pub effect: Effect,
    /// Whether it is taken for one that moves it, by as many seeds as that took.
    pub moves: bool,
}

/// A change that moved the metric: one row, or several that act only together.
#[derive(Clone, PartialEq, Debug)]
pub struct Culprit {
    /// Its rows: what they were, what they became, and since when.
    pub rows: Vec<Change>,
    /// What it does to the metric, from the first side with the changes that are named before it.
    pub effect: Effect,
    /// What each of its units does alone, if it has several.
    pub alone: Vec<(String, Effect)>,
    /// Rows without which it cannot be run, and which do nothing to the metric themselves.
    pub needs: Vec<Change>,
    /// Rows that would have done the same without it.
    pub instead: Vec<&'static str>,
}

impl Culprit {
    /// The names of its rows. A row that several kernels changed stands in `rows` once for each.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = Vec::new();
        self.rows.iter().map(|row| row.to.name).for_each(|name| {
            if !names.contains(&name) {
                names.push(name);
            }
        });
        names
    }
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
    /// What is left over of the mean difference.
    pub remainder: i128,
    /// Seeds that it took to know the whole difference.
    pub seeds: usize,
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
    for side in [&a, &b] {
        side.profile.rules_are_ours().map_err(|wrong| Error::one("command line", wrong.message, wrong.hint))?;
    }
    between(scenario, [&a.profile, &b.profile], options, control)
}

/// The same between two profiles that need no name, such as mixes of kernels.
pub fn between(
    scenario: &Scenario,
    sides: [&Profile; 2],
    options: &BisectOptions,
    control: Control<'_>,
) -> Result<Option<Bisected>, Error> {
    let mut runs = Runs::new(scenario, &options.metric, options.worth_permille, options.runs, control);
    match found(&mut runs, sides, options.worth_permille) {
        Ok(found) => Ok(Some(found)),
        Err(Stop::Interrupted) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
    }
}

fn found(runs: &mut Runs<'_>, [a, b]: [&Profile; 2], worth_permille: u64) -> Result<Bisected, Stop> {
    let (effect, seeds) = runs.ends(a, b)?;
    let metric = runs.metric().expect("invariant: both ends have run").clone();
    let rows = a.rows_apart(b).len();
    let (steps, culprits) = (Vec::new(), Vec::new());
    let mut found =
        Bisected { metric, a: a.clone(), b: b.clone(), rows, effect, steps, culprits, remainder: 0, seeds, made: runs.made() };
    if found.effect.moves {
        let worth = found.effect.before() * i128::from(worth_permille) / 1000;
        let size = (found.effect.mean().abs() / PART).max(worth).max(1);
        let way = a.way_to(b);
        found.steps = history(runs, &way, size)?;
        let mut search = Search { runs, a, b, size, seeds, with: a.clone(), culprits: Vec::new() };
        for step in movers(&found.steps) {
            search.step(&way[step], &way[step + 1])?;
        }
        search.rest()?;
        search.others()?;
        let explained = search.runs.effect(a, &search.with, seeds)?;
        found.remainder = found.effect.mean() - explained.mean();
        found.culprits = search.culprits;
    }
    found.made = runs.made();
    Ok(found)
}

/// The metric at each state of the way.
fn history(runs: &mut Runs<'_>, way: &[Profile], size: i128) -> Result<Vec<Step>, Stop> {
    runs.make(&way.iter().collect::<Vec<_>>(), FIRST)?;
    let mut steps = Vec::new();
    for pair in way.windows(2) {
        let moves = runs.lies_apart(&pair[0], &pair[1], size, SEEDS_OF_STEP)?;
        let effect = runs.first_effect(&pair[0], &pair[1])?;
        let (from, to) = (pair[0].name.clone(), pair[1].name.clone());
        steps.push(Step { from, to, rows: pair[0].rows_apart(&pair[1]).len(), effect, moves });
    }
    Ok(steps)
}

/// The steps that move the metric most, in order.
fn movers(steps: &[Step]) -> Vec<usize> {
    let mut movers: Vec<usize> = (0..steps.len()).filter(|&step| steps[step].moves).collect();
    movers.sort_by_key(|&step| std::cmp::Reverse(steps[step].effect.mean().abs()));
    movers.truncate(STEPS_AT_MOST);
    movers.sort_unstable();
    movers
}

/// The search for changes, with those that were found.
struct Search<'s, 'r> {
    runs: &'s mut Runs<'r>,
    a: &'s Profile,
    b: &'s Profile,
    /// A change of so much is looked for.
    size: i128,
    /// Seeds over which effects are told.
    seeds: usize,
    /// The first side with the changes that were found.
    with: Profile,
    culprits: Vec<Culprit>,
}

impl Search<'_, '_> {
    /// What moves the metric within a step of the history, and what earlier rows it needs for that; then what is left of the step.
    fn step(&mut self, before: &Profile, after: &Profile) -> Result<(), Stop> {
        let mut from = before.clone();
        while self.culprits.len() < CHANGES_AT_MOST {
            let Some(set) = hunt::between(self.runs, &from, after)? else { break };
            let Some(next) = set.on(&from) else { break };
            let with = self.with.clone();
            let set = hunt::with_what_it_needs(self.runs, &with, set, (&from, after))?;
            self.take(&set)?;
            from = next;
            if !self.runs.lies_apart(&from, after, self.size, SEEDS_OF_STEP)? {
                break;
            }
        }
        Ok(())
    }

    /// What is left over between the changes that were found and the second side, as often as it is enough.
    fn rest(&mut self) -> Result<(), Stop> {
        while self.culprits.len() < CHANGES_AT_MOST {
            let with = self.with.clone();
            let most = self.seeds.max(SEEDS_OF_STEP);
            if !self.culprits.is_empty() && !self.runs.lies_apart(&with, self.b, self.size, most)? {
                break;
            }
            let before = self.culprits.len();
            if let Some(set) = hunt::between(self.runs, &with, self.b)? {
                self.take(&set)?;
            }
            if self.culprits.len() == before {
                break;
            }
        }
        Ok(())
    }

    /// Notes a set that was found. Units that add up, rather than act together, are changes of their own.
    fn take(&mut self, set: &Set) -> Result<(), Stop> {
        let Some(state) = set.on(&self.with) else { return Ok(()) };
        let effect = self.runs.effect(&self.with, &state, self.seeds)?;
        let mut alone = Vec::new();
        if set.units.len() > 1 {
            for unit in &set.units {
                let Ok(one) = self.with.with_rows(&set.after, unit) else { continue };
                alone.push((unit.clone(), self.runs.effect(&self.with, &one, self.seeds)?));
            }
            let sum: i128 = alone.iter().map(|(_, effect)| effect.mean()).sum();
            let add_up = (effect.mean() - sum).abs() * 3 <= effect.mean().abs();
            if add_up && alone.len() == set.units.len() && alone.iter().all(|(_, effect)| effect.mean().abs() >= self.size) {
                for (unit, _) in alone {
                    self.take(&Set { units: vec![unit], silent: set.silent.clone(), after: set.after.clone() })?;
                }
                return Ok(());
            }
        }
        let rows = set.rows();
        let changes = self.a.changes(&set.after).into_iter().filter(|change| rows.contains(&change.to.name));
        let (needs, changes) = changes.partition(|change: &Change| set.silent.contains(&change.to.name));
        let alone = alone.into_iter().map(|(unit, effect)| (unit.join(", "), effect)).collect();
        self.culprits.push(Culprit { rows: changes, effect, alone, needs, instead: Vec::new() });
        self.with = state;
        Ok(())
    }

    /// Whether the second side without a change stays where it is, since other rows do the same: of a change that explains most.
    fn others(&mut self) -> Result<(), Stop> {
        let [culprit] = self.culprits.as_slice() else { return Ok(()) };
        let rows = culprit.names();
        let Ok(without) = self.b.with_rows(self.a, &rows) else { return Ok(()) };
        if !self.runs.carries(self.a, &without, (self.a, self.b), HALF)? {
            return Ok(());
        }
        let others = hunt::between(self.runs, self.a, &without)?;
        if let (Some(others), Some(culprit)) = (others, self.culprits.first_mut()) {
            culprit.instead = others.rows();
        }
        Ok(())
    }
}
