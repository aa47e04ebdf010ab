//! `fairground compare`.

use super::Example;
use crate::flags::{ScenarioFlags, SidesFlags, permille, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::compare::{self, CompareOptions};
use fairground::compare_traces::{TraceOptions, compare_traces};
use fairground::input::RunInput;
use fairground::output::{ResultFiles, ResultKind};
use fairground_scenario::{Control, Error, Overrides};
use std::path::{Path, PathBuf};

/// Compare two profiles of a scenario over paired seeds, or two recordings.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A scenario (.toml), an rt-app file (.json) or the folder of a recorded experiment, - for stdin; a trace if there are two
    scenario: PathBuf,
    /// A second trace: tasks of equal names are held against each other
    other: Option<PathBuf>,
    /// Of traces: only tasks of this name
    #[arg(long = "task", value_name = "NAME", requires = "other")]
    tasks: Vec<String>,
    /// Of traces: into how many windows each is split; these are the samples
    #[arg(long, value_name = "N", default_value_t = 12, requires = "other", value_parser = whole(1_u64..=1_000))]
    windows: u64,
    /// Only this metric, as `fairground list metrics` names it; may be repeated. Fewer metrics need fewer pairs
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// The smallest effect that matters
    #[arg(long, value_name = "PERCENT", default_value = "0.5%")]
    worth: String,
    /// Number of pairs; fewer than six can decide nothing, and many metrics need more
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = whole(1_u64..=10_000))]
    runs: u64,
    /// Also write the result; its ending chooses the format: .html (a page with tables, curves and the timelines of the first pair), .json,
    /// or a row per run: .csv, .parquet
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    #[command(flatten)]
    sides: SidesFlags,
    #[command(flatten)]
    change: ScenarioFlags,
}

const KINDS: [ResultKind; 4] = [ResultKind::Html, ResultKind::Json, ResultKind::Csv, ResultKind::Parquet];

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("compare scenarios/examples/hog-and-player.toml --a v5.19 --b v6.12", "what a kernel upgrade changes"),
    ("compare a.toml --change NO_WAKEUP_PREEMPTION --runs 20", "what one switch changes, over 20 pairs of seeds"),
    ("compare a.toml --b v6.12 --metric wakeup_latency_us.p99 --markdown", "one metric, as a table for a mail"),
    ("compare before.dat after.dat --task nginx", "two recordings"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let overrides = args.sides.overrides(&args.change);
    if let Some(other) = &args.other {
        return traces(args, other, json);
    }
    let input = RunInput::open(&args.scenario, &overrides)?;
    show::notes(&input.scenario().notes);
    let files = ResultFiles::open(&args.output, "compare", &KINDS)?;
    let bar = Bar::new("comparing", Unit::Runs);
    let SidesFlags { a, b, changes } = args.sides.clone();
    let options = CompareOptions {
        a,
        b,
        changes,
        metrics: args.metrics.clone(),
        worth_permille: Some(permille("--worth", &args.worth)?),
        runs: args.runs,
        paranoid: false,
        timelines: files.wants(ResultKind::Html),
    };
    let compared = compare::compare(input.scenario(), &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let compared = compared?;
    for path in files.finish(!compared.interrupted, |kind| compared.file(input.scenario(), kind))? {
        show::written(&path);
    }
    if json {
        show::document(&compared.document(input.scenario()))?;
    } else {
        show::summary_and_tables(
            &compared.summary(input.scenario()),
            &[compared.report.table(), compared.report.values_table()],
        )?;
    }
    if compared.interrupted {
        return Ok(interrupt::told("the table holds what was simulated until then, which decides nothing"));
    }
    Ok(compared.exit_code())
}

/// Of two recordings nothing is simulated.
fn traces(args: &Args, other: &Path, json: bool) -> Result<u8, Error> {
    let SidesFlags { a, b, changes } = &args.sides;
    let is_simulation = a.is_some() || b.is_some() || !changes.is_empty() || !args.metrics.is_empty() || !args.output.is_empty();
    if is_simulation || args.change.overrides() != Overrides::default() {
        let message = "two recordings are compared as they are: nothing is simulated that flags could change";
        return Err(Error::one("command line", message, "Use `--task`, `--windows` and `--worth`."));
    }
    let options =
        TraceOptions { tasks: args.tasks.clone(), windows: args.windows, worth_permille: permille("--worth", &args.worth)? };
    let bar = Bar::new("reading", Unit::Part);
    let compared = compare_traces([&args.scenario, other], &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let compared = compared?;
    show::notes(&compared.notes());
    if json {
        show::document(&compared.document())?;
    } else {
        show::summary_and_tables(&compared.summary(), &compared.tables)?;
    }
    Ok(compared.exit_code())
}
