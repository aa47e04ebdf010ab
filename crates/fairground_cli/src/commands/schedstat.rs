//! `fairground schedstat`.

use super::Example;
use crate::show;
use fairground::schedstat::{Counters, Detail};
use fairground_scenario::Error;
use std::path::PathBuf;

/// Show counters of /proc/schedstat, or what was counted between two snapshots.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A text of /proc/schedstat (version 15, 16 or 17), or the folder of a recorded experiment
    file: PathBuf,
    /// A later one of the same boot: what was counted in between is shown
    later: Option<PathBuf>,
    /// Sums over the CPUs
    #[arg(long)]
    total: bool,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("schedstat before.txt after.txt", "what was counted between two `cat /proc/schedstat`"),
    ("schedstat end.schedstat --total", "sums over the CPUs of one snapshot, such as `run -o end.schedstat` writes"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let counters = Counters::load(&args.file, args.later.as_deref())?;
    let detail = if args.total { Detail::Total } else { Detail::PerCpu };
    show::notes(&counters.notes);
    if json {
        show::document(&counters.document(detail))?;
    } else {
        show::summary_and_tables(&counters.summary(), &counters.tables(detail))?;
    }
    Ok(0)
}
