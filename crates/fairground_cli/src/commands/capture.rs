//! `fairground capture`.

use super::Example;
use crate::show;
use fairground::capture;
use fairground::output::TextOutput;
use fairground_scenario::Error;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// This host's topology as a machine file
    Machine {
        /// Where to write it; stdout if left out
        #[arg(short, long = "output", value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("capture machine -o host.toml", "this host as a machine file, for `--machine host.toml`"),
    ("capture machine", "the same on stdout"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let Command::Machine { output } = &args.command;
    let file = output.as_deref().map(TextOutput::open).transpose()?;
    let captured = capture::capture_machine()?;
    show::notes(&captured.imported.notes);
    if let Some(file) = file {
        show::written(&file.write(&captured.text)?);
    }
    if json {
        show::document(&captured.document())?;
    } else if output.is_none() {
        show::text(&captured.text)?;
    }
    Ok(0)
}
