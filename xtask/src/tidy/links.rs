//! Links between our pages lead somewhere.

use super::{Finding, Project};
use crate::rust_source::line_of;
use crate::tree::File;

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let pages = project.files.iter().filter(|file| file.is("md"));
    pages.flat_map(|page| links(page).filter_map(|(at, target)| broken(project, page, at, target))).collect()
}

/// The targets of links such as `[text](target)`, with their offsets.
fn links(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let after = page.text.match_indices("](").map(|(at, opening)| (at, &page.text[at + opening.len()..]));
    after.filter_map(|(at, rest)| Some((at, rest.split_once(')')?.0)))
}

fn broken(project: &Project<'_>, page: &File, at: usize, target: &str) -> Option<Finding> {
    let path = target.split('#').next().unwrap_or_default();
    let is_ours =
        !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:") && !path.contains(char::is_whitespace);
    let wanted = resolve(&page.path, path);
    let exists = |file: &File| file.path == wanted || file.path.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with('/'));
    let is_broken = is_ours && !project.files.iter().any(exists);
    let message = format!("the link to `{path}` leads nowhere");
    is_broken.then(|| Finding { path: page.path.clone(), line: line_of(&page.text, at), message })
}

/// `target` as a path from the root, if `page` links to it.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn broken_links_are_found() {
        let text =
            "[a](../README.md) [b](b.md#part) [c](gone.md) [d](https://example.org) [e](../crates/) [f](#here)\n[g](../x/y.md)";
        let files = [("docs/a.md", text), ("docs/b.md", ""), ("README.md", ""), ("crates/c/lib.md", "")];
        let found = messages(check, &files);
        assert_eq!(
            found,
            ["docs/a.md:1: the link to `gone.md` leads nowhere", "docs/a.md:2: the link to `../x/y.md` leads nowhere"]
        );
    }
}
