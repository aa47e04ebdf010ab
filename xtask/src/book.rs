//! `cargo xtask book`: the documentation as a book with a search, in `target/book/html`.
//!
//! mdBook wants one folder of pages and a table of contents. Our pages lie where their subject lies, so the pages of
//! `docs/SUMMARY.md`, and all that they link to, are laid out anew below `target/book` with the same relative paths.

use crate::steps::succeeds;
use crate::tidy::links;
use crate::tree::{self, File};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The table of contents.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";
/// What mdBook reads, relative to the root of the workspace.
const OUT: &str = "target/book";

/// `cargo xtask book`.
pub(crate) fn run(root: &Path) -> bool {
    let made = lay_out(root).inspect_err(|error| eprintln!("{error}")).is_ok();
    made && build(root)
}

fn build(root: &Path) -> bool {
    if Command::new("mdbook").arg("--version").output().is_err() {
        eprintln!("mdbook is not installed: cargo install mdbook --no-default-features --features search");
        return false;
    }
    // book.toml says where the pages go: a folder on the command line would be relative to the caller's.
    let built = succeeds(Command::new("mdbook").arg("build").arg(root.join(OUT)));
    if built {
        println!("{OUT}/html/index.html");
    }
    built
}

/// Writes the table of contents, its pages, and all that these lead to, link by link.
fn lay_out(root: &Path) -> std::io::Result<()> {
    let out = root.join(OUT);
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(out.join("src"))?;
    std::fs::copy(root.join("book.toml"), out.join("book.toml"))?;
    let summary = std::fs::read_to_string(root.join(SUMMARY))?;
    // Links of the table of contents are relative to docs/, those of the book to the root.
    let targets = links::targets(SUMMARY, &summary);
    let mut contents = from_root(&summary, &targets);
    let listed: BTreeSet<String> = targets.into_iter().map(|target| target.1).collect();
    let files = tree::files(root);
    let reached = reached(&files, &listed);
    // mdBook makes a page of what the table of contents lists only.
    contents.push_str("\n# Elsewhere in the tree\n\n");
    for page in reached.iter().filter(|path| path.ends_with(".md") && !listed.contains(*path)) {
        let text = files.iter().find(|file| file.path == *page).map_or("", |file| &file.text);
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(page);
        contents.push_str(&format!("- [{title}]({page})\n"));
    }
    std::fs::write(out.join("src/SUMMARY.md"), contents)?;
    for path in reached.iter().filter(|path| root.join(path).is_file()) {
        let to = out.join("src").join(path);
        std::fs::create_dir_all(to.parent().unwrap_or(&out))?;
        std::fs::copy(root.join(path), to)?;
    }
    Ok(())
}

/// The pages of the table of contents and whatever they lead to.
fn reached(files: &[File], listed: &BTreeSet<String>) -> BTreeSet<String> {
    let mut reached = listed.clone();
    let mut next: Vec<String> = listed.iter().cloned().collect();
    while let Some(path) = next.pop() {
        let page = files.iter().find(|file| file.path == path && file.is("md"));
        let targets = page.map(|page| links::targets(&page.path, &page.text)).unwrap_or_default();
        next.extend(targets.into_iter().map(|target| target.1).filter(|target| reached.insert(target.clone())));
    }
    reached
}

/// The text with each link as a path from the root. One pass: a link that was written anew may read as another one did.
fn from_root(text: &str, targets: &[(String, String)]) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (written, path))) = next_link(rest, targets) {
        out.extend([before, path]);
        rest = &rest[before.len() + written.len()..];
    }
    out + rest
}

/// The first link to one of the targets: what stands before its path, and the target.
fn next_link<'a>(text: &'a str, targets: &'a [(String, String)]) -> Option<(&'a str, &'a (String, String))> {
    let starts = text.match_indices("](").map(|row| row.0 + 2);
    starts.into_iter().find_map(|start| {
        let path = text[start..].split(')').next()?;
        targets.iter().find(|target| target.0 == path).map(|target| (&text[..start], target))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_pages_and_files() {
        let file = |path: &str, text: &str| File { path: path.to_string(), text: text.to_string() };
        let files = [file("docs/a.md", "[b](../b.md)"), file("b.md", "[c](c.rs)"), file("c.rs", ""), file("d.md", "")];
        let reached = reached(&files, &BTreeSet::from(["docs/a.md".to_string()]));
        assert_eq!(reached.iter().map(String::as_str).collect::<Vec<_>>(), ["b.md", "c.rs", "docs/a.md"]);
    }

    #[test]
    fn each_link_is_written_anew_once() {
        let targets = [("../README.md", "README.md"), ("README.md", "docs/README.md")];
        let targets = targets.map(|(written, path)| (written.to_string(), path.to_string()));
        let text = "[A](../README.md) [B](README.md) [C](https://x) end";
        assert_eq!(from_root(text, &targets), "[A](README.md) [B](docs/README.md) [C](https://x) end");
    }
}
