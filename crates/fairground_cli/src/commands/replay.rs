//! `fairground replay`.

use super::run::command_line;
use super::{EXIT_NOTHING, Example};
use crate::flags::{ScenarioFlags, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, tell};
use crate::style::is_full;
use fairground::output::Outputs;
use fairground::replay::Replay;

use fairground::run::{self, RunEnding, RunOptions};
use fairground_explain as explain;
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Run a recorded trace on another machine or profile.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A trace, or the folder of a recorded experiment
    trace: PathBuf,
    /// Also write a trace, its ending chooses the format: .pftrace, .txt, .json, .csv, .parquet; or what came out of the whole run: .html (a
    /// page with tables, curves and a timeline), .hgrm (wake-up latencies), .schedstat (counters at the end)
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Refuse a recording with lost or unreadable records
    #[arg(long)]
    strict: bool,
    /// Also run a gap that is longer than all the rest of the recording; else it is cut there
    #[arg(long)]
    across_gaps: bool,
    /// The null test: how far a replay in the recorded situation is from the recording, for each name of threads
    #[arg(long)]
    null: bool,
    /// Stop before this event: ticks, switches and wake-ups are counted. Files of -o are written up to there, as FILE.partial
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    stop_before_event: Option<u64>,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("replay trace.dat --machine lap8 --profile v6.12", "the load of a recording on a laptop with 8 CPUs under v6.12"),
    ("replay perf.data --null", "how far a replay with nothing changed is from the recording"),
    ("replay perf.data --machine smp-4 -o replay.pftrace", "and a trace of it for ui.perfetto.dev"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let load = if args.across_gaps { Replay::load_across_gaps } else { Replay::load };
    let replay = load(&args.trace, &args.change.overrides(), args.strict)?;
    let scenario = &replay.scenario;
    show::notes(&scenario.notes);
    let mut outputs = Outputs::for_run(&args.output, scenario)?;
    let stats = &replay.trace.trace.stats;
    let recorded_ns = stats.last_at.saturating_since(stats.first_at).0;
    let bar = Bar::new("replaying", Unit::Part).expecting(recorded_ns);
    let options = RunOptions { stop_before_event: args.stop_before_event, command: command_line(), ..RunOptions::default() };
    let made = run::run_with_copy(scenario, &options, &mut outputs, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let (mut outcome, copy) = made?;
    explain::worst_wait(scenario, &mut outcome, copy)?;
    for path in outputs.finish_run(scenario, &outcome)? {
        show::written(&path);
    }
    let beside = replay.table(&outcome.metrics);
    if json {
        show::document(&replay.document(&outcome))?;
    } else if args.null {
        show::tables(&[replay.null_test(&outcome).table(is_full()), replay.causes_table()])?;
    } else {
        let mut shown = vec![beside, replay.causes_table()];
        shown.extend(run::run_tables(scenario, &outcome));
        let shown = if is_full() { shown } else { run::shortened(shown) };
        show::summary_and_tables(&run::summary(scenario, &outcome), &shown)?;
        tell!("{}", run::speed(&outcome));
    }
    if outcome.ending == RunEnding::Interrupted {
        return Ok(interrupt::told("what is shown ends there"));
    }
    if replay.trace.trace.stats.events == 0 || scenario.tasks().tasks.is_empty() {
        tell!("the recording holds nothing to replay");
        return Ok(EXIT_NOTHING);
    }
    Ok(0)
}
