//! `fairground run`.

use crate::flags::{InputFlags, ScenarioFlags};
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show;
use fairground::input::RunInput;
use fairground::output::Outputs;
use fairground::run::{self, RunEnding, RunOptions, RunOutcome};
use fairground_recordings::RecordedSet;
use fairground_recordings::figures::{self, Check, FigureMap};
use fairground_scenario::{Control, Error, Scenario};
use std::path::PathBuf;

/// Run one simulation and print its tables.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputFlags,
    #[command(flatten)]
    change: ScenarioFlags,
    /// Also write a trace, its ending chooses the format: .pftrace, .txt, .json, .csv, .parquet; or what came out of the whole run: .html (a
    /// page with tables, curves and a timeline), .hgrm (wake-up latencies), .schedstat (counters at the end)
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Print the scenario in its one fixed spelling, recordings by name and digest, and do not run it
    #[arg(long)]
    print_scenario: bool,
    /// Also show how well searches for an idle CPU did, and a histogram of how long they took; documents always have both
    #[arg(long)]
    searches: bool,
    /// Check every invariant again and again
    #[arg(long)]
    paranoid: bool,
    /// Stop before this event: ticks, switches and wake-ups are counted. Files of -o are written up to there, as FILE.partial
    #[arg(long, value_name = "N")]
    stop_before_event: Option<u64>,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let overrides = args.change.overrides();
    let input = args.input.open(&overrides)?;
    let scenario = input.scenario();
    if args.print_scenario {
        show::text(&scenario.canonical())?;
        return Ok(0);
    }
    show::notes(&scenario.notes);
    let mut outputs = Outputs::for_run(&args.output, scenario)?;
    let bar = Bar::new("simulating");
    let control = Control::new(interrupt::flag(), &bar);
    let options = RunOptions { paranoid: args.paranoid, stop_before_event: args.stop_before_event, command: command_line() };
    let (outcome, set) = match &input {
        RunInput::Scenario(scenario) => (run::run(scenario, &options, &mut outputs, control), None),
        RunInput::Set(set) => {
            let mut figures = set.figures();
            let outcome = run::run(&set.scenario, &options, &mut (&mut figures, &mut outputs), control);
            (outcome, Some((set.as_ref(), figures)))
        }
    };
    bar.finish();
    let outcome = outcome?;
    for path in outputs.finish_run(scenario, &outcome)? {
        show::written(&path);
    }
    let checked = set.map(|(set, figures)| (set, set.check(figures, outcome.end(), &outcome.quotas)));
    let passes = checked.as_ref().is_none_or(|(_, (_, check))| check.passes());
    print(scenario, &outcome, checked, Shown { json, searches: args.searches })?;
    Ok(exit_code(&outcome, passes))
}

/// What is shown, and how.
struct Shown {
    json: bool,
    searches: bool,
}

type Checked<'s> = (&'s RecordedSet, (FigureMap, Check));

fn print(scenario: &Scenario, outcome: &RunOutcome, checked: Option<Checked<'_>>, shown: Shown) -> Result<(), Error> {
    if shown.json {
        let mut document = run::run_document(scenario, outcome);
        if let Some((_, (found, check))) = &checked {
            document.set("figures", figures::figures_json(found)).set("expect", figures::expect_json(check));
        }
        return show::document(&document);
    }
    let mut all = run::run_tables(scenario, outcome);
    if shown.searches {
        all.extend(run::search_tables(scenario, outcome));
    }
    all.extend(checked.map(|(_, (_, check))| figures::expect_table(&check)));
    show::tables(&all)?;
    show::text(&format!("\n{}\n", run::summary(scenario, outcome)))?;
    eprintln!("{}", run::speed(outcome));
    Ok(())
}

/// 130 interrupted, 1 an expectation or a recorded figure is missed, 0 fine.
fn exit_code(outcome: &RunOutcome, passes: bool) -> u8 {
    match outcome.ending {
        RunEnding::Interrupted => EXIT_INTERRUPTED,
        RunEnding::AtEvent => 0,
        RunEnding::Complete(_) => u8::from(!(passes && outcome.holds())),
    }
}

/// The command line as it can be typed again.
pub(crate) fn command_line() -> String {
    let plain =
        |word: &str| word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:,+@".contains(&byte)) && !word.is_empty();
    let quote = |word: String| if plain(&word) { word } else { format!("'{}'", word.replace('\'', "'\\''")) };
    let words = std::env::args().skip(1).map(quote).collect::<Vec<_>>().join(" ");
    format!("fairground {words}")
}
