//! `fairground run`.

use super::Example;
use crate::flags::{InputFlags, ScenarioFlags, whole};
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, tell};
use crate::style::is_full;
use fairground::input::RunInput;
use fairground::output::Outputs;
use fairground::run::{self, RunEnding, RunOptions, RunOutcome, WorstWait};
use fairground_explain as explain;
use fairground_recordings::RecordedSet;
use fairground_recordings::figures::{self, Check, FigureMap};
use fairground_report::outside::is_steering;
use fairground_scenario::{Control, Error, Scenario};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Run one simulation and print its tables.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputFlags,
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
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    stop_before_event: Option<u64>,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("run scenarios/examples/nice.toml", "the tables of a scenario, and what happened in ten lines"),
    ("run scenarios/examples/quota.toml -o quota.html", "the same as a page with a timeline"),
    ("run --workload hackbench --machine smp-4 -- -g 1 -l 20", "a benchmark by its name, with its own flags"),
    ("run - --profile v6.12", "a scenario from stdin, under another kernel"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let overrides = args.change.overrides();
    let input = args.input.open(&overrides)?;
    let scenario = input.scenario();
    if args.print_scenario {
        show::text(&scenario.canonical())?;
        return Ok(0);
    }
    show::notes(&scenario.notes);
    // Before any file is made, so that it is marked whenever Ctrl-C comes.
    let stop = interrupt::flag();
    let mut outputs = Outputs::for_run(&args.output, scenario)?;
    let bar = Bar::new("simulating", Unit::Part);
    let control = Control::new(stop, &bar);
    let options = RunOptions { paranoid: args.paranoid, stop_before_event: args.stop_before_event, command: command_line() };
    let mut figures = None;
    let made = match &input {
        RunInput::Scenario(scenario) => run::run_with_copy(scenario, &options, &mut outputs, control),
        RunInput::Set(set) => {
            let figures = figures.insert((set.as_ref(), set.figures()));
            run::run_with_copy(&set.scenario, &options, &mut (&mut figures.1, &mut outputs), control)
        }
    };
    bar.finish();
    let (mut outcome, copy) = made?;
    explain::worst_wait(scenario, &mut outcome, copy)?;
    if let Some(worst) = &mut outcome.worst {
        worst.ask = ask(args, scenario, worst);
    }
    for path in outputs.finish_run(scenario, &outcome)? {
        show::written(&path);
    }
    let checked = figures.map(|(set, figures)| (set, set.check(figures, outcome.end(), &outcome.quotas)));
    let passes = checked.as_ref().is_none_or(|(_, (_, check))| check.passes());
    print(scenario, &outcome, checked, Shown { json, searches: args.searches })?;
    Ok(exit_code(&outcome, passes))
}

/// The command that tells more of the worst wait; none where a kernel tree decides.
fn ask(args: &Args, scenario: &Scenario, worst: &WorstWait) -> Option<String> {
    if scenario.profile.tree().is_some() {
        return None;
    }
    let (path, name) = (args.input.path()?, scenario.tasks().tasks.get(worst.task)?.name.clone());
    let words = ["explain".into(), path.into(), "--task".into(), name.into(), "--at".into(), worst.at().into()];
    Some(as_typed(words.into_iter().chain(args.change.words().into_iter().map(OsString::from))))
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
    if !is_full() {
        all = run::shortened(all);
    }
    all.extend(checked.map(|(_, (_, check))| figures::expect_table(&check)));
    show::tables(&all)?;
    show::lines(&format!("\n{}\n", run::summary(scenario, outcome).join("\n")))?;
    tell!("{}", run::speed(outcome));
    Ok(())
}

/// 130 interrupted, 1 an expectation or a recorded figure is missed, 0 fine.
fn exit_code(outcome: &RunOutcome, passes: bool) -> u8 {
    match outcome.ending {
        RunEnding::Interrupted => interrupt::told("what is shown ends there"),
        RunEnding::AtEvent => 0,
        RunEnding::Complete(_) => u8::from(!(passes && outcome.holds())),
    }
}

/// The command line as it can be typed again.
pub(crate) fn command_line() -> String {
    as_typed(std::env::args_os().skip(1))
}

/// Words of a command line, quoted where a shell would take them apart.
fn as_typed(words: impl Iterator<Item = OsString>) -> String {
    format!("fairground {}", words.map(|word| quoted(&word)).collect::<Vec<_>>().join(" "))
}

/// A word as a shell reads it. Bytes that are no text, and letters that steer a terminal, stand as escapes.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@".contains(&byte);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.bytes().all(is_plain) => text.to_string(),
        Some(text) if !text.chars().any(is_steering) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => {
            let escaped = |&byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", word.as_encoded_bytes().iter().map(escaped).collect::<String>())
        }
    }
}
