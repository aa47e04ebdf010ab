//! `advise`.

use super::{given, raised};
use crate::input::{Changes, Given};
use crate::report::Report;
use crate::work::watched;
use fairground::output::ResultKind;
use fairground_advise::{
    self as advice, AdviseInput, AdviseOptions, Aim, Confidence, CounterAdvice, FitOptions, Goal, InputOptions, Select,
};
use fairground_report::{Document, Table};
use fairground_scenario::{Control, Error};
use pyo3::prelude::*;
use std::path::PathBuf;

/// What an input does not say by itself, and how the answer is looked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    goals: Vec<String>,
    cgroup: Option<String>,
    seeds: Option<u64>,
    confidence: Option<u64>,
    check: u64,
    fit_runs: u64,
    workers: Option<u32>,
    cpus: Option<u32>,
    cpu_max: Option<String>,
    comms: Vec<String>,
    pod: Option<String>,
    container: Option<String>,
    namespace: Option<String>,
    log_format: Option<String>,
    cpu_per_request: Option<String>,
}

/// The smallest CPU limit of a service.
#[pyfunction]
pub(crate) fn advise(
    py: Python<'_>,
    inputs: Vec<Bound<'_, PyAny>>,
    asked: Asked,
    changes: Changes,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Report> {
    let inputs = inputs.iter().map(given).collect::<PyResult<Vec<Given>>>()?;
    let made = watched(py, progress, |control| answered(&inputs, &asked, changes, control))?;
    let answer = raised(py, made, inputs.first())?;
    let summary = answer.tables.first().map(|table| table.lines().join("\n")).unwrap_or_default();
    let report = Report::new(py, "advise", &summary, &answer.tables, &answer.document)?;
    Ok(report.with_notes(answer.notes).with_exit_code(answer.exit_code).with_page(&answer.page))
}

struct Answer {
    tables: Vec<Table>,
    document: Document,
    notes: Vec<String>,
    page: Vec<u8>,
    exit_code: u8,
}

fn answered(inputs: &[Given], asked: &Asked, changes: Changes, control: Control<'_>) -> Result<Answer, Error> {
    let overrides = changes.overrides();
    let goals = asked.goals.iter().map(|goal| Goal::parse(goal)).collect::<Result<Vec<Goal>, Error>>()?;
    let confidence = asked.confidence.map(|percent| {
        Confidence::percent(percent)
            .ok_or_else(|| Error::one("confidence", format!("{percent} is no confidence"), "A number from 50 to 99."))
    });
    let options = AdviseOptions {
        cgroup: asked.cgroup.clone(),
        goals: goals.clone(),
        seeds: asked.seeds,
        aim: confidence.transpose()?.map_or(Aim::Next, Aim::Proof),
        check: asked.check,
    };
    let (scenario, found) = match opened(inputs, asked, &overrides)? {
        AdviseInput::Scenario(scenario) => {
            let found = advice::advise(&scenario, &options, control)?;
            (*scenario, found)
        }
        AdviseInput::Trace(case) => {
            let found = advice::advise_trace(&case, &options, control)?;
            (case.scenario, found)
        }
        AdviseInput::Counters(counters) => {
            let seed = overrides.seed.unwrap_or(FitOptions::default().seed);
            let options = FitOptions { goals, workers: asked.workers, seed, runs: asked.fit_runs, ..FitOptions::default() };
            let found = CounterAdvice::new(*counters, &options, control);
            let name = "counters";
            return Ok(Answer {
                tables: found.tables(),
                document: found.document(name),
                notes: Vec::new(),
                page: found.file(name, ResultKind::Html),
                exit_code: found.exit_code(),
            });
        }
    };
    Ok(Answer {
        tables: found.tables(),
        document: found.document(&scenario),
        page: found.file(&scenario, ResultKind::Html),
        exit_code: found.exit_code(),
        notes: scenario.notes,
    })
}

/// One scenario that is no file, or files that belong together.
fn opened(inputs: &[Given], asked: &Asked, overrides: &fairground_scenario::Overrides) -> Result<AdviseInput, Error> {
    if let [one @ (Given::Text(_) | Given::Written(..))] = inputs {
        return Ok(AdviseInput::Scenario(Box::new(one.open(overrides)?.scenario().clone())));
    }
    let path = |given: &Given| match given {
        Given::File(path) => Ok(path.clone()),
        _ => Err(Error::one("advise", "a scenario that is no file stands beside other inputs", "Write it into a file.")),
    };
    let paths = inputs.iter().map(path).collect::<Result<Vec<PathBuf>, Error>>()?;
    let more = InputOptions {
        workers: asked.workers,
        cpus: asked.cpus,
        cpu_max: asked.cpu_max.clone(),
        comms: asked.comms.clone(),
        cgroup: asked.cgroup.clone(),
        select: Select { pod: asked.pod.clone(), namespace: asked.namespace.clone(), container: asked.container.clone() },
        log_format: asked.log_format.clone(),
        cpu_per_request: asked.cpu_per_request.clone(),
        ..InputOptions::default()
    };
    AdviseInput::open(&paths, &more, overrides)
}
