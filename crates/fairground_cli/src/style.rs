//! How this process prints: form, width, rows and colour. Set once, from the flags.

use crate::flags::whole;
use clap::{Args, ValueEnum};
use fairground_report::Layout;
use fairground_report::table::ROWS;
use std::io::{self, IsTerminal};
use std::sync::OnceLock;

/// Columns of text where there is no terminal to ask.
const WIDTH: usize = 100;
/// Columns of a mail.
const MAIL_WIDTH: usize = 75;
/// A narrower terminal is not believed.
const NARROWEST: u16 = 20;

/// How results are printed.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "How it is printed")]
pub(crate) struct StyleFlags {
    /// Print exactly one JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show every row and column of every table; else of long tables the worst rows, and what fits the terminal
    #[arg(long, global = true)]
    full: bool,
    /// Print tables as Markdown, 75 columns wide where columns can be left out for that
    #[arg(long, global = true)]
    markdown: bool,
    /// Columns of text; else those of the terminal or of COLUMNS, and 100 in a pipe or file
    #[arg(long, global = true, value_name = "N", value_parser = whole(NARROWEST..=1000))]
    width: Option<u16>,
    /// Whether errors and help have colours; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are honoured
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    color: Color,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// What the command line says, before it is read: help and errors of the command line itself are to obey it too.
    pub(crate) fn asked(words: impl Iterator<Item = String>) -> Color {
        let mut words = words.take_while(|word| word != "--");
        let mut said = None;
        while let Some(word) = words.next() {
            if word == "--color" {
                said = words.next();
            } else if let Some(value) = word.strip_prefix("--color=") {
                said = Some(value.to_string());
            }
        }
        said.and_then(|value| Color::from_str(&value, false).ok()).unwrap_or(Color::Auto)
    }
    /// The same for the parser of the command line.
    pub(crate) fn of_clap(self) -> clap::ColorChoice {
        match self {
            Color::Auto => clap::ColorChoice::Auto,
            Color::Always => clap::ColorChoice::Always,
            Color::Never => clap::ColorChoice::Never,
        }
    }
    /// The same for errors.
    pub(crate) fn of_stream(self) -> anstream::ColorChoice {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
    }
}

/// What was asked for; nothing is left out before it is known.
static STYLE: OnceLock<Layout> = OnceLock::new();

impl StyleFlags {
    /// From now on everything is printed so.
    pub(crate) fn apply(self) {
        self.color.of_stream().write_global();
        let width = match (self.width, self.full, self.markdown) {
            (Some(width), ..) => Some(usize::from(width)),
            (None, true, _) => None,
            (None, false, true) => Some(MAIL_WIDTH),
            (None, false, false) => Some(columns()),
        };
        let rows = (!self.full).then_some(ROWS);
        // Set once: a second call would be one of ours.
        let _ = STYLE.set(Layout { width, rows, is_markdown: self.markdown });
    }
}

/// How tables are laid out.
pub(crate) fn layout() -> Layout {
    STYLE.get().copied().unwrap_or_default()
}

/// Whether everything is to be shown.
pub(crate) fn is_full() -> bool {
    layout().rows.is_none()
}

/// Columns of text on stderr, if it is a terminal. In a file a message is a line.
pub(crate) fn columns_of_stderr() -> Option<usize> {
    let size = io::stderr().is_terminal().then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
    size.map(|size| size.0.0).filter(|&width| width >= NARROWEST).map(usize::from)
}

/// Columns of text on stdout.
fn columns() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<u16>().ok());
    let size = || io::stdout().is_terminal().then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
    let seen = || size().map(|size| size.0.0);
    let known = said.filter(|&width| width >= NARROWEST).or_else(|| seen().filter(|&width| width >= NARROWEST));
    known.map_or(WIDTH, usize::from)
}
