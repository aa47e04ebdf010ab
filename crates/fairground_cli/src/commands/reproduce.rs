//! `fairground reproduce`.

use super::Example;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show;
use fairground::output::{ResultFiles, ResultKind};
use fairground_reproduce::{self as reproduce, Experiment, ReproduceOptions};
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
    /// Run what of it runs over these kernel trees, each beside our rules of its release
    #[arg(long, value_name = "tree:NAME,...", value_delimiter = ',', conflicts_with_all = ["quick", "keep"])]
    over: Vec<String>,
    /// Of --over also write the rows; the ending chooses the format: .html (a page) or .json
    #[arg(short, long = "output", value_name = "FILE", requires = "over")]
    output: Vec<PathBuf>,
}

const KINDS: [ResultKind; 2] = [ResultKind::Html, ResultKind::Json];

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("reproduce runnable-propagation --quick", "schbench in groups, with fewer rows, in some 10 s"),
    ("reproduce all", "all published experiments, in hours"),
    ("reproduce sis-util --over tree:base", "what of it runs over a kernel tree, beside our rules of its release"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let experiments = reproduce::find(&args.name)?;
    if args.keep.is_some() && !experiments.iter().any(|experiment| experiment.takes_hours) {
        let hours = reproduce::EXPERIMENTS.iter().filter(|experiment| experiment.takes_hours).map(|experiment| experiment.name);
        let hint = format!("Experiments that take hours keep their runs: {}.", hours.collect::<Vec<_>>().join(", "));
        return Err(Error::one("--keep", format!("`{}` keeps no runs", args.name), hint));
    }
    if !args.over.is_empty() {
        return over_trees(args, &experiments, json);
    }
    let bar = Bar::new("reproducing", Unit::Runs);
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
        return Ok(interrupt::told("rows are missing"));
    }
    Ok(u8::from(!done.iter().all(|reproduced| reproduced.reproduction.holds())))
}

fn over_trees(args: &Args, experiments: &[&Experiment], json: bool) -> Result<u8, Error> {
    let [experiment] = experiments else {
        let hint = "Name one experiment: `fairground reproduce sis-util --over tree:NAME`.";
        return Err(Error::one("--over", format!("`{}` stands for several experiments", args.name), hint));
    };
    let files = ResultFiles::open(&args.output, "reproduce", &KINDS)?;
    let bar = Bar::new("reproducing", Unit::Runs);
    let over = reproduce::over_trees(experiment, &args.over, Control::new(interrupt::flag(), &bar))?;
    bar.finish();
    let content = |kind| match kind {
        ResultKind::Json => over.document().to_string(),
        _ => over.page().to_string(),
    };
    for path in files.finish(!over.interrupted, |kind| content(kind).into_bytes())? {
        show::written(&path);
    }
    match json {
        true => show::document(&over.document())?,
        false => show::summary_and_tables(&over.beside.summary(), &[over.beside.table()])?,
    }
    if over.interrupted {
        return Ok(interrupt::told("rows are missing"));
    }
    Ok(0)
}
