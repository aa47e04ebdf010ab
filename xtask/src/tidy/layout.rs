//! Where things lie: docs at the top of each crate and folder, sizes, files that nobody includes.

use super::{Finding, Project, Source, module_folder};
use crate::rust_source::find_word;
use crate::tree::File;

/// A reader finds one idea per file; beyond this length it is usually two. There is no exception.
const LINES_PER_FILE: usize = 500;
/// Parents of unit folders: each folder in them is one workload or one format.
const UNIT_PARENTS: &[&str] = &["crates/fairground_workload/src", "crates/fairground_formats/src"];
/// Folders among them that are no unit but what units share.
const SHARED: &[&str] =
    &["crates/fairground_formats/src/import", "crates/fairground_formats/src/export", "crates/fairground_formats/src/folder"];

pub(super) fn check(project: &Project<'_>) -> Vec<Finding> {
    let mut findings = lengths(project);
    findings.extend(project.sources.iter().flat_map(|source| {
        let crate_docs = crate_docs(source);
        crate_docs.into_iter().chain(ignored_tests(source)).chain(empty_sentences(source))
    }));
    findings.extend(unit_readmes(project));
    findings.extend(orphans(project));
    findings.extend(tests_left_out(project));
    findings
}

fn at_top(file: &File, message: impl Into<String>) -> Finding {
    Finding { path: file.path.clone(), line: 1, message: message.into() }
}

fn lengths(project: &Project<'_>) -> Vec<Finding> {
    let lines = |source: &Source<'_>| source.file.text.lines().count();
    let long = project.sources.iter().filter(|source| lines(source) > LINES_PER_FILE);
    long.map(|source| at_top(source.file, format!("{} lines: a file has at most {LINES_PER_FILE}", lines(source)))).collect()
}

fn crate_docs(source: &Source<'_>) -> Option<Finding> {
    let is_root = source.file.path.ends_with("/src/lib.rs") || source.file.path.ends_with("/src/main.rs");
    let has_docs = source.file.text.starts_with("//! ");
    (is_root && !has_docs).then(|| at_top(source.file, "a crate begins with a sentence that says what it is (`//! …`)"))
}

/// A test that does not run by default says why.
fn ignored_tests(source: &Source<'_>) -> Vec<Finding> {
    let bare = find_word(&source.code, "ignore")
        .filter(|&at| source.code[..at].ends_with("#[") && source.code[at..].starts_with("ignore]"));
    bare.map(|at| source.finding(at, "an ignored test gives its reason: #[ignore = \"…\"]")).collect()
}

/// Rows of tables that users see (operations, reasons, features) carry a sentence.
fn empty_sentences(source: &Source<'_>) -> Vec<Finding> {
    let is_table = ["/op.rs", "/reason.rs", "/features.rs"].iter().any(|name| source.file.path.ends_with(name));
    let empty = source.file.text.match_indices(" \"\";").filter(|_| is_table);
    empty.map(|(at, _)| source.finding(at, "a row without a sentence: users see this table")).collect()
}

fn unit_readmes(project: &Project<'_>) -> Vec<Finding> {
    let mut folders: Vec<String> = Vec::new();
    for parent in UNIT_PARENTS {
        for file in project.files {
            let below = file.path.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
            if let Some((unit, _)) = below.and_then(|rest| rest.split_once('/')) {
                folders.push(format!("{parent}/{unit}"));
            }
        }
    }
    folders.sort_unstable();
    folders.dedup();
    folders.retain(|folder| !SHARED.contains(&folder.as_str()) && project.file(&format!("{folder}/README.md")).is_none());
    let message = "a workload or format has a README.md that says what it models and what it leaves out";
    folders.into_iter().map(|path| Finding { path, line: 1, message: message.to_string() }).collect()
}

/// Files below `src` that no module declares are compiled by nobody.
fn orphans(project: &Project<'_>) -> Vec<Finding> {
    let is_module = |path: &str| {
        path.contains("/src/") && !path.contains("/src/bin/") && !path.ends_with("/lib.rs") && !path.ends_with("/main.rs")
    };
    let orphan = |source: &&Source<'_>| is_module(&source.file.path) && !is_declared(project, &source.file.path);
    project.sources.iter().filter(orphan).map(|source| at_top(source.file, "no module declares this file")).collect()
}

fn is_declared(project: &Project<'_>, path: &str) -> bool {
    let own = path.strip_suffix("/mod.rs").unwrap_or(path.trim_end_matches(".rs"));
    let Some((folder, name)) = own.rsplit_once('/') else { return false };
    let declares = |source: &&Source<'_>| {
        module_folder(&source.file.path) == folder && find_word(&source.code, name).any(|at| source.code[..at].ends_with("mod "))
    };
    project.sources.iter().any(|source| declares(&source))
}

/// Where `tests/all.rs` names the tests of a crate, cargo does not look for them by itself: one that is not named never runs.
fn tests_left_out(project: &Project<'_>) -> Vec<Finding> {
    let left_out = |source: &&Source<'_>| {
        let Some((folder, rest)) = source.file.path.split_once("/tests/") else { return false };
        let name = rest.strip_suffix("/main.rs").unwrap_or(rest.trim_end_matches(".rs"));
        let Some(all) = project.sources.iter().find(|all| all.file.path == format!("{folder}/tests/all.rs")) else {
            return false;
        };
        let has_binary = || {
            let manifest = project.file(&format!("{folder}/Cargo.toml"));
            manifest.is_some_and(|file| file.text.contains(&format!("[[test]]\nname = \"{name}\"\n")))
        };
        let is_named = || find_word(&all.code, name).any(|at| all.code[..at].ends_with("mod "));
        !name.contains('/') && name != "all" && !is_named() && !has_binary()
    };
    let message = "tests/all.rs does not name this file: its tests never run";
    project.sources.iter().filter(left_out).map(|source| at_top(source.file, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::messages;
    use super::*;

    #[test]
    fn a_tree_in_order_has_no_findings() {
        let files = [
            ("crates/fairground_formats/src/lib.rs", "//! Formats.\nmod ftrace;\n"),
            ("crates/fairground_formats/src/ftrace/mod.rs", "//! Text.\nmod read;\n"),
            ("crates/fairground_formats/src/ftrace/read.rs", "//! Reads.\n"),
            ("crates/fairground_formats/src/ftrace/README.md", "# ftrace\n"),
        ];
        assert_eq!(messages(check, &files), Vec::<String>::new());
    }

    #[test]
    fn a_test_that_would_never_run_is_found() {
        let files = [
            ("crates/fairground_sim/Cargo.toml", "autotests = false\n[[test]]\nname = \"all\"\n\n[[test]]\nname = \"apart\"\n"),
            ("crates/fairground_sim/tests/all.rs", "mod balance;\nmod common;\n#[path = \"locks/main.rs\"]\nmod locks;\n"),
            ("crates/fairground_sim/tests/apart.rs", "mod common;\n"),
            ("crates/fairground_sim/tests/balance.rs", "use crate::common;\n"),
            ("crates/fairground_sim/tests/common/mod.rs", "//! Shared.\n"),
            ("crates/fairground_sim/tests/locks/main.rs", "mod held;\n"),
            ("crates/fairground_sim/tests/locks/held.rs", "//! Held.\n"),
            ("crates/fairground_sim/tests/new.rs", "#[test]\nfn a() {}\n"),
            ("crates/fairground_vopr/tests/lag.rs", "//! Cargo finds it.\n"),
        ];
        let found = messages(check, &files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/fairground_sim/tests/new.rs:1: tests/all.rs does not name"), "{found:?}");
    }

    #[test]
    fn what_is_out_of_order_is_found() {
        let long = "\n".repeat(LINES_PER_FILE + 1);
        let files = [
            ("crates/fairground_formats/src/lib.rs", "mod ftrace;\nmod long;\n#[test]\n#[ignore]\nfn a() {}"),
            ("crates/fairground_formats/src/ftrace/mod.rs", "//! Text.\n"),
            ("crates/fairground_formats/src/ftrace/stray.rs", "//! Lost.\n"),
            ("crates/fairground_formats/src/long.rs", long.as_str()),
            ("crates/fairground_model/src/lib.rs", "//! Nouns.\nmod op;\n"),
            ("crates/fairground_model/src/op.rs", "ops! {\n    Tick \"tick\" \"\";\n}\n"),
        ];
        let found = messages(check, &files);
        let has = |start: &str| found.iter().any(|line| line.starts_with(start));
        assert!(has("crates/fairground_formats/src/long.rs:1: 501 lines"), "{found:?}");
        assert!(
            has("crates/fairground_formats/src/lib.rs:1: a crate begins")
                && has("crates/fairground_formats/src/lib.rs:4: an ignored test")
        );
        assert!(
            has("crates/fairground_formats/src/ftrace:1:") && has("crates/fairground_formats/src/ftrace/stray.rs:1: no module")
        );
        assert!(has("crates/fairground_model/src/op.rs:2: a row without"));
        assert_eq!(found.len(), 6);
    }
}
