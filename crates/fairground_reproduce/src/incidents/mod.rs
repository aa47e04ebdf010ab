//! `incidents`: published cases of CPU limits, each a scenario in `scenarios/incidents/` with its band.
//!
//! A row is an expectation of a scenario, or how a figure of two scenarios compares. It keeps its band, also when it is missed.

mod files;

use super::published::{Published, decimal};
use super::runs::{Runs, run_all};
use crate::experiment::{ReproduceOptions, Reproduced};
use fairground::run::{RunOptions, run as run_scenario};
use fairground_metrics::{Decimal, Metric};
use fairground_model::NullSink;
use fairground_report::{Band, Kind, Quantity, Reproduction, ReproductionRow, Simulated};
use fairground_scenario::{self, Control, Error, Overrides, Scenario};
use fairground_stdx::Ns;
use std::collections::BTreeMap;
use std::path::Path;
use toml_edit::{Item, TableLike};

/// Runs of what is not the same with each boot or seed; one of them is in the middle.
const RUNS: u64 = 9;

/// A scenario and what its runs gave.
struct Case {
    scenario: Scenario,
    name: &'static str,
    published: BTreeMap<String, Decimal>,
    /// The metrics of each run.
    runs: Vec<Vec<Metric>>,
}

pub(super) fn run(options: &ReproduceOptions, control: Control<'_>) -> Result<Reproduced, Error> {
    let published = Published::open("incidents.toml", include_str!("../published/incidents.toml"))?;
    let plans = files::ALL.iter().map(|&(name, text)| plan(&published, name, text)).collect::<Result<Vec<_>, Error>>()?;
    let total = plans.iter().map(|plan| plan.1.len() as u64).sum();
    let (mut runs, mut cases, mut done) = (Runs::default(), Vec::new(), 0);
    for (mut case, variants) in plans {
        let one = |variant: &Scenario| {
            let outcome = run_scenario(variant, &RunOptions::default(), &mut NullSink, Control::none())?;
            Ok((outcome.digest, outcome.metrics))
        };
        for (digest, metrics) in run_all(&variants, &mut done, total, control, one)?.into_iter().flatten() {
            runs.add(digest);
            case.runs.push(metrics);
        }
        if case.runs.len() < variants.len() {
            break;
        }
        cases.push(case);
    }
    let mut rows: Vec<ReproductionRow> = cases.iter().flat_map(Case::rows).collect();
    rows.extend(published.rows("ratio").filter_map(|row| ratio(row, &cases)));
    let reproduction = Reproduction {
        experiment: "incidents".into(),
        quick: options.quick,
        rows,
        claims: Vec::new(),
        calibration: Vec::new(),
        tables: Vec::new(),
    };
    Ok(runs.reproduced(reproduction, &[&published], control))
}

/// A scenario, and how it is run: once, at several phases of the ticks, or with several seeds.
fn plan(published: &Published, name: &'static str, text: &str) -> Result<(Case, Vec<Scenario>), Error> {
    let scenario = Scenario::parse(name, text, Path::new(""), &Overrides::default())?;
    let table = published.root().get("scenarios").and_then(|all| all.get(name)).and_then(Item::as_table_like);
    let runs = table.and_then(|table| table.get("runs")).and_then(Item::as_str).unwrap_or("one");
    let variants = match runs {
        "boots" => (0..RUNS).map(|boot| at_phase(&scenario, boot)).collect(),
        "seeds" => (1..=RUNS).map(|seed| scenario.with_seed(seed)).collect(),
        _ => vec![scenario.clone()],
    };
    let figures = table.and_then(|table| table.get("published")).and_then(Item::as_table_like);
    let published = figures.map(numbers).unwrap_or_default();
    Ok((Case { scenario, name, published, runs: Vec::new() }, variants))
}

fn numbers(table: &dyn TableLike) -> BTreeMap<String, Decimal> {
    let whole = |value: &Item| u64::try_from(value.as_integer()?).ok().map(Decimal::from);
    table.iter().filter_map(|(key, value)| Some((key.to_string(), whole(value)?))).collect()
}

/// The scenario after one of so many boots, between which ticks fall anywhere: in the middle of such a part of a tick.
fn at_phase(scenario: &Scenario, boot: u64) -> Scenario {
    let mut machine = scenario.machine.clone();
    machine.tick_phase = Ns(machine.tick.ns() * (2 * boot + 1) / (2 * RUNS));
    scenario.with_machine(machine)
}

impl Case {
    /// One row per expectation of the scenario.
    fn rows(&self) -> impl Iterator<Item = ReproductionRow> + '_ {
        self.scenario.bands.iter().map(|band| {
            let value = |metrics: &Vec<Metric>| metrics.iter().find(|metric| metric.name == band.metric).map(shown);
            let unit = self.runs.first().and_then(|run| run.iter().find(|metric| metric.name == band.metric));
            let scale = unit.map_or(1, |metric| metric.unit.scale());
            let limit =
                |limit: &Option<fairground_scenario::Limit>| limit.as_ref().map(|limit| Decimal::ratio(limit.held, scale));
            ReproductionRow {
                id: format!("{}.{}", self.name, band.metric),
                unit: unit.map_or("", |metric| metric.unit.name()).into(),
                published: self.published.get(&band.metric).map_or(Quantity::Unknown, |&number| Quantity::Number(number)),
                simulated: Simulated::spread(self.runs.iter().filter_map(value).collect()),
                kind: Kind::Predicted,
                band: Band::between(limit(&band.min), limit(&band.max)),
            }
        })
    }

    fn held(&self, metric: &str) -> impl Iterator<Item = u64> {
        let value = |run: &Vec<Metric>| run.iter().find(|row| row.name == metric).map(|row| row.value);
        let values: Vec<u64> = self.runs.iter().filter_map(value).collect();
        values.into_iter()
    }
}

fn shown(metric: &Metric) -> Decimal {
    Decimal::ratio(metric.value, metric.unit.scale())
}

/// How a figure of one scenario compares with that of another, run by run; one run of either is compared with all of the other.
fn ratio(row: &toml_edit::Table, cases: &[Case]) -> Option<ReproductionRow> {
    let text = |key: &str| row.get(key).and_then(Item::as_str);
    let metric = text("metric")?;
    let side = |key: &str| text(key).and_then(|name| cases.iter().find(|case| case.name == name));
    let (of, by) = (side("of")?, side("by")?);
    let of: Vec<u64> = of.held(metric).collect();
    let by: Vec<u64> = by.held(metric).collect();
    let ratios = (0..of.len().max(by.len())).filter_map(|run| {
        let (of, by) = (of.get(run).or(of.first())?, by.get(run).or(by.first())?);
        Some(Decimal::ratio((of * 1000).checked_div(*by)?, 1000))
    });
    Some(ReproductionRow {
        id: text("id")?.into(),
        unit: "times".into(),
        published: decimal(row, "published").map_or(Quantity::Unknown, Quantity::Number),
        simulated: Simulated::spread(ratios.collect()),
        kind: Kind::Predicted,
        band: Band::between(decimal(row, "min"), decimal(row, "max")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_of_the_folder_is_there_with_a_plan() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/incidents");
        let mut found: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.sort_unstable();
        let mut known: Vec<String> = files::ALL.iter().map(|row| format!("{}.toml", row.0)).collect();
        known.sort_unstable();
        assert_eq!(found, known);
        let published = Published::open("incidents.toml", include_str!("../published/incidents.toml")).unwrap();
        let plans = published.root().get("scenarios").and_then(Item::as_table_like).unwrap();
        assert!(files::ALL.iter().all(|row| plans.get(row.0).is_some()) && plans.len() == files::ALL.len());
    }

    #[test]
    fn what_was_published_is_a_figure_of_its_scenario() {
        let published = Published::open("incidents.toml", include_str!("../published/incidents.toml")).unwrap();
        for &(name, text) in files::ALL {
            let (case, variants) = plan(&published, name, text).unwrap();
            let judged = |metric: &str| case.scenario.bands.iter().any(|band| band.metric == metric);
            assert!(case.published.keys().all(|metric| judged(metric)) && !variants.is_empty(), "{name}");
        }
    }
}
