//! Words that may not stand in the tree: notes to oneself, paths of one machine, bare expectations.

use super::{Finding, Project, Source};
use crate::rust_source::{line_of, stands_alone};
use crate::tree::File;

/// Notes to oneself; in two parts so that this file does not hold them.
const NOTES: &[[&str; 2]] = &[["TO", "DO"], ["FIX", "ME"], ["XX", "X"]];
/// Folders of one machine, likewise.
const PLACES: &[[&str; 2]] = &[["/ro", "ot"], ["/t", "mp"], ["/wo", "rk"], ["/ho", "me/"], ["/Us", "ers/"]];
/// The home of nobody: examples may use it.
const NOBODY: &str = "me/";
/// What is written by people; recordings may hold anything.
const WRITTEN: &[&str] = &["rs", "md", "toml", "json", "jsonc", "sh", "py", "txt", "yml"];

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let written = |file: &&File| WRITTEN.iter().any(|ending| file.is(ending)) || file.path == ".ci/run";
    let texts = project.files.iter().filter(written).flat_map(check_text);
    texts.chain(project.sources.iter().flat_map(expectations)).collect()
}

fn check_text(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |at: usize, message: String| {
        findings.push(Finding { path: file.path.clone(), line: line_of(&file.text, at), message });
    };
    for word in NOTES.iter().map(|parts| parts.concat()) {
        let found = file.text.match_indices(&word).map(|found| found.0).filter(|&at| stands_alone(&file.text, at, &word));
        found.for_each(|at| add(at, format!("{word}: what is not done is said in docs/limits.md or not at all")));
    }
    for place in PLACES.iter().map(|parts| parts.concat()) {
        let found = file.text.match_indices(&place).map(|found| found.0).filter(|&at| is_path(&file.text, at, &place));
        found.for_each(|at| add(at, format!("{place}: a path of one machine")));
    }
    findings
}

/// Whether a path begins here, and does not merely go on.
fn is_path(text: &str, at: usize, place: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let goes_on = |byte: u8| is_part(byte) || b".}*>)~".contains(&byte);
    if text[..at].bytes().next_back().is_some_and(goes_on) {
        return false;
    }
    let rest = &text[at + place.len()..];
    if place.ends_with('/') { !rest.starts_with(NOBODY) } else { !rest.bytes().next().is_some_and(is_part) }
}

/// `.expect("…")` outside tests must name the invariant that makes it impossible.
fn expectations(source: &Source<'_>) -> Vec<Finding> {
    let call = ".expect(";
    let text = &source.file.text;
    let argument = |at: usize| text[at + call.len()..].trim_start();
    let wrong = |at: &usize| argument(*at).starts_with('"') && !argument(*at).starts_with("\"invariant: ");
    let found = source.shipped.match_indices(call).map(|found| found.0).filter(wrong);
    found.map(|at| source.finding(at, "an expectation must begin with \"invariant: \" and say why it holds")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn notes_and_machine_paths_are_found() {
        let text = format!(
            "{} later\n{}DOS is a word\nsee {}/x and a{}/x and {}load\n",
            NOTES[0].concat(),
            "TO",
            PLACES[1].concat(),
            PLACES[1].concat(),
            PLACES[2].concat()
        );
        let found = messages(check, &[("docs/a.md", &text)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/a.md:1:") && found[1].starts_with("docs/a.md:3:"));
    }

    #[test]
    fn expectations_name_an_invariant() {
        let text = "fn a() { x.expect(\"no\"); x.expect(\"invariant: yes\"); p.expect(Token::A); }\n#[cfg(test)]\nmod t { fn f() { x.expect(\"ok\") } }";
        assert_eq!(messages(check, &[("crates/fairground/src/a.rs", text)]).len(), 1);
    }
}
