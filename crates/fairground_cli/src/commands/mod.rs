//! One file per command.

pub(crate) mod advise;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod conform;
pub(crate) mod convert;
pub(crate) mod diff_runs;
pub(crate) mod explain;
pub(crate) mod latency;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod profile;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod schedstat;
pub(crate) mod sensitivity;
pub(crate) mod sweep;
pub(crate) mod timehist;
pub(crate) mod vopr;

use crate::cli::{Cli, Command};
use fairground_scenario::Error;

/// Runs a command and gives its exit code.
pub(crate) fn dispatch(cli: Cli) -> Result<u8, Error> {
    let json = cli.json;
    match cli.command {
        Command::Run(args) => run::run(&args, json),
        Command::Compare(args) => compare::run(&args, json),
        Command::Reproduce(args) => reproduce::run(&args, json),
        Command::Replay(args) => replay::run(&args, json),
        Command::Conform(args) => conform::run(&args, json),
        Command::Explain(args) => explain::run(&args, json),
        Command::Advise(args) => advise::run(&args, json),
        Command::Sensitivity(args) => sensitivity::run(&args, json),
        Command::Sweep(args) => sweep::run(&args, json),
        Command::Convert(args) => convert::run(&args, json),
        Command::Schedstat(args) => schedstat::run(&args, json),
        Command::Latency(args) => latency::run(&args, json),
        Command::Timehist(args) => timehist::run(&args, json),
        Command::List(args) => list::run(&args, json),
        Command::Profile(command) => profile::run(&command, json),
        Command::Capture(command) => capture::run(&command, json),
        Command::DiffRuns(args) => diff_runs::run(&args, json),
        Command::Vopr(args) => vopr::run(&args, json),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
