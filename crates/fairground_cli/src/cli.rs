//! The command line: flags that all commands have, and a help in groups.

use crate::commands::{Command, GROUPS};
use crate::show;
use crate::style::{Color, StyleFlags};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser};
use fairground::output::is_stdout;
use fairground_report::outside;
use std::ffi::OsStr;
use std::path::Path;

/// The Linux fair scheduler as a simulator: a workload in, an explained schedule out.
#[derive(Parser)]
#[command(name = "fairground", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "`fairground COMMAND --help` has the flags of a command, and examples.\n\
                  Exit codes: 0 fine; 1 a verdict went against you; 2 the input is wrong; 3 the world (disk, missing file); \
                  4 inconclusive; 101 our bug; 130 interrupted.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) style: StyleFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Reads the command line of this process; prints help and errors, and ends it then.
pub(crate) fn parse() -> Cli {
    let color = Color::asked(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())).of_clap();
    let matches = command().color(color).try_get_matches().unwrap_or_else(|error| refuse(error, color));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if outputs(&matches).any(|path| is_stdout(Path::new(path))) {
        if cli.style.json {
            let message = "stdout can hold the output file or the document of --json, not both";
            command().color(color).error(ErrorKind::ArgumentConflict, message).exit();
        }
        show::give_stdout_to_file();
    }
    cli
}

/// Ends the process with clap's error, which quotes arguments: where one of them would steer a terminal or breaks the line, with that
/// about the same arguments with escapes.
fn refuse(error: clap::Error, color: clap::ColorChoice) -> ! {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if words.iter().all(|word| *outside::shown(word) == **word) {
        error.exit();
    }
    let harmless = words.iter().map(|word| outside::shown(word).into_owned());
    match command().color(color).try_get_matches_from(harmless) {
        Err(error) => error.exit(),
        Ok(_) => command().color(color).error(error.kind(), "an argument has letters that steer a terminal").exit(),
    }
}

/// The output files of whatever command was given.
fn outputs(matches: &ArgMatches) -> Box<dyn Iterator<Item = &OsStr> + '_> {
    let own = matches.try_get_raw("output").ok().flatten().into_iter().flatten();
    let of_command = matches.subcommand().into_iter().flat_map(|(_, command)| outputs(command));
    Box::new(own.chain(of_command))
}

/// The commands with their examples, and a help that has them by question.
pub(crate) fn command() -> clap::Command {
    let all = GROUPS.iter().flat_map(|group| group.1);
    // `--runs -1` is a wrong value and no flag `-1`.
    let signed = |arg: Arg| if arg.get_action().takes_values() { arg.allow_negative_numbers(true) } else { arg };
    let command = all.fold(Cli::command().mut_args(signed), |command, (file, _, examples)| {
        command.mut_subcommand(name_of(file), |one| one.mut_args(signed).after_help(shown(examples)))
    });
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}\n\n{{after-help}}",
        groups()
    ))
}

/// A command as it is typed, from the name of its file.
fn name_of(file: &str) -> String {
    file.replace('_', "-")
}

/// What is to be seen of examples: each command, and above it what it does.
fn shown(examples: &[(&str, &str)]) -> String {
    let lines = examples.iter().map(|(command, what)| format!("  # {what}\n  fairground {command}\n"));
    format!("Examples:\n{}", lines.collect::<String>())
}

/// The commands by question.
fn groups() -> String {
    let widest = GROUPS.iter().flat_map(|group| group.1).map(|row| row.0.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (question, commands) in GROUPS {
        text += &format!("{question}\n");
        for (file, about, _) in *commands {
            text += &format!("  {:<widest$}  {}\n", name_of(file), about.trim());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::any::TypeId;
    use std::collections::BTreeSet;

    /// The words of an example, as a shell takes them apart.
    fn words(example: &str) -> Vec<String> {
        let mut words = vec!["fairground".to_string()];
        let typed = example.split(" > ").next().unwrap_or_default();
        for (place, part) in typed.split('\'').enumerate() {
            match place % 2 {
                1 => words.push(part.to_string()),
                _ => words.extend(part.split_whitespace().map(str::to_string)),
            }
        }
        words
    }

    #[test]
    fn every_command_is_in_one_group_and_has_two_examples_that_are_right() {
        let mut command = command();
        command.build();
        let known: BTreeSet<String> = command.get_subcommands().map(|one| one.get_name().to_string()).collect();
        let grouped: Vec<String> = GROUPS.iter().flat_map(|group| group.1).map(|row| name_of(row.0)).collect();
        assert_eq!(grouped.len() + 1, known.len(), "each once, and `help`");
        for (file, _, examples) in GROUPS.iter().flat_map(|group| group.1) {
            assert!(known.contains(&name_of(file)) && examples.len() >= 2, "{file}");
            for (example, what) in *examples {
                assert!(example.starts_with(&name_of(file)) && !what.is_empty(), "{example}");
                assert!("  fairground ".len() + example.len() <= 80, "{example}: a command that is folded cannot be copied");
                let read = super::command().try_get_matches_from(words(example));
                assert!(read.is_ok(), "{example}: {}", read.unwrap_err());
            }
        }
    }

    #[test]
    fn every_option_is_under_a_heading() {
        let mut command = command();
        command.build();
        for one in command.get_subcommands().filter(|one| one.get_name() != "help") {
            let bare = one.get_opts().filter(|option| option.get_help_heading().is_none()).count();
            let all = one.get_opts().count();
            assert!(all < 12 || bare <= 11, "{}: {bare} of {all} options stand under no heading", one.get_name());
            // What a command has besides stands under no heading of a group.
            let strays = ["output", "metrics", "runs", "threads", "worth"]
                .into_iter()
                .filter(|name| one.get_opts().any(|option| option.get_id() == name && option.get_help_heading().is_some()));
            assert_eq!(strays.collect::<Vec<_>>(), Vec::<&str>::new(), "{}", one.get_name());
        }
    }

    #[test]
    fn the_help_fits_eighty_columns() {
        let text = command().term_width(80).render_help().to_string();
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn every_option_that_is_a_number_says_what_it_expects() {
        let mut command = command();
        command.build();
        let numbers = [TypeId::of::<u16>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>(), TypeId::of::<f64>()];
        let mut seen = 0;
        for one in command.get_subcommands() {
            for option in one.get_opts().filter(|option| numbers.iter().any(|id| option.get_value_parser().type_id() == *id)) {
                let Some(long) = option.get_long() else { continue };
                for value in ["-1", "x", "1e99", "1.5.2", "99999999999999999999999"] {
                    let typed = ["fairground", one.get_name(), &format!("--{long}"), value];
                    let Err(error) = super::command().try_get_matches_from(typed) else { panic!("{typed:?} is taken") };
                    assert!(error.to_string().contains(": expected a "), "{typed:?}: {error}");
                    seen += 1;
                }
            }
        }
        assert!(seen >= 50, "{seen}");
    }
}
