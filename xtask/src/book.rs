//! `cargo xtask book`: the documentation as a book with a search, in `target/book/html`.
//!
//! mdBook wants one folder of pages and a table of contents. Our pages lie where their subject lies, so the pages of
//! `docs/SUMMARY.md`, and all that they link to, are laid out anew below `target/book` with the same relative paths.

use crate::steps::succeeds;
use crate::tidy::links;
use crate::tree;
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
    let built = succeeds(Command::new("mdbook").arg("build").arg(root.join(OUT)).args(["--dest-dir", "html"]));
    if built {
        println!("{OUT}/html/index.html");
    }
    built
}

/// Writes the pages, what they link to, and the table of contents.
fn lay_out(root: &Path) -> std::io::Result<()> {
    let out = root.join(OUT);
    if out.exists() {
        std::fs::remove_dir_all(&out)?;
    }
    std::fs::create_dir_all(out.join("src"))?;
    std::fs::copy(root.join("book.toml"), out.join("book.toml"))?;
    let files = tree::files(root);
    let summary = std::fs::read_to_string(root.join(SUMMARY))?;
    // Links of the table of contents are relative to docs/, those of the book to the root.
    let targets = links::targets(SUMMARY, &summary);
    let contents = targets
        .iter()
        .fold(summary.clone(), |text, (written, path)| text.replace(&format!("]({written})"), &format!("]({path})")));
    std::fs::write(out.join("src/SUMMARY.md"), contents)?;
    let pages: BTreeSet<String> = targets.into_iter().map(|target| target.1).collect();
    let linked = files.iter().filter(|file| pages.contains(&file.path)).flat_map(|page| links::targets(&page.path, &page.text));
    let wanted: BTreeSet<String> = linked.map(|target| target.1).chain(pages.iter().cloned()).collect();
    for path in wanted.iter().filter(|path| root.join(path).is_file()) {
        let to = out.join("src").join(path);
        std::fs::create_dir_all(to.parent().unwrap_or(&out))?;
        std::fs::copy(root.join(path), to)?;
    }
    Ok(())
}
