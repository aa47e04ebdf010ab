//! The rules of the house that the compiler cannot see. Each module is one family of rules.

mod clock_readers;
mod edges;
pub(crate) mod kernel_index;
mod kernel_lines;
mod layout;
pub(crate) mod links;
mod measured;
pub(crate) mod model;
mod prose;
mod purity;
mod seams;
mod sentences;
mod terms;
mod wording;

use crate::rust_source;
use crate::tree::{self, File};
use std::collections::BTreeSet;
use std::path::Path;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

/// A Rust file in the forms that rules look at.
pub(crate) struct Source<'a> {
    file: &'a File,
    /// The text with comments and strings blanked.
    code: String,
    /// The same without what is only compiled for tests; empty for files of tests.
    shipped: String,
}

impl Source<'_> {
    /// The crate in which the file lies.
    fn krate(&self) -> &str {
        if self.file.path.starts_with("python/") {
            return "fairground_python";
        }
        self.file.path.strip_prefix("crates/").and_then(|rest| rest.split('/').next()).unwrap_or("xtask")
    }
    fn finding(&self, offset: usize, message: impl Into<String>) -> Finding {
        let line = rust_source::line_of(&self.file.text, offset);
        Finding { path: self.file.path.clone(), line, message: message.into() }
    }
}

/// The whole project as the rules see it.
pub(crate) struct Project<'a> {
    files: &'a [File],
    sources: Vec<Source<'a>>,
    /// The commits up to this one; empty where there is no whole history.
    commits: Vec<String>,
}

impl<'a> Project<'a> {
    fn new(files: &'a [File]) -> Project<'a> {
        let rust: Vec<(&File, String)> =
            files.iter().filter(|file| file.is("rs")).map(|file| (file, rust_source::without_text(&file.text))).collect();
        let tests: BTreeSet<String> = rust.iter().flat_map(|(file, code)| test_files(&file.path, code)).collect();
        let sources = rust.into_iter().map(|(file, code)| {
            let shipped = if is_test(&file.path, &tests) { String::new() } else { rust_source::without_tests(&code) };
            Source { file, code, shipped }
        });
        Project { files, sources: sources.collect(), commits: Vec::new() }
    }
    fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// The folder in which the submodules of a file lie.
fn module_folder(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder.to_string(),
        _ => path.trim_end_matches(".rs").to_string(),
    }
}

/// The files of the modules that `path` declares for tests only.
fn test_files(path: &str, code: &str) -> Vec<String> {
    let folder = module_folder(path);
    let names = rust_source::test_modules(code);
    names.iter().flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/")]).collect()
}

fn is_test(path: &str, tests: &BTreeSet<String>) -> bool {
    let in_folder = |folder: &str| path.contains(&format!("/{folder}/"));
    in_folder("tests")
        || in_folder("benches")
        || in_folder("examples")
        || tests.iter().any(|test| path == test || (test.ends_with('/') && path.starts_with(test)))
}

/// All findings, in order of rule, file and line.
fn check(files: &[File], commits: Vec<String>) -> Vec<Finding> {
    let project = Project { commits, ..Project::new(files) };
    let rules = [
        edges::check,
        purity::check,
        seams::check,
        clock_readers::check,
        kernel_lines::check,
        kernel_index::check,
        wording::check,
        layout::check,
        links::check,
        measured::check,
        model::check,
        sentences::check,
    ];
    rules.iter().flat_map(|rule| rule(&project)).collect()
}

/// `cargo xtask tidy`.
pub(crate) fn run(root: &Path) -> bool {
    let files = tree::files(root);
    let findings = check(&files, tree::commits(root));
    for Finding { path, line, message } in &findings {
        eprintln!("{path}:{line}: {message}");
    }
    eprintln!("tidy: {} files, {} findings", files.len(), findings.len());
    findings.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let root = crate::root();
        let findings = check(&tree::files(&root), tree::commits(&root));
        let lines: Vec<String> = findings.iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.message)).collect();
        assert!(findings.is_empty(), "run `cargo xtask tidy`:\n{}", lines.join("\n"));
    }

    /// The messages of `rule` for a project of the given files.
    pub(super) fn messages(rule: fn(&Project<'_>) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| File { path: path.to_string(), text: text.to_string() }).collect();
        rule(&Project::new(&files)).into_iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.message)).collect()
    }
}
