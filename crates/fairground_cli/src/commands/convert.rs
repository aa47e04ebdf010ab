//! `fairground convert`.

use super::{EXIT_NOTHING, Example};
use crate::flags::TimeFlags;
use crate::show::{self, tell};
use fairground::{convert, record};
use fairground_scenario::Error;
use std::path::PathBuf;

/// Convert between trace formats.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A trace, or the folder of a recorded experiment
    input: PathBuf,
    /// The file to write; its ending chooses the format
    output: PathBuf,
    /// Refuse a recording with lost or unreadable records
    #[arg(long)]
    strict: bool,
    /// Make a container X.fgr of the recording and of this file, which tells its control groups: docs/recordings.md
    #[arg(long, value_name = "FILE", conflicts_with_all = ["strict", "time"])]
    cgroup_map: Option<PathBuf>,
    #[command(flatten)]
    time: TimeFlags,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("convert trace.dat trace.pftrace", "for ui.perfetto.dev"),
    ("convert perf.data part.txt --time 2105.1,2105.4", "a part of it, as text of ftrace"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    if let Some(map) = &args.cgroup_map {
        let made = record::container_of(&args.input, map, &args.output)?;
        show::written(&made.path);
        match json {
            true => show::document(&made.document())?,
            false => show::lines(&format!("{}\n", made.summary()))?,
        }
        return Ok(if made.tasks == 0 { EXIT_NOTHING } else { 0 });
    }
    let converted = convert::convert(&args.input, &args.output, args.time.interval()?, args.strict)?;
    show::notes(&converted.notes());
    show::written(&converted.output);
    if json {
        show::document(&converted.document())?;
    } else {
        show::summary_and_tables(&converted.summary(), &[])?;
    }
    if converted.stats.events == 0 {
        tell!("no event was read");
        return Ok(EXIT_NOTHING);
    }
    Ok(0)
}
