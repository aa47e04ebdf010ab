//! `fairground reproduce`.

use crate::interrupt::{self, EXIT_INTERRUPTED};
use crate::progress::Bar;
use crate::show;
use fairground::reproduce::{self, ReproduceOptions};
use fairground::{Control, Error};

/// Run a published experiment and show our numbers beside its own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// An experiment (see `fairground list experiments`), or all
    name: String,
    /// The same machine sizes with fewer rows and shorter windows
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let experiments = reproduce::find(&args.name)?;
    let bar = Bar::new("reproducing");
    let control = Control::new(interrupt::flag(), &bar);
    let mut done = Vec::new();
    for experiment in experiments {
        let reproduced = (experiment.run)(ReproduceOptions { quick: args.quick }, control)?;
        if !json {
            let reproduction = &reproduced.reproduction;
            show::tables(&[&[reproduction.table()], &reproduction.tables[..]].concat())?;
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
