//! `fairground man`.

use crate::cli::Cli;
use crate::show;
use clap::CommandFactory;
use fairground_scenario::Error;

pub(crate) fn run() -> Result<u8, Error> {
    let mut text = Vec::new();
    let page = |command: clap::Command, text: &mut Vec<u8>| {
        clap_mangen::Man::new(command)
            .render(text)
            .map_err(|cause| Error::World { what: "cannot make the manual page".into(), cause })
    };
    let command = Cli::command();
    page(command.clone(), &mut text)?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set()) {
        page(part.clone(), &mut text)?;
    }
    show::text(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
