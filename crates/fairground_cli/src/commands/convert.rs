//! `fairground convert`.

use crate::flags::TimeFlags;
use crate::show;
use fairground::convert;
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
    #[command(flatten)]
    time: TimeFlags,
}

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let converted = convert::convert(&args.input, &args.output, args.time.interval()?, args.strict)?;
    show::notes(&converted.notes());
    show::written(&converted.output);
    if json {
        show::document(&converted.document())?;
    }
    Ok(0)
}
