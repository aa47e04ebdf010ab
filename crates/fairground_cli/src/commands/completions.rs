//! `fairground completions`.

use crate::cli::Cli;
use crate::show;
use clap::CommandFactory;
use clap_complete::Shell;
use fairground_scenario::Error;

/// Print completions for a shell.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<u8, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fairground", &mut text);
    show::text(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
