//! What a result rests on: the same runs with the prices of each class of costs times 0.5 and times 2, one class at a time.
//!
//! A class that no run at the given prices counts cannot change anything, so it is named and not run again.

mod outcome;
mod show;
#[cfg(test)]
mod tests;

use outcome::judged;
pub use outcome::{Case, MetricCases, Prices, Sensitivity, Sign};

use crate::compare::{self, CompareOptions};
use crate::run::{self, RunEnding, RunOptions};
use fairground_machine::Machine;
use fairground_metrics::{Metric, Rule};
use fairground_model::{CostClass, Digest, MarkerUnit, NullSink, TaskSet, TimeSpent};
use fairground_scenario::{Control, Error, Scenario, metrics::metrics_to_come};
use fairground_stdx::Factor;
use fairground_stdx::nearest;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// By what each class is multiplied, one after the other.
pub const FACTORS: [Factor; 2] = [Factor::HALF, Factor::DOUBLE];

/// What is looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SensitivityOptions {
    /// Metrics by name; without any those that the workloads measure, and the latency of wake-ups.
    pub metrics: Vec<String>,
    /// The baseline's profile; the scenario's if there is none.
    pub a: Option<String>,
    /// The other side's profile. With it or with changes, what is looked at is the change from the baseline to that side.
    pub b: Option<String>,
    /// Changes that make the other side out of its profile, as in [`CompareOptions`].
    pub changes: Vec<String>,
    /// Seeds from the scenario's on; values are their means.
    pub runs: u64,
    /// The smallest effect that matters, in thousandths of a mean; half a percent if left out.
    pub worth_permille: Option<u64>,
    /// Threads; 0 = one per CPU of this host.
    pub threads: usize,
}

/// A machine on which all prices of a class are multiplied.
pub fn scaled(machine: &Machine, class: CostClass, factor: Factor) -> Result<Machine, Error> {
    let mut scaled = machine.clone();
    let done = scaled.scale_class(class, factor, "sensitivity");
    done.map_err(|wrong| Error::input(format!("prices of {}", machine.name), "", wrong))?;
    Ok(scaled)
}

/// Runs a scenario at its prices, then with each class of costs at each of [`FACTORS`] times its prices.
pub fn sensitivity(scenario: &Scenario, options: &SensitivityOptions, control: Control<'_>) -> Result<Sensitivity, Error> {
    let plan = Plan {
        sides: sides(scenario, options)?,
        metrics: chosen(&scenario.tasks(), &options.metrics)?,
        seeds: options.runs.max(1),
        rule: Rule { worth_permille: options.worth_permille.unwrap_or(Rule::default().worth_permille), ..Rule::default() },
        pool: pool(options.threads)?,
    };
    // All machines are made before the first run: a price that gets too expensive is found at once.
    let all = CostClass::ALL.iter().flat_map(|&class| FACTORS.map(|factor| (class, factor)));
    let machines = all.map(|(class, factor)| Ok((Prices::Scaled(class, factor), scaled(&scenario.machine, class, factor)?)));
    let mut settings = vec![(Prices::AsGiven, scenario.machine.clone())];
    settings.extend(machines.collect::<Result<Vec<_>, Error>>()?);
    let progress = Counted { control, done: AtomicU64::new(0), total: plan.runs(&settings) };
    control.at(0, progress.total);

    let mut done = plan.run(&settings[..1], &progress)?;
    let is_used = |class: &CostClass| done.iter().any(|one| one.spent.class(*class).0 > 0);
    let unused: Vec<CostClass> = CostClass::ALL.iter().copied().filter(|class| !is_used(class)).collect();
    let all = settings.len();
    settings.retain(|(prices, _)| prices.class().is_none_or(|class| !unused.contains(&class)));
    progress.done.fetch_add(plan.runs_of(all - settings.len()), Ordering::Relaxed);
    done.extend(plan.run(&settings[1..], &progress)?);
    Ok(plan.collect(scenario, &settings, unused, &done))
}

/// What all settings of prices have in common.
struct Plan {
    /// The baseline, and the other side if there is one.
    sides: Vec<Scenario>,
    metrics: Vec<Metric>,
    seeds: u64,
    rule: Rule,
    pool: rayon::ThreadPool,
}

/// What is kept of a run.
struct One {
    metrics: Vec<Metric>,
    spent: TimeSpent,
    digest: u128,
    interrupted: bool,
}

/// How far all runs together are.
struct Counted<'a> {
    control: Control<'a>,
    done: AtomicU64,
    total: u64,
}

impl Plan {
    fn runs_of(&self, settings: usize) -> u64 {
        self.seeds * (self.sides.len() * settings) as u64
    }
    fn runs(&self, settings: &[(Prices, Machine)]) -> u64 {
        self.runs_of(settings.len())
    }
    /// Runs both sides with all seeds at each setting of prices. The order is that of the jobs, whoever runs them.
    fn run(&self, settings: &[(Prices, Machine)], progress: &Counted<'_>) -> Result<Vec<One>, Error> {
        let (sides, seeds) = (self.sides.len(), self.seeds as usize);
        let one = |job: usize| {
            let side = &self.sides[job % sides];
            let seed = side.seed.wrapping_add((job / sides % seeds) as u64);
            let scenario = side.with_seed(seed).with_machine(settings[job / sides / seeds].1.clone());
            let outcome = run::run(&scenario, &RunOptions::default(), &mut NullSink, progress.control.quiet())?;
            progress.control.at(progress.done.fetch_add(1, Ordering::Relaxed) + 1, progress.total);
            let interrupted = outcome.ending == RunEnding::Interrupted;
            Ok(One { metrics: outcome.metrics, spent: outcome.spent, digest: outcome.digest, interrupted })
        };
        // `collect` of an indexed iterator keeps the order of the numbers.
        self.pool.install(|| (0..settings.len() * sides * seeds).into_par_iter().map(one).collect())
    }
    fn collect(&self, scenario: &Scenario, settings: &[(Prices, Machine)], unused: Vec<CostClass>, done: &[One]) -> Sensitivity {
        let of_setting = self.runs_of(1) as usize;
        // A metric on one side, seed by seed.
        let values = |runs: &[One], side: usize, name: &str| -> Vec<u64> {
            let own = runs.iter().skip(side).step_by(self.sides.len());
            let found = own.map(|one| one.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value));
            found.map(Option::unwrap_or_default).collect()
        };
        let case = |prices: Prices, runs: &[One], name: &str| Case {
            prices,
            a: values(runs, 0, name),
            b: (self.sides.len() > 1).then(|| values(runs, 1, name)),
        };
        let cases_of = |metric: &Metric| MetricCases {
            metric: metric.clone(),
            cases: settings.iter().zip(done.chunks(of_setting)).map(|(row, runs)| case(row.0, runs, &metric.name)).collect(),
        };
        let mut digest = Digest::default();
        done.iter().for_each(|one| digest.bytes(&one.digest.to_le_bytes()));
        let metrics: Vec<MetricCases> = self.metrics.iter().map(cases_of).collect();
        Sensitivity {
            judged: judged(&metrics, self.rule),
            worth_permille: self.rule.worth_permille,
            title: scenario.title.clone(),
            sides: self.sides.iter().map(|side| side.profile.full_name()).collect(),
            seeds: self.seeds,
            metrics,
            spent: done.first().map(|one| one.spent.clone()),
            unused,
            digest: digest.value(),
            interrupted: done.iter().any(|one| one.interrupted),
        }
    }
}

fn sides(scenario: &Scenario, options: &SensitivityOptions) -> Result<Vec<Scenario>, Error> {
    let (a, b) = (options.a.clone(), options.b.clone());
    if b.is_some() || !options.changes.is_empty() {
        let pair = CompareOptions { a, b, changes: options.changes.clone(), ..CompareOptions::default() };
        let (a, b) = compare::sides(scenario, &pair)?;
        return Ok(vec![a, b]);
    }
    Ok(vec![compare::baseline(scenario, a.as_deref())?])
}

/// The metrics that are asked for, or those that every reader of the scenario looks at first.
fn chosen(tasks: &TaskSet, names: &[String]) -> Result<Vec<Metric>, Error> {
    let known = metrics_to_come(tasks);
    let defaults = default_metrics(tasks, &known);
    let names = if names.is_empty() { &defaults } else { names };
    let find = |name: &String| {
        known.iter().find(|metric| metric.name == *name).cloned().ok_or_else(|| {
            let hint = nearest::hint(name, "Metrics of this run", known.iter().map(|metric| metric.name.as_str()).take(40));
            Error::one("--metric", format!("this run has no metric `{name}`"), hint)
        })
    };
    names.iter().map(find).collect()
}

/// Of each measurement of the workloads its rate, or else its middle and its tail; then the latency of wake-ups.
fn default_metrics(tasks: &TaskSet, known: &[Metric]) -> Vec<String> {
    let is_known = |name: &String| known.iter().any(|metric| metric.name == *name);
    let of_marker = |name: &str, unit: MarkerUnit| {
        let rate = format!("{name}.per_second");
        match unit {
            MarkerUnit::Count | MarkerUnit::Event if is_known(&rate) => vec![rate],
            MarkerUnit::Count | MarkerUnit::Event => vec![format!("{name}.mean")],
            MarkerUnit::PerSecond => vec![format!("{name}.p50")],
            MarkerUnit::Left => vec![format!("{name}.p50")],
            MarkerUnit::Ns | MarkerUnit::WholeUs | MarkerUnit::EachUs => vec![format!("{name}.p50"), format!("{name}.p99")],
        }
    };
    let own = tasks.markers.iter().flat_map(|marker| of_marker(&marker.name, marker.unit));
    own.chain(["p50", "p99"].map(|name| format!("wakeup_latency_us.{name}"))).filter(is_known).collect()
}

fn pool(threads: usize) -> Result<rayon::ThreadPool, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| Error::World { what: "cannot start threads".into(), cause: std::io::Error::other(error) })
}
