//! Every example scenario runs, and what it expects holds. New files are found by walking the folder.

use crate::support::{Folder, ok, workspace};

fn tomls(folder: &str) -> Vec<String> {
    let mut found: Vec<String> = std::fs::read_dir(workspace().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| path.display().to_string())
        .collect();
    found.sort_unstable();
    assert!(!found.is_empty());
    found
}

#[test]
fn examples_hold_what_they_expect() {
    for path in tomls("scenarios/examples") {
        let first = ok(&["run", &path, "--json"]).json();
        assert_eq!(first["partial"], false, "{path}");
        let again = ok(&["run", &path, "--json", "--paranoid"]).json();
        assert_eq!(first["digest"], again["digest"], "{path}");
    }
}

#[test]
fn examples_print_canonically_and_run_from_there() {
    let folder = Folder::new();
    for path in tomls("scenarios/examples") {
        let printed = ok(&["run", &path, "--print-scenario"]).out;
        let copy = folder.file("copy.toml", printed);
        let (one, two) = (ok(&["run", &path, "--json"]).json(), ok(&["run", &copy, "--json"]).json());
        assert_eq!(one["scenario_digest"], two["scenario_digest"], "{path}");
        assert_eq!(one["digest"], two["digest"], "{path}");
    }
}

#[test]
fn sweeps_run() {
    let folder = Folder::new();
    for path in tomls("scenarios/sweeps") {
        ok(&["sweep", &path, "--journal", &folder.path("journal"), "--fresh"]);
    }
}
