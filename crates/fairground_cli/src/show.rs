//! Text and errors for people, documents for programs.

use crate::style::{self, layout};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use fairground::output::is_stdout;
use fairground_report::outside::{shown, shown_lines, shown_text};
use fairground_report::{Document, Table, paragraph};
use fairground_scenario::error::{Mistake, Mistakes};
use fairground_scenario::{Error, FileMistakes, guard};
use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a line on stderr, written as for `format!`.
macro_rules! tell {
    ($($text:tt)+) => {
        $crate::show::stderr(format_args!("{}\n", format_args!($($text)+)))
    };
}
pub(crate) use tell;

/// Prints a text on stderr. A reader that went away is no failure (`fairground … 2>&1 | head`), and there is no other place to tell it.
pub(crate) fn stderr(text: std::fmt::Arguments) {
    let _ = io::stderr().lock().write_all(shown_lines(&text.to_string()).as_bytes());
}

/// Whether an output file is stdout.
static STDOUT_IS_FILE: AtomicBool = AtomicBool::new(false);

/// An output file is stdout: what else would be printed there goes to stderr.
pub(crate) fn give_stdout_to_file() {
    STDOUT_IS_FILE.store(true, Ordering::Relaxed);
}

/// Prints a text on stdout; whatever it was made of, nothing in it steers a terminal. A reader that went away is no failure: `fairground … | head` is a habit.
pub(crate) fn text(text: &str) -> Result<(), Error> {
    let text = &*shown_text(text);
    if STDOUT_IS_FILE.load(Ordering::Relaxed) {
        stderr(format_args!("{text}"));
        return Ok(());
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() != ErrorKind::BrokenPipe => Err(Error::World { what: "cannot write to stdout".into(), cause }),
        _ => Ok(()),
    }
}

/// Bytes of lines that are kept back until the summary above them is known; of more lines the summary stands below.
const KEPT_BACK: usize = 4 << 20;

/// Lines with a summary. Beyond [`KEPT_BACK`] they are printed while they are made. A reader that went away is no failure; then
/// nothing more is printed.
pub(crate) struct Lines {
    out: io::BufWriter<io::Stdout>,
    kept: String,
    is_printing: bool,
    failure: Option<io::Error>,
}

impl Lines {
    pub(crate) fn new() -> Lines {
        Lines { out: io::BufWriter::new(io::stdout()), kept: String::new(), is_printing: false, failure: None }
    }
    pub(crate) fn push(&mut self, line: &str) {
        self.kept.push_str(line);
        if self.is_printing || self.kept.len() > KEPT_BACK {
            self.is_printing = true;
            self.print();
        }
    }
    fn print(&mut self) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(shown_text(&self.kept).as_bytes()).err();
        }
        self.kept.clear();
    }
    pub(crate) fn finish(mut self, summary: &[String]) -> Result<(), Error> {
        let text = summary.join("\n");
        let summary = layout().width.map_or_else(|| text.clone(), |width| paragraph::wrapped(&text, width));
        self.kept = if self.is_printing { format!("\n{summary}\n") } else { format!("{summary}\n\n{}", self.kept) };
        self.print();
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

/// Prints tables with an empty line between them, as narrow and as short as was asked for.
pub(crate) fn tables(tables: &[Table]) -> Result<(), Error> {
    text(&tables.iter().map(|table| table.laid_out(layout())).collect::<Vec<_>>().join("\n"))
}

/// Prints lines for people, folded where they are wider than the terminal. In Markdown they stand as they are.
pub(crate) fn lines(lines: &str) -> Result<(), Error> {
    let shown = layout();
    let wrapped = |width| paragraph::wrapped(lines, width);
    let body = shown.width.map_or_else(|| lines.to_string(), wrapped);
    if shown.is_markdown { text(&format!("```\n{}\n```\n", body.trim_end())) } else { text(&body) }
}

/// Prints a summary, an empty line, and tables.
pub(crate) fn summary_and_tables(summary: &[String], shown: &[Table]) -> Result<(), Error> {
    lines(&(summary.join("\n") + "\n"))?;
    if shown.is_empty() {
        return Ok(());
    }
    text("\n")?;
    tables(shown)
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
    let width = style::columns_of_stderr();
    for note in notes {
        let line = format!("note: {note}");
        tell!("{}", width.map_or_else(|| line.clone(), |width| paragraph::wrapped(&line, width)));
    }
}

/// Where files were written.
pub(crate) fn written(path: &Path) {
    if is_stdout(path) {
        return;
    }
    let shown = path.display();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("pftrace") => tell!("wrote {shown}; open it at https://ui.perfetto.dev"),
        Some("partial") => tell!("wrote {shown}, which is not complete"),
        _ => tell!("wrote {shown}"),
    }
}

/// Prints an error on stderr and gives its exit code. With `--json` stdout gets a document that says the same.
pub(crate) fn error(error: &Error, json: bool) -> ExitCode {
    match error {
        Error::Input(files) => files.iter().for_each(show_mistakes),
        Error::World { .. } => tell!("error: {}", shown(&error.to_string())),
        Error::Broken(broken) => stderr(format_args!("{broken}")),
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

/// Columns that a drawn line has at most; of a longer one only what is around the mark is shown.
const WIDTH: usize = 120;
/// Lines and places that are longer are told by number and not drawn, bytes: nobody could find the mark.
const LONGEST_DRAWN: usize = 4096;

fn show_mistakes(file: &FileMistakes) {
    // anstream takes the colours out where stderr is no terminal.
    let _ = write!(anstream::stderr(), "{}", drawn(file, &Renderer::styled()));
    tell!("{}: {} (fairground {})", shown(&file.name), file.count(), guard::VERSION);
}

/// Lines as they are drawn. The renderer shows control characters of ASCII and marks of writing direction as pictures of them.
/// It leaves those from U+0080 on as they are: each becomes another letter of two bytes, so that places stay where they are.
fn drawable(lines: &str) -> Cow<'_, str> {
    let is_c1 = |letter: char| matches!(letter, '\u{80}'..='\u{9f}');
    if lines.contains(is_c1) { Cow::Owned(lines.replace(is_c1, "¿")) } else { Cow::Borrowed(lines) }
}

/// Each mistake that is shown on the line that it is about, with its hint.
fn drawn(file: &FileMistakes, renderer: &Renderer) -> String {
    if file.mistakes.0.is_empty() {
        return String::new();
    }
    let groups: Vec<Group<'_>> = file.shown().iter().map(|mistake| group(file, mistake)).collect();
    renderer.clone().decor_style(DecorStyle::Unicode).term_width(WIDTH).render(&groups) + "\n"
}

fn group<'a>(file: &'a FileMistakes, mistake: &'a Mistake) -> Group<'a> {
    let span = mistake.span.clone().filter(|span| !file.text.is_empty() && file.text.get(span.clone()).is_some());
    let lines = span.as_ref().map(|span| lines_of(&file.text, span)).filter(|lines| lines.len() <= LONGEST_DRAWN);
    let (message, hint) = (shown(&mistake.message), Level::HELP.message(shown(&mistake.hint)));
    match (span, lines) {
        (Some(span), Some(lines)) => {
            let snippet = Snippet::source(drawable(&file.text[lines.clone()]))
                .path(shown(&file.name))
                .line_start(Mistakes::line_of(&file.text, lines.start))
                .annotation(AnnotationKind::Primary.span(span.start - lines.start..span.end - lines.start));
            Level::ERROR.primary_title(message).element(snippet).element(hint)
        }
        (span, _) => {
            let place = span.map_or_else(|| file.name.clone(), |span| file.place(span.start));
            Level::ERROR.primary_title(format!("{}: {message}", shown(&place))).element(hint)
        }
    }
}

/// The lines that a place touches, without the end of the last one if the place leaves it out.
fn lines_of(text: &str, place: &Range<usize>) -> Range<usize> {
    let start = text[..place.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[place.end..].find('\n').map_or(text.len(), |at| place.end + at);
    start..if end > place.end && text[..end].ends_with('\r') { end - 1 } else { end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn plain(text: &str, places: &[(&str, &str, &str)]) -> String {
        let mut mistakes = Mistakes::default();
        for &(part, message, hint) in places {
            match text.find(part) {
                Some(at) if !part.is_empty() => mistakes.at(at..at + part.len(), message, hint),
                _ => mistakes.whole(message, hint),
            }
        }
        let file = FileMistakes { name: "bad.toml".to_string(), text: text.to_string(), mistakes };
        drawn(&file, &Renderer::plain())
    }
    fn check(text: &str, places: &[(&str, &str, &str)], expected: Expect) {
        expected.assert_eq(&plain(text, places));
    }

    #[test]
    fn several_mistakes_and_one_without_a_place() {
        check(
            "title = \"bad\"\nduration = 10\nsead = 1\n",
            &[
                ("", "neither `tasks` nor `workload`", "Add one of them."),
                ("10", "`duration = 10` has no unit", "Write `duration = \"10ms\"`."),
                ("sead", "unknown key `sead` in scenario", "Did you mean `seed`?"),
            ],
            expect![[r#"
                error: bad.toml: neither `tasks` nor `workload`
                  │
                  ╰ help: Add one of them.
                error: `duration = 10` has no unit
                  ╭▸ bad.toml:2:12
                  │
                2 │ duration = 10
                  │            ━━
                  ╰ help: Write `duration = "10ms"`.
                error: unknown key `sead` in scenario
                  ╭▸ bad.toml:3:1
                  │
                3 │ sead = 1
                  │ ━━━━
                  ╰ help: Did you mean `seed`?
            "#]],
        );
    }

    #[test]
    fn tabs_and_wide_characters_keep_the_mark_in_its_place() {
        let text = "\ttasks = [{ name = \"日本語\",\trun = \"1mz\" }]\n";
        check(
            text,
            &[("1mz", "no time `1mz`", "Did you mean `ms`?")],
            expect![[r#"
            error: no time `1mz`
              ╭▸ bad.toml:1:34
              │
            1 │     tasks = [{ name = "日本語",    run = "1mz" }]
              │                                           ━━━
              │
              ╰ help: Did you mean `ms`?
        "#]],
        );
    }

    #[test]
    fn of_a_long_line_what_is_around_the_mark_is_shown() {
        let text = format!("a = [{}WRONG, {}]\n", "1, ".repeat(400), "2, ".repeat(400));
        check(
            &text,
            &[("WRONG", "no number", "Write a number.")],
            expect![[r#"
            error: no number
              ╭▸ bad.toml:1:1206
              │
            1 │ …1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, WRONG, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,…
              │                                                        ━━━━━
              │
              ╰ help: Write a number.
        "#]],
        );
    }

    #[test]
    fn lines_that_end_in_cr_lf_and_a_mark_over_the_end() {
        let text = "title = \"x\"\r\nduration = 10\r\nsead = 1\r\n";
        check(
            text,
            &[("10", "no unit", "Write `10ms`."), ("sead = 1\r\n", "unknown key", "Remove it.")],
            expect![[r#"
            error: no unit
              ╭▸ bad.toml:2:12
              │
            2 │ duration = 10
              │            ━━
              │
              ╰ help: Write `10ms`.
            error: unknown key
              ╭▸ bad.toml:3:1
              │
            3 │ sead = 1
              │ ━━━━━━━━
              ╰ help: Remove it.
        "#]],
        );
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_as_pictures_of_it() {
        let text = "a\u{1b}[2J\u{9b}31m\u{7}\u{202e} = 1\n";
        let shown = plain(
            text,
            &[("a\u{1b}[2J", "unknown key `a\u{1b}[2J`", "Remove\u{1b}c\u{8} it."), ("", "\u{1b}]0;t\u{7}", "\r\u{202e}")],
        );
        expect![[r#"
            error: unknown key `a\u{1b}[2J`
              ╭▸ bad.toml:1:1
              │
            1 │ a␛[2J¿31m␇� = 1
              │ ━━━━━
              │
              ╰ help: Remove\u{1b}c\u{8} it.
            error: bad.toml: \u{1b}]0;t\u{7}
              │
              ╰ help: \r\u{202e}
        "#]]
        .assert_eq(&shown);
        assert!(shown.chars().all(|letter| letter == '\n' || !letter.is_control()), "{shown:?}");
    }

    #[test]
    fn a_place_over_several_lines_and_one_at_the_end() {
        let text = "a = \"\"\"\nnever\nends\n";
        check(
            text,
            &[("\"\"\"\nnever\nends\n", "the text never ends", "Close it with `\"\"\"`.")],
            expect![[r#"
            error: the text never ends
              ╭▸ bad.toml:1:5
              │
            1 │   a = """
              │ ┏━━━━━┛
            2 │ ┃ never
            3 │ ┃ ends
              │ ┗━━━━━┛
              │
              ╰ help: Close it with `"""`.
        "#]],
        );
        let mut mistakes = Mistakes::default();
        mistakes.at(text.len()..text.len(), "something is missing", "Add it.");
        let file = FileMistakes { name: "bad.toml".to_string(), text: text.to_string(), mistakes };
        expect![[r#"
            error: something is missing
              ╭▸ bad.toml:4:1
              │
            4 │
              │ ━
              │
              ╰ help: Add it.
        "#]]
        .assert_eq(&drawn(&file, &Renderer::plain()));
    }

    proptest! {
        #[test]
        fn no_text_and_no_place_can_stop_it(
            text in "(?s)([a-c \t\r\n日\u{1b}\u{202e}\u{301}]|.){0,40}",
            name in "(?s).{0,5}",
            places in prop::collection::vec((0..130_usize, 0..130_usize, "(?s).{0,9}"), 0..4),
        ) {
            let mistakes = places.into_iter().map(|(start, end, message)| {
                Mistake { span: Some(start..end), message, hint: String::new() }
            });
            let file = FileMistakes { name, text, mistakes: Mistakes(mistakes.collect()) };
            let shown = drawn(&file, &Renderer::plain());
            prop_assert!(shown.chars().all(|letter| letter == '\n' || !letter.is_control()), "{shown:?}");
            prop_assert!(shown.matches("error: ").count() >= file.mistakes.0.len());
        }
    }
}
