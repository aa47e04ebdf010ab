//! `fairground snapshot`.

use super::Example;
use crate::show;
use fairground::record::{self, Recorded, Root};
use fairground_scenario::Error;
use std::path::PathBuf;

/// Write groups, policies and machine beside a recording of your own.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The container to make: record into it as X.fgr/perf.data, X.fgr/trace.dat or X.fgr/trace.txt
    #[arg(short, long = "output", value_name = "X.fgr", default_value = "recording.fgr")]
    output: PathBuf,
    /// Replace the names of tasks and groups by task-1, group-1 and so on
    #[arg(long)]
    mask: bool,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("snapshot -o x.fgr", "then `perf record -a … -o x.fgr/perf.data`, and read x.fgr"),
    ("snapshot -o x.fgr --mask", "without the names of tasks and groups"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let made = record::snapshot(&args.output, args.mask, &Root::default())?;
    shown(&made, "snapshot", json)?;
    Ok(0)
}

/// Shows what was made.
pub(super) fn shown(made: &Recorded, command: &str, json: bool) -> Result<(), Error> {
    show::notes(&made.notes);
    show::written(&made.path);
    match json {
        true => show::document(&made.document(command)),
        false => show::lines(&format!("{}\n", made.summary().join("\n"))),
    }
}
