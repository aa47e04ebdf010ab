//! `fairground conform`.

use super::{EXIT_NOTHING, Example};
use crate::flags::ScenarioFlags;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, tell};
use fairground_recordings::conform::{self, ConformOptions, Conformance};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Disagreements that are kept with their state when all are to be shown.
const ALL: usize = 1000;

/// Compare a recorded trace with the model, decision by decision.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A trace, or the folder of a recorded experiment
    trace: PathBuf,
    /// The scenario that made the trace: it tells groups, quotas, policies, the kernel and the machine
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// Show only where record and model part, with the state and the rule, from the first one on
    #[arg(long)]
    first_mismatch: bool,
    /// Also fit the lag of kernel threads that slept before the record (EEVDF), and show what that explains
    #[arg(long)]
    fit_lags: bool,
    /// Exit with 1 if a kind of decision agrees in less than so many percent
    #[arg(long, value_name = "PCT", value_parser = parse_percent)]
    threshold: Option<f64>,
    #[command(flatten)]
    change: ScenarioFlags,
}

fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("expected a percentage from 0 to 100".to_string()),
    }
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("conform trace.dat --profile v6.12", "does the model decide as that kernel did?"),
    (
        "conform recordings/k6.1-press-8cpu/c_press24_120 --first-mismatch",
        "where record and model part, with the state and the rule",
    ),
    ("conform trace.dat --threshold 99", "exit with 1 below 99 %"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let keep = if args.first_mismatch { ALL } else { 1 };
    let scenario = args.scenario.clone();
    let options =
        ConformOptions { overrides: args.change.overrides(), keep, scenario, fit: args.fit_lags, ..ConformOptions::default() };
    let bar = Bar::new("comparing", Unit::Part);
    let made = conform::conform(&args.trace, &options, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let made = made?;
    if json {
        show::document(&conform::document(&made))?;
    } else {
        show::notes(&made.notes);
        print(&made, args.first_mismatch)?;
    }
    let below = args.threshold.map_or_else(Vec::new, |threshold| made.below(threshold));
    for row in &below {
        tell!("below the threshold: {} ({} of {} agree)", row.name, row.tally.agree, row.tally.decisions);
    }
    if made.interrupted {
        return Ok(interrupt::told("what is shown ends there"));
    }
    // A threshold that nothing is held against is not reached.
    if made.is_empty() || args.threshold.is_some() && made.held().is_empty() {
        tell!("nothing was compared{}", if args.threshold.is_some() { " with the threshold" } else { "" });
        return Ok(EXIT_NOTHING);
    }
    Ok(u8::from(!below.is_empty()))
}

fn print(made: &Conformance, only_mismatches: bool) -> Result<(), Error> {
    let tables = if only_mismatches { Vec::new() } else { conform::tables(made) };
    show::summary_and_tables(&conform::summary(made), &tables)?;
    let shown = if only_mismatches { made.outcome.mismatches.len() } else { 1 };
    for (number, mismatch) in made.outcome.mismatches.iter().take(shown).enumerate() {
        let title = if number == 0 { "\nFirst disagreement, " } else { "\n" };
        show::lines(&format!("{title}{}", conform::explain(made, mismatch)))?;
    }
    if made.outcome.mismatches.is_empty() && !made.is_empty() {
        show::lines("\nno disagreement\n")?;
    }
    Ok(())
}
