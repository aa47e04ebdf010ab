//! Regressions that people reported in public: each a file of figures, and scenarios in `scenarios/regressions/`.
//!
//! A file says what is run and what of it is judged ([`plan`]); nothing here knows one of them. *Sides* are a scenario under a kernel. A row is a
//! metric of a side, or how it compares with that of another side, seed by seed. A claim is the same with a sentence in place of a published
//! figure. `bisect` says which changes, and no others, are to be named between two sides.

mod course;
mod files;
mod plan;

use super::published::Published;
use super::runs::{Runs, run_all};
use crate::experiment::{ReproduceOptions, Reproduced};
use fairground::run::{RunOptions, run as run_scenario};
use fairground_bisect::{BisectOptions, bisect};
use fairground_metrics::{Decimal, Metric};
use fairground_model::NullSink;
use fairground_report::{Claim, Kind, Quantity, Reproduction, ReproductionRow, Simulated};
use fairground_scenario::{Control, Error};
use plan::{Asked, Figure, Plan, Side};

pub(super) use files::{EEVDF_DATABASES, PIPE_DELAY_DEQUEUE, POSTGRES_PREEMPT, RT_SHARE, Regression, SCHBENCH_NEWIDLE};

/// The seeds from which searches for the change begin.
const FIRST_SEEDS: [u64; 5] = [1, 101, 201, 301, 401];
/// The least change that a search looks for, in thousandths: that of `fairground bisect`.
const WORTH_PERMILLE: u64 = 20;
/// Seeds of a search at most: those of `fairground bisect`.
const SEARCH_SEEDS: u64 = 64;

/// Runs one of them.
pub(super) fn run(regression: &Regression, options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let published = Published::open(regression.file, regression.figures)?;
    let plan = Plan::of(regression, &published)?;
    run_plan(regression.name, &published, plan, options, control)
}

fn run_plan(
    name: &str,
    published: &Published,
    plan: Plan,
    options: &ReproduceOptions,
    control: Control<'_>,
) -> Result<Reproduced, Error> {
    let plan = &if options.quick { plan.quick() } else { plan };
    let searches: &[u64] = if options.quick { &FIRST_SEEDS[..1] } else { &FIRST_SEEDS };
    let jobs: Vec<(usize, u64)> = plan.run.iter().flat_map(|&side| (1..=plan.seeds).map(move |seed| (side, seed))).collect();
    let total = (jobs.len() + plan.asked.len() * searches.len()) as u64;
    let (mut runs, mut done) = (Runs::default(), 0);
    let one = |&(side, seed): &(usize, u64)| {
        let scenario = plan.sides[side].scenario.with_seed(seed);
        let outcome = run_scenario(&scenario, &RunOptions::default(), &mut NullSink, Control::none())?;
        Ok((side, outcome.digest, outcome.metrics))
    };
    let mut given: Vec<Vec<Vec<Metric>>> = vec![Vec::new(); plan.sides.len()];
    for (side, digest, metrics) in run_all(&jobs, &mut done, total, control, one)?.into_iter().flatten() {
        runs.add(digest);
        given[side].push(metrics);
    }
    let rows = plan.rows.iter().map(|(id, figure)| row(id, figure, plan, &given));
    let courses = plan.courses.iter().map(|course| course.row(plan, &given));
    let rows = rows.chain(courses).collect::<Result<Vec<_>, Error>>()?;
    let mut claims = Vec::new();
    for (id, figure) in &plan.claims {
        let shown = row(id, figure, plan, &given)?;
        let value = if let Quantity::Number(value) = shown.simulated.median { Some(value) } else { None };
        claims.push(Claim { id: id.clone(), holds: shown.within() == Some(true), value });
    }
    for asked in &plan.asked {
        claims.extend(named_alone(asked, plan, searches, &mut done, total, control)?);
    }
    let reproduction =
        Reproduction { experiment: name.into(), quick: options.quick, rows, claims, calibration: Vec::new(), tables: Vec::new() };
    Ok(runs.reproduced(reproduction, &[published], control))
}

/// A figure beside what was published.
fn row(id: &str, figure: &Figure, plan: &Plan, given: &[Vec<Vec<Metric>>]) -> Result<ReproductionRow, Error> {
    let of = values(figure.of, &figure.metric, plan, given)?;
    let unit = if figure.by.is_some() { "times" } else { of.first().map_or("", |metric| metric.unit.name()) };
    let shown: Vec<Decimal> = match figure.by {
        None => of.iter().map(|metric| Decimal::ratio(metric.value, metric.unit.scale())).collect(),
        Some(by) => {
            let by = values(by, &figure.metric, plan, given)?;
            let ratio =
                |(of, by): (&&Metric, &&Metric)| Some(Decimal::ratio(of.value.checked_mul(1000)?.checked_div(by.value)?, 1000));
            of.iter().zip(&by).filter_map(ratio).collect()
        }
    };
    Ok(ReproductionRow {
        id: id.into(),
        unit: unit.into(),
        published: figure.published,
        simulated: Simulated::spread(shown),
        kind: if figure.is_calibrated { Kind::Calibrated } else { Kind::Predicted },
        band: figure.band,
    })
}

/// A metric in each run of a side. A run that lacks it is an error of the file.
fn values<'m>(side: usize, name: &str, plan: &Plan, given: &'m [Vec<Vec<Metric>>]) -> Result<Vec<&'m Metric>, Error> {
    let missing =
        || Error::one(&plan.sides[side].name, format!("its runs have no metric `{name}`"), "It is an error in this build.");
    given[side].iter().map(|run| run.iter().find(|metric| metric.name == name).ok_or_else(missing)).collect()
}

/// Whether each search between two sides names the changes of the file, and no others; `None` if the caller stopped it.
fn named_alone(
    asked: &Asked,
    plan: &Plan,
    searches: &[u64],
    done: &mut u64,
    total: u64,
    control: Control<'_>,
) -> Result<Option<Claim>, Error> {
    let [a, b] = [&plan.sides[asked.a], &plan.sides[asked.b]];
    let options = BisectOptions {
        a: Some(a.profile.clone()),
        b: Some(b.profile.clone()),
        changes: b.changes.iter().chain(&b.set).cloned().collect(),
        metric: asked.metric.clone(),
        worth_permille: WORTH_PERMILLE,
        runs: SEARCH_SEEDS,
    };
    let mut right = 0;
    for &seed in searches {
        let Some(found) = bisect(&a.scenario.with_seed(seed), &options, control)? else { return Ok(None) };
        let mut names: Vec<&str> = found.culprits.iter().flat_map(|culprit| culprit.names()).collect();
        names.sort_unstable();
        right += u64::from(names == asked.names);
        *done += 1;
        control.at(*done, total);
    }
    let side = |side: &Side| {
        if side.changes.is_empty() { side.profile.clone() } else { format!("{} {}", side.profile, side.changes.join(" ")) }
    };
    let id = format!(
        "bisect from {} to {} names {} alone, from each of {} first seeds",
        side(a),
        side(b),
        asked.names.join(", "),
        searches.len()
    );
    Ok(Some(Claim { id, holds: right == searches.len() as u64, value: Some(Decimal::from(right)) }))
}

#[cfg(test)]
mod tests;
