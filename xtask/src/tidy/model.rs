//! Worked examples of the model pages and the tests that show them, tied together both ways.
//!
//! A page `docs/model/NN-*.md` has a heading `## Worked examples`, and under it entries that begin
//! with `- **T01** `. A test names its entry in a line of its doc comment, `/// Model: 03 T01`. Every
//! such line names an entry, and every entry has a test or says `No test:` and why.

use super::{Finding, Project};
use crate::rust_source::line_of;
use crate::tree::{self, File};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// An entry: its page and number, such as `("05", "T01b")`.
type Id<'a> = (&'a str, &'a str);

/// Where the pages lie.
const PAGES: &str = "docs/model/";
/// How the line of a test begins.
const MARK: &str = "/// Model: ";

/// An entry of a page.
struct Entry<'a> {
    path: &'a str,
    line: usize,
    /// Whether it says why no test shows it.
    is_excused: bool,
}

/// A test that names an entry.
struct Claim<'a> {
    text: &'a str,
    file: &'a File,
    line: usize,
    /// Its name; `None` if the line stands above no test.
    test: Option<&'a str>,
}

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let (entries, claims) = (entries(project.files), claims(project.files));
    let finding = |path: &str, line, message| Finding { path: path.to_string(), line, message };
    let wrong = claims.iter().filter_map(|claim| {
        let message = match (claim.id(), claim.test) {
            (None, _) => "must have the form `/// Model: 03 T01`".to_string(),
            (Some(_), None) => "`/// Model:` stands above no test".to_string(),
            (Some(id), _) if entries.contains_key(&id) => return None,
            (Some((page, number)), _) => format!("no page {PAGES}{page}-*.md has an entry **{number}**"),
        };
        Some(finding(&claim.file.path, claim.line, message))
    });
    let bare = entries.iter().filter(|(id, entry)| !entry.is_excused && !claims.iter().any(|claim| claim.id() == Some(**id)));
    let bare = bare.map(|((page, number), entry)| {
        let message = format!("no test has `{MARK}{page} {number}`: write one, or say `No test:` and why");
        finding(entry.path, entry.line, message)
    });
    wrong.chain(bare).collect()
}

/// `cargo xtask model-tests`: every entry with the tests that show it.
pub(crate) fn list(root: &Path) -> bool {
    let files = tree::files(root);
    let claims = claims(&files);
    let mut lines = String::new();
    for id in entries(&files).keys() {
        for claim in claims.iter().filter(|claim| claim.id() == Some(*id)) {
            let test = claim.test.unwrap_or("no test");
            lines += &format!("{} {:<5} {}:{} {test}\n", id.0, id.1, claim.file.path, claim.line);
        }
    }
    // Whoever reads may stop reading (`| head`): that is no failure.
    let _ = std::io::stdout().write_all(lines.as_bytes());
    true
}

fn entries(files: &[File]) -> BTreeMap<Id<'_>, Entry<'_>> {
    let mut found = BTreeMap::new();
    for file in files {
        let Some((page, _)) = file.path.strip_prefix(PAGES).and_then(|name| name.split_once('-')) else { continue };
        for (number, line, text) in page_entries(&file.text) {
            found.insert((page, number), Entry { path: &file.path, line, is_excused: text.contains("No test:") });
        }
    }
    found
}

/// The entries under "Worked examples": number, line, and the text up to the next one.
fn page_entries(text: &str) -> Vec<(&str, usize, &str)> {
    let heading = "\n## Worked examples\n";
    let Some(start) = text.find(heading).map(|at| at + heading.len()) else { return Vec::new() };
    let section = &text[start..];
    let section = section.find("\n## ").map_or(section, |end| &section[..end]);
    let mark = "- **T";
    let starts: Vec<usize> = section.match_indices(mark).map(|found| found.0).filter(|&at| is_line_start(section, at)).collect();
    let ends = starts.iter().skip(1).copied().chain([section.len()]);
    let entry = |(at, end): (&usize, usize)| {
        let (number, _) = section[at + mark.len() - 1..].split_once("**")?;
        is_number(number).then(|| (number, line_of(text, start + at), &section[*at..end]))
    };
    starts.iter().zip(ends).filter_map(entry).collect()
}

fn is_line_start(text: &str, at: usize) -> bool {
    at == 0 || text.as_bytes()[at - 1] == b'\n'
}

/// `T01`, or `T01b`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('T').map(|rest| rest.trim_end_matches(|c: char| c.is_ascii_lowercase()));
    digits.is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 4)
}

impl<'a> Claim<'a> {
    /// What it names, if it has the form.
    fn id(&self) -> Option<Id<'a>> {
        let (page, number) = self.text.split_once(' ')?;
        (page.len() == 2 && page.bytes().all(|byte| byte.is_ascii_digit()) && is_number(number)).then_some((page, number))
    }
}

fn claims(files: &[File]) -> Vec<Claim<'_>> {
    let rust = files.iter().filter(|file| file.is("rs"));
    rust.flat_map(|file| {
        let lines = file.text.lines().enumerate();
        lines.filter_map(|(index, line)| {
            let text = line.trim_start().strip_prefix(MARK)?;
            Some(Claim { text, file, line: index + 1, test: test_below(&file.text, index) })
        })
    })
    .collect()
}

/// The name of the test whose doc comment holds that line.
fn test_below(text: &str, line: usize) -> Option<&str> {
    let mut is_test = false;
    for line in text.lines().skip(line).map(str::trim_start) {
        if let Some(function) = line.strip_prefix("fn ") {
            return function.split('(').next().filter(|_| is_test);
        }
        is_test |= line == "#[test]";
        if !line.starts_with("///") && !line.starts_with("#[") {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    const PAGE: &str = "# Groups\n\n## Worked examples\n\n- **T01** One,\n  two.\n- **T02** No test: it is a drawing.\n- **T03b** Three.\n\n## Read also\n\n- **T09** no\n";

    #[test]
    fn entries_of_a_page_are_read_with_their_text() {
        let entries = page_entries(PAGE);
        assert_eq!(entries.iter().map(|entry| (entry.0, entry.1)).collect::<Vec<_>>(), [("T01", 5), ("T02", 7), ("T03b", 8)]);
        assert!(entries[0].2.ends_with("two.\n") && entries[1].2.contains("No test:"));
        assert!(page_entries("# no examples\n- **T01** x\n").is_empty());
    }

    #[test]
    fn entries_and_tests_are_held_against_each_other() {
        let page = ("docs/model/03-groups.md", PAGE);
        let test = |claim: &str| format!("/// Shows it.\n///\n/// Model: {claim}\n#[test]\nfn it_holds() {{}}\n");
        let of = |claim: &str| messages(check, &[page, ("crates/fairground/src/a.rs", &test(claim))]);
        let bare = |number: &str, line| {
            format!("docs/model/03-groups.md:{line}: no test has `/// Model: 03 {number}`: write one, or say `No test:` and why")
        };
        assert_eq!(of("03 T01"), [bare("T03b", 8)]);
        assert_eq!(of("03 T03b"), [bare("T01", 5)]);
        let unknown = "crates/fairground/src/a.rs:3: no page docs/model/03-*.md has an entry **T09**";
        assert_eq!(of("03 T09"), [unknown.to_string(), bare("T01", 5), bare("T03b", 8)]);
        assert!(of("3 T01")[0].contains("must have the form"));
        let loose = messages(check, &[page, ("crates/fairground/src/a.rs", "/// Model: 03 T01\nfn no_test() {}\n")]);
        assert_eq!(loose[0], "crates/fairground/src/a.rs:1: `/// Model:` stands above no test");
    }
}
