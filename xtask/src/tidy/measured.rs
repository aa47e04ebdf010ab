//! A page with measured figures names the commit that they were measured at.
//!
//! Such a page has a line `Measured at COMMIT` with at least seven hexadecimal digits; parts of it that were measured at
//! another commit say so with the same words. The commit must be one of ours where the history is at hand.

use super::{Finding, Project};
use crate::rust_source::line_of;
use crate::tree::File;

/// Pages whose figures come from runs of the build, not from rules.
const PAGES: &[&str] = &["docs/fidelity.md", "docs/speed.md"];
/// The folder whose pages all have such figures, but for its index.
const FOLDER: &str = "docs/experiments/";
const INDEX: &str = "docs/experiments/README.md";
/// What the line says before the commit.
const WORDS: &str = "easured at `";

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let measured = |file: &&File| {
        PAGES.contains(&file.path.as_str()) || (file.path.starts_with(FOLDER) && file.is("md") && file.path != INDEX)
    };
    project.files.iter().filter(measured).flat_map(|page| check_page(page, &project.commits)).collect()
}

fn check_page(page: &File, commits: &[String]) -> Vec<Finding> {
    let finding = |at: usize, message: String| Finding { path: page.path.clone(), line: line_of(&page.text, at), message };
    let named: Vec<(usize, &str)> = page
        .text
        .match_indices(WORDS)
        .filter_map(|(at, words)| Some((at, page.text[at + words.len()..].split_once('`')?.0)))
        .collect();
    if named.is_empty() {
        return vec![finding(
            0,
            "no line says \"Measured at `COMMIT`\": name the commit at which the figures were measured".into(),
        )];
    }
    let is_commit = |name: &str| name.len() >= 7 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_known = |name: &str| commits.is_empty() || commits.iter().any(|commit| commit.starts_with(name));
    let wrong = named.into_iter().filter(|(_, name)| !is_commit(name) || !is_known(name));
    wrong.map(|(at, name)| finding(at, format!("`{name}` is no commit of this history"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str, commits: &[&str]) -> Vec<String> {
        let page = File { path: "docs/speed.md".into(), text: text.into() };
        let commits: Vec<String> = commits.iter().map(|commit| commit.to_string()).collect();
        check_page(&page, &commits).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_page_of_figures_names_a_commit_of_the_history() {
        let commit = "0123456789abcdef";
        assert!(messages("# Speed\n\nMeasured at `0123456`.\n", &[commit]).is_empty());
        assert!(messages("Measured at `0123456`; the table measured at `0123456789`.", &[commit]).is_empty());
        assert_eq!(messages("# Speed\n", &[commit]).len(), 1);
        assert_eq!(messages("Measured at `fedcba9`.", &[commit]), ["`fedcba9` is no commit of this history"]);
        assert_eq!(messages("Measured at `today`.", &[commit]).len(), 1);
    }

    #[test]
    fn without_a_history_only_the_form_counts() {
        assert!(messages("Measured at `fedcba9`.", &[]).is_empty());
        assert_eq!(messages("Measured at `fed`.", &[]).len(), 1);
    }
}
