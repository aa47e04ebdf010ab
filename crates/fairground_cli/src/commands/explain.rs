//! `fairground explain`.

use crate::flags::ScenarioFlags;
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show;
use fairground::input::RunInput;
use fairground_explain::{self as explain, ExplainOptions};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Explain why a task ran late after a wake-up: who ran instead and by which rule, what stood idle elsewhere and why the
/// task was not there, and what another rule would have done from the same state.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A scenario, an rt-app file, or the folder of a recorded experiment
    scenario: PathBuf,
    /// Only wake-ups of tasks of this name
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// The wake-up that was under way at this time, or the next one: 1.25s
    #[arg(long, value_name = "TIME", conflicts_with_all = ["percentile", "worst"])]
    at: Option<String>,
    /// The latest wake-up (the default)
    #[arg(long, conflicts_with = "percentile")]
    worst: bool,
    /// The wake-up at this percentile of all, such as 99.9, and a table of all that were as late or later
    #[arg(long, value_name = "P")]
    percentile: Option<String>,
    /// Try this change from the same state: an overlay, a feature (NO_WAKEUP_PREEMPTION), a tunable
    /// (sched_wakeup_granularity_ns=0), a change of [[at]] ("affinity worker 0-3") or queued-load; else what is plausible
    #[arg(long = "what-if", value_name = "CHANGE")]
    what_if: Vec<String>,
    #[command(flatten)]
    change: ScenarioFlags,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let input = RunInput::open(&args.scenario, &args.change.overrides())?;
    let scenario = input.scenario();
    let options = ExplainOptions {
        task: args.task.clone(),
        at: args.at.clone(),
        percentile: args.percentile.clone(),
        what_if: args.what_if.clone(),
    };
    let bar = Bar::new("simulating");
    let explained = explain::explain(scenario, &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let explained = explained?;
    show::notes(&scenario.notes);
    let Some(explanation) = explained else {
        eprintln!("interrupted: nothing is explained");
        return Ok(EXIT_INTERRUPTED);
    };
    if json {
        show::document(&explain::document(scenario, &explanation))?;
    } else {
        show::text(&(explain::story(&explanation) + "\n"))?;
        show::tables(&explain::tables(&explanation))?;
    }
    Ok(0)
}
