//! `fairground reproduce`.

use super::Example;
use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show;
use fairground_reproduce::{self as reproduce, ReproduceOptions};
use fairground_scenario::{Control, Error};
use std::path::PathBuf;

/// Run a published experiment and show our numbers beside its own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// An experiment (see `fairground list experiments`), or all
    name: String,
    /// The same machine sizes with fewer rows and shorter windows
    #[arg(long)]
    quick: bool,
    /// Keep each finished run of an experiment that takes hours in this folder, and take from it what this build has run before
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("reproduce runnable-propagation --quick", "schbench in groups, with fewer rows, in some 10 s"),
    ("reproduce all", "all published experiments, in hours"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let experiments = reproduce::find(&args.name)?;
    if args.keep.is_some() && !experiments.iter().any(|experiment| experiment.takes_hours) {
        let hours = reproduce::EXPERIMENTS.iter().filter(|experiment| experiment.takes_hours).map(|experiment| experiment.name);
        let hint = format!("Experiments that take hours keep their runs: {}.", hours.collect::<Vec<_>>().join(", "));
        return Err(Error::one("--keep", format!("`{}` keeps no runs", args.name), hint));
    }
    let bar = Bar::new("reproducing");
    let control = Control::new(interrupt::flag(), &bar);
    let mut done = Vec::new();
    for experiment in experiments {
        let reproduced = (experiment.run)(&ReproduceOptions { quick: args.quick, keep: args.keep.clone() }, control)?;
        if !json {
            let reproduction = &reproduced.reproduction;
            let tables = [&[reproduction.table()], &reproduction.tables[..]].concat();
            show::summary_and_tables(&reproduction.summary(), &tables)?;
        }
        done.push(reproduced);
        if control.stopped() {
            break;
        }
    }
    bar.finish();
    if json {
        show::document(&reproduce::document(&done))?;
    }
    if done.iter().any(|reproduced| reproduced.interrupted) || control.stopped() {
        eprintln!("interrupted: rows are missing");
        return Ok(EXIT_INTERRUPTED);
    }
    Ok(u8::from(!done.iter().all(|reproduced| reproduced.reproduction.holds())))
}
