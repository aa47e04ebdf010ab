//! Runs of states with the same seeds, each made once.

use crate::BisectOptions;
use fairground::run::{self, RunEnding, RunOptions};
use fairground_metrics::{Metric, Paired, Rule, Verdict};
use fairground_model::NullSink;
use fairground_scenario::{Control, Error, Scenario};
use fairground_sched::profile::Profile;
use fairground_stdx::nearest;
use rayon::prelude::*;

/// What a difference between two states does to the metric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The metric before it, as held, for each seed.
    pub from: Vec<u64>,
    /// The same after it.
    pub to: Vec<u64>,
    /// Whether that is more than chance, and enough to matter.
    pub moves: bool,
}

impl Effect {
    /// The sum of the differences.
    pub fn difference(&self) -> i128 {
        self.differences().iter().sum()
    }
    /// The differences, one for each seed.
    pub fn differences(&self) -> Vec<i128> {
        self.from.iter().zip(&self.to).map(|(&from, &to)| i128::from(to) - i128::from(from)).collect()
    }
    /// The sum before it.
    pub fn before(&self) -> i128 {
        self.from.iter().map(|&value| i128::from(value)).sum()
    }
}

/// The runs of a search.
pub(crate) struct Runs<'a> {
    scenario: &'a Scenario,
    options: &'a BisectOptions,
    control: Control<'a>,
    /// Each state that was run, with the metric for each seed.
    known: Vec<(Profile, Vec<u64>)>,
    metric: Option<Metric>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(scenario: &'a Scenario, options: &'a BisectOptions, control: Control<'a>) -> Runs<'a> {
        Runs { scenario, options, control, known: Vec::new(), metric: None }
    }
    /// How many runs were made.
    pub(crate) fn made(&self) -> usize {
        self.known.len() * self.options.runs.max(1) as usize
    }
    /// The metric, from the first runs; `None` if the caller stopped it.
    pub(crate) fn metric(&mut self, states: &[Profile]) -> Result<Option<Metric>, Error> {
        if self.make(states)?.is_none() {
            return Ok(None);
        }
        Ok(self.metric.clone())
    }

    /// Runs the states that were not run yet, on all CPUs of this host; `None` if the caller stopped it.
    pub(crate) fn make(&mut self, states: &[Profile]) -> Result<Option<()>, Error> {
        let mut new: Vec<&Profile> = Vec::new();
        for state in states {
            if self.values(state).is_none() && !new.iter().any(|other| acts_alike(other, state)) {
                new.push(state);
            }
        }
        let seeds = self.options.runs.max(1);
        let jobs: Vec<Scenario> = new
            .iter()
            .flat_map(|state| {
                let side = self.scenario.with_profile((*state).clone());
                (0..seeds).map(move |run| side.with_seed(side.seed.wrapping_add(run))).collect::<Vec<_>>()
            })
            .collect();
        let control = self.control;
        let ran: Result<Vec<_>, Error> =
            jobs.par_iter().map(|job| run::run(job, &RunOptions::default(), &mut NullSink, control.quiet())).collect();
        let ran = ran?;
        if ran.iter().any(|outcome| outcome.ending == RunEnding::Interrupted) {
            return Ok(None);
        }
        for (state, outcomes) in new.into_iter().zip(ran.chunks(seeds as usize)) {
            let values: Result<Vec<u64>, Error> = outcomes.iter().map(|outcome| self.read(&outcome.metrics)).collect();
            self.known.push((state.clone(), values?));
        }
        self.control.at(self.known.len() as u64, self.known.len() as u64 + 1);
        Ok(Some(()))
    }

    /// The metric of a run.
    fn read(&mut self, metrics: &[Metric]) -> Result<u64, Error> {
        let name = &self.options.metric;
        if let Some(metric) = metrics.iter().find(|metric| metric.name == *name) {
            self.metric.get_or_insert_with(|| Metric { value: 0, ..metric.clone() });
            return Ok(metric.value);
        }
        let near = nearest::nearest(name, metrics.iter().map(|metric| metric.name.as_str()));
        let hint = near.map_or("`fairground list metrics` has them all.".to_string(), |near| format!("Did you mean `{near}`?"));
        Err(Error::one("--metric", format!("no run has a metric `{name}`"), hint))
    }

    fn values(&self, state: &Profile) -> Option<&Vec<u64>> {
        self.known.iter().find(|row| acts_alike(&row.0, state)).map(|row| &row.1)
    }

    /// What lies between two states; `None` if the caller stopped it.
    pub(crate) fn effect(&mut self, from: &Profile, to: &Profile) -> Result<Option<Effect>, Error> {
        if self.make(&[from.clone(), to.clone()])?.is_none() {
            return Ok(None);
        }
        let (Some(from), Some(to), Some(metric)) = (self.values(from), self.values(to), &self.metric) else { return Ok(None) };
        let pairs =
            Paired { name: metric.name.clone(), unit: metric.unit, better: metric.better, a: from.clone(), b: to.clone() };
        let rule = Rule { worth_permille: self.options.worth_permille, ..Rule::default() };
        let verdict = pairs.compare(rule).verdict;
        let moves = !matches!(verdict, Verdict::NoDifference | Verdict::Inconclusive);
        Ok(Some(Effect { from: from.clone(), to: to.clone(), moves }))
    }

    /// Whether the mean of a state lies nearer to `after` than to `before`.
    pub(crate) fn is_nearer_to(&mut self, state: &Profile, before: &Profile, after: &Profile) -> Result<Option<bool>, Error> {
        if self.make(std::slice::from_ref(state))?.is_none() {
            return Ok(None);
        }
        let sum = |state: &Profile| self.values(state).map(|values| values.iter().map(|&value| i128::from(value)).sum::<i128>());
        let (Some(here), Some(from), Some(to)) = (sum(state), sum(before), sum(after)) else { return Ok(None) };
        Ok(Some(here.abs_diff(to) < here.abs_diff(from)))
    }
}

/// Whether two profiles run alike, whatever they are called.
fn acts_alike(a: &Profile, b: &Profile) -> bool {
    a.rows_apart(b).is_empty()
}
