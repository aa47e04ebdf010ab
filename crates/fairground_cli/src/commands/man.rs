//! `fairground man`.

use super::Example;
use crate::cli;
use crate::show;
use fairground_scenario::Error;
use std::path::PathBuf;

/// Print the manual pages.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write a page for each command into this folder instead
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] =
    &[("man > fairground.1", "all pages in one"), ("man --output man", "a page for each command, into a folder")];

pub(crate) fn run(args: &Args, _json: bool) -> Result<u8, Error> {
    if let Some(folder) = &args.output {
        let made = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(cli::command(), folder));
        made.map_err(|cause| Error::world("write", folder, cause))?;
        return Ok(0);
    }
    let mut text = Vec::new();
    let page = |command: clap::Command, text: &mut Vec<u8>| {
        clap_mangen::Man::new(command)
            .render(text)
            .map_err(|cause| Error::World { what: "cannot make the manual page".into(), cause })
    };
    let command = cli::command();
    page(command.clone(), &mut text)?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        page(part.clone(), &mut text)?;
    }
    show::text(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
