//! `fairground completions`.

use super::Example;
use crate::cli;
use crate::show;
use clap::Arg;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use fairground::lists::{self, Listed};
use fairground_scenario::Error;

/// Print completions for a shell.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

/// Flags whose values have names, and the list that has them. All take other values too, which completions leave alone.
const NAMED: [(&str, Listed); 7] = [
    ("machine", Listed::Machines),
    ("profile", Listed::Profiles),
    ("a", Listed::Profiles),
    ("b", Listed::Profiles),
    ("workload", Listed::Workloads),
    ("feature", Listed::Features),
    ("change", Listed::Features),
];

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("completions bash > /etc/bash_completion.d/fairground", "for all users of bash"),
    ("completions zsh > ~/.zfunc/_fairground", "for zsh"),
];

pub(crate) fn run(args: &Args, _json: bool) -> Result<u8, Error> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut with_names(cli::command()), "fairground", &mut text);
    show::text(&String::from_utf8_lossy(&text))?;
    Ok(0)
}

/// The command with the names as the values of its flags.
fn with_names(command: clap::Command) -> clap::Command {
    let named = |arg: Arg| {
        let list = NAMED.iter().find(|row| arg.get_long() == Some(row.0)).map(|row| row.1);
        match list {
            Some(list) => arg.value_parser(PossibleValuesParser::new(names(list))),
            None => arg,
        }
    };
    command.mut_args(named).mut_subcommands(with_names)
}

/// The names in a list: its first column. A feature can be switched off as well.
fn names(list: Listed) -> Vec<&'static str> {
    let table = lists::list(list);
    let cells = table.rows().iter().filter_map(|row| row.first());
    let mut names: Vec<String> = cells.map(|cell| cell.text.clone()).filter(|name| !name.is_empty()).collect();
    if list == Listed::Features {
        names.extend(names.clone().iter().map(|name| format!("NO_{name}")));
    }
    // clap keeps texts for as long as the process runs, which ends when they are printed.
    names.into_iter().map(|name| &*name.leak()).collect()
}
