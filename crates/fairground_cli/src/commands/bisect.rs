//! `fairground bisect`.

use super::Example;
use crate::flags::{ScenarioFlags, permille, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::input::RunInput;
use fairground::output::{ResultFiles, ResultKind};
use fairground::replay::Replay;
use fairground_bisect::{self as bisect, BisectOptions};
use fairground_scenario::{Control, Error, Overrides, trace_file};
use std::path::PathBuf;

/// Find which change of the kernel moved a metric between two profiles: along the history, then row by row.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A scenario, an rt-app file, the folder of a recorded experiment, or a trace, which is replayed; - is a scenario on stdin
    scenario: PathBuf,
    /// The first profile; the scenario's if left out
    #[arg(long, value_name = "PROFILE")]
    a: Option<String>,
    /// The second profile; the first one's, with the changes, if left out
    #[arg(long, value_name = "PROFILE")]
    b: Option<String>,
    /// A change that makes the second side out of its profile: a feature, NAME=VALUE, or +overlay
    #[arg(long = "change", value_name = "CHANGE")]
    changes: Vec<String>,
    /// The metric, as `fairground list metrics` names it
    #[arg(long, value_name = "NAME")]
    metric: String,
    /// The least change of its mean that matters
    #[arg(long, value_name = "PERCENT", default_value = "2%")]
    worth: String,
    /// The number of seeds at most: few are made first, more where they do not tell. Fewer than six can decide nothing
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = whole(1_u64..=10_000))]
    runs: u64,
    /// Also write the answer; its ending chooses the format: .html (a page with the metric of each kernel) or .json
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("bisect a.toml --a v6.1 --b v6.12 --metric wakeup_latency_us.p99", "which change between two kernels moved the p99"),
    ("bisect a.toml --a v5.19 --b v6.6 --metric switches --worth 5%", "likewise, for changes of 5 % or more"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let overrides = Overrides { else_profile: args.a.clone(), ..args.change.overrides() };
    let scenario = &if trace_file::is_trace(&args.scenario) {
        Replay::load(&args.scenario, &overrides, false)?.scenario
    } else {
        RunInput::open(&args.scenario, &overrides)?.scenario().clone()
    };
    show::notes(&scenario.notes);
    let options = BisectOptions {
        a: args.a.clone(),
        b: args.b.clone(),
        changes: args.changes.clone(),
        metric: args.metric.clone(),
        worth_permille: permille("--worth", &args.worth)?,
        runs: args.runs,
    };
    let files = ResultFiles::open(&args.output, "bisect", &[ResultKind::Html, ResultKind::Json])?;
    let bar = Bar::new("bisecting", Unit::RunsSoFar);
    let found = bisect::bisect(scenario, &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let Some(found) = found? else {
        return Ok(interrupt::told("nothing was found"));
    };
    for path in files.finish(true, |kind| bisect::file(scenario, &found, kind))? {
        show::written(&path);
    }
    if json {
        show::document(&bisect::document(scenario, &found))?;
    } else {
        show::lines(&(bisect::summary(&found) + "\n"))?;
        show::tables(&bisect::tables(&found))?;
    }
    Ok(found.exit_code())
}
