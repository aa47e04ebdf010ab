//! `fairground diff-runs`.

use super::Example;
use crate::flags::ScenarioFlags;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::compare::{self, CompareOptions};
use fairground::diff_runs;
use fairground::input::RunInput;
use fairground_scenario::text_file::is_stdin;
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Find the first record in which two runs differ: two scenarios, or one under two profiles.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The first scenario
    a_scenario: PathBuf,
    /// The second scenario; the first one under another profile if left out
    b_scenario: Option<PathBuf>,
    /// With one scenario: the first profile
    #[arg(long, value_name = "PROFILE", conflicts_with = "b_scenario")]
    a: Option<String>,
    /// With one scenario: the second profile
    #[arg(long, value_name = "PROFILE", conflicts_with = "b_scenario")]
    b: Option<String>,
    /// With one scenario: what makes the second side out of its profile
    #[arg(long = "change", value_name = "CHANGE", conflicts_with = "b_scenario")]
    changes: Vec<String>,
    #[command(flatten)]
    change: ScenarioFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("diff-runs a.toml --a v5.19 --b v6.12", "where a run under one kernel leaves that under another"),
    ("diff-runs old.toml new.toml", "where two scenarios part"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let overrides = args.change.overrides();
    if is_stdin(&args.a_scenario) && args.b_scenario.as_deref().is_some_and(is_stdin) {
        let message = "stdin can be read once only";
        return Err(Error::one("command line", message, "Give a file for one of both, or one scenario and `--a`, `--b`."));
    }
    let first = RunInput::open(&args.a_scenario, &overrides)?;
    let (a, b) = match &args.b_scenario {
        Some(path) => (first.scenario().clone(), RunInput::open(path, &overrides)?.scenario().clone()),
        None => {
            let options = CompareOptions {
                a: args.a.clone(),
                b: args.b.clone(),
                changes: args.changes.clone(),
                ..CompareOptions::default()
            };
            compare::sides(first.scenario(), &options)?
        }
    };
    let bar = Bar::new("stepping", Unit::Part);
    let diff = diff_runs::diff_runs(&a, &b, Control::new(interrupt::flag(), &bar));
    bar.finish();
    let diff = diff?;
    if json {
        show::document(&diff_runs::document(&diff, &a, &b))?;
    } else {
        show::summary_and_tables(&diff_runs::summary(&diff, &a, &b), &[diff_runs::diff_table(&diff)])?;
    }
    match diff.interrupted {
        true => Ok(interrupt::told("what is shown ends there")),
        false => Ok(u8::from(diff.differs())),
    }
}
