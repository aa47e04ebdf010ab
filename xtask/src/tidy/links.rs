//! Links between our pages lead somewhere.

use super::{Finding, Project};
use crate::book::SUMMARY;
use crate::rust_source::line_of;
use crate::tree::File;

/// The files that a page links to: as written, without the part after `#`, and as paths from the root.
pub(crate) fn targets(path: &str, text: &str) -> Vec<(String, String)> {
    let page = File { path: path.to_string(), text: text.to_string() };
    let own = links(&page).map(|(_, target)| target.split('#').next().unwrap_or_default()).filter(|target| is_ours(target));
    own.map(|target| (target.to_string(), resolve(path, target))).collect()
}

/// Whether a link leads to a file of the tree.
fn is_ours(path: &str) -> bool {
    !path.is_empty() && !path.contains("://") && !path.starts_with("mailto:") && !path.contains(char::is_whitespace)
}

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let pages = project.files.iter().filter(|file| file.is("md"));
    let broken = pages.flat_map(|page| links(page).filter_map(|(at, target)| broken(project, page, at, target)));
    broken.chain(unlisted(project)).collect()
}

/// Pages of the documentation that the table of contents does not have.
fn unlisted(project: &Project<'_>) -> Vec<Finding> {
    let Some(summary) = project.file(SUMMARY) else { return Vec::new() };
    let listed: Vec<String> = targets(SUMMARY, &summary.text).into_iter().map(|target| target.1).collect();
    let pages = project.files.iter().filter(|file| file.path.starts_with("docs/") && file.is("md") && file.path != SUMMARY);
    let missing = pages.filter(|page| !listed.contains(&page.path));
    let message = format!("{SUMMARY} does not list this page");
    missing.map(|page| Finding { path: page.path.clone(), line: 1, message: message.clone() }).collect()
}

/// The targets of links such as `[text](target)`, with their offsets.
fn links(page: &File) -> impl Iterator<Item = (usize, &str)> {
    let after = page.text.match_indices("](").map(|(at, opening)| (at, &page.text[at + opening.len()..]));
    after.filter_map(|(at, rest)| Some((at, rest.split_once(')')?.0)))
}

fn broken(project: &Project<'_>, page: &File, at: usize, target: &str) -> Option<Finding> {
    let path = target.split('#').next().unwrap_or_default();
    let wanted = resolve(&page.path, path);
    let exists = |file: &File| file.path == wanted || file.path.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with('/'));
    let is_broken = is_ours(path) && !project.files.iter().any(exists);
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
    fn a_page_that_the_contents_do_not_list_is_found() {
        let files = [("docs/SUMMARY.md", "[a](a.md)\n[b](../b.md)"), ("docs/a.md", ""), ("docs/users/c.md", ""), ("b.md", "")];
        assert_eq!(messages(check, &files), ["docs/users/c.md:1: docs/SUMMARY.md does not list this page"]);
        let found = targets("docs/users/c.md", "[a](../a.md#part) [x](https://example.org)");
        assert_eq!(found, [("../a.md".to_string(), "docs/a.md".to_string())]);
    }

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
