//! The command `fairground`. Flags in, text or one JSON document out; everything else is in the facade.

// These panic where the reader of stdout or stderr went away; `show` has what does not.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cli;
mod commands;
mod flags;
mod interrupt;
mod progress;
mod show;
mod style;

use std::process::ExitCode;

fn main() -> ExitCode {
    fairground_scenario::inputs::watch();
    let cli = cli::parse();
    cli.style.apply();
    let json = cli.style.json;
    match commands::dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => show::error(&error, json),
    }
}
