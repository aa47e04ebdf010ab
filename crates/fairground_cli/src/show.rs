//! Text and errors for people, documents for programs.

use fairground_report::{Document, Table};
use fairground_scenario::{Error, FileMistakes, guard};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

/// Prints a text on stdout. A reader that went away is no failure: `fairground … | head` is a habit.
pub(crate) fn text(text: &str) -> Result<(), Error> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => Err(Error::World { what: "cannot write to stdout".into(), cause }),
        _ => Ok(()),
    }
}

/// Lines that are printed while they are made. A reader that went away is no failure; then nothing more is printed.
pub(crate) struct Lines {
    out: io::BufWriter<io::Stdout>,
    failure: Option<io::Error>,
}

impl Lines {
    pub(crate) fn new() -> Lines {
        Lines { out: io::BufWriter::new(io::stdout()), failure: None }
    }
    pub(crate) fn push(&mut self, line: &str) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(line.as_bytes()).err();
        }
    }
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        match self.failure.take().map_or_else(|| self.out.flush(), Err) {
            Err(cause) if cause.kind() != ErrorKind::BrokenPipe => {
                Err(Error::World { what: "cannot write to stdout".into(), cause })
            }
            _ => Ok(()),
        }
    }
}

/// Prints a document.
pub(crate) fn document(document: &Document) -> Result<(), Error> {
    text(&document.to_string())
}

/// Prints tables with an empty line between them.
pub(crate) fn tables(tables: &[Table]) -> Result<(), Error> {
    text(&tables.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// Prints one table, or the document that holds it.
pub(crate) fn table_or_json(command: &str, table: Table, json: bool) -> Result<(), Error> {
    if !json {
        return tables(&[table]);
    }
    let mut made = Document::new(command, &[], None, None);
    made.set_tables(&[table]);
    document(&made)
}

/// Notes on stderr: what was assumed, read before you trust the result.
pub(crate) fn notes(notes: &[String]) {
    for note in notes {
        eprintln!("note: {note}");
    }
}

/// Where files were written.
pub(crate) fn written(path: &Path) {
    let shown = path.display();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("pftrace") => eprintln!("wrote {shown}; open it at https://ui.perfetto.dev"),
        Some("partial") => eprintln!("wrote {shown}, which is not complete"),
        _ => eprintln!("wrote {shown}"),
    }
}

/// Prints an error on stderr and gives its exit code. With `--json` stdout gets a document that says the same.
pub(crate) fn error(error: &Error, json: bool) -> ExitCode {
    match error {
        Error::Input(files) => files.iter().for_each(show_mistakes),
        Error::World { .. } => eprintln!("error: {error}"),
        Error::Broken(broken) => eprint!("{broken}"),
    }
    if json {
        let mut made = Document::new("error", &[], None, None);
        made.set("exit_code", error.exit_code()).set("errors", error_lines(error));
        // The error itself is what counts; a closed stdout adds nothing to it.
        let _ = document(&made);
    }
    ExitCode::from(error.exit_code())
}

fn error_lines(error: &Error) -> Vec<String> {
    match error {
        Error::Input(files) => files.iter().flat_map(FileMistakes::lines).collect(),
        other => vec![other.to_string()],
    }
}

/// A mistake as miette draws it.
#[derive(Debug)]
struct Shown<'a> {
    message: String,
    hint: &'a str,
    label: Option<LabeledSpan>,
    source: &'a NamedSource<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Shown<'_> {}
impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.hint))
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.label.as_ref().map(|_| self.source as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.label.clone().map(|label| Box::new(std::iter::once(label)) as Box<dyn Iterator<Item = LabeledSpan>>)
    }
}

/// Longer lines are not drawn, bytes: nobody could find a mark on them, and beyond 65 535 miette cannot draw one.
const LONGEST_DRAWN_LINE: usize = 4096;

/// Whether the lines of a place are short enough to draw the place on them.
fn can_be_drawn(text: &str, place: &Range<usize>) -> bool {
    let (before, behind) = (&text.as_bytes()[..place.start], &text.as_bytes()[place.start..]);
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let end = behind.iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| place.start + at);
    end.max(place.end) - start <= LONGEST_DRAWN_LINE
}

fn show_mistakes(file: &FileMistakes) {
    let theme = if io::stderr().is_terminal() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_context_lines(1);
    let source = NamedSource::new(&file.name, file.text.clone());
    for mistake in &file.mistakes.0 {
        let span = mistake.span.clone().filter(|span| span.end <= file.text.len() && !file.text.is_empty());
        let place = span.as_ref().map(|span| file.place(span.start));
        let span = span.filter(|span| can_be_drawn(&file.text, span));
        let message = match (&span, place) {
            (Some(_), _) => mistake.message.clone(),
            (None, Some(place)) => format!("{place}: {}", mistake.message),
            (None, None) => format!("{}: {}", file.name, mistake.message),
        };
        let shown = Shown {
            message,
            hint: &mistake.hint,
            label: span.map(|span| LabeledSpan::new_primary_with_span(None, span)),
            source: &source,
        };
        let mut drawn = String::new();
        match handler.render_report(&mut drawn, &shown) {
            Ok(()) => eprint!("{}", drawn.trim_start_matches('\n')),
            Err(_) => eprintln!("{shown} (hint: {})", mistake.hint),
        }
    }
    let count = file.mistakes.0.len();
    eprintln!("{}: {count} {} (fairground {})", file.name, if count == 1 { "mistake" } else { "mistakes" }, guard::VERSION);
}
