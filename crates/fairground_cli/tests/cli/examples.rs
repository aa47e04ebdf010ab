//! Every example scenario runs, and what it expects holds. New files are found by walking the folder.

use crate::support::{Folder, ok, run, workspace};

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

/// Incidents whose band is missed. Each keeps its band; docs/advise.md says why.
const OUTSIDE: [&str; 4] = ["r10-busy.toml", "r10-quiet.toml", "r5-schbench.toml", "r6-ingress.toml"];

#[test]
fn incidents_hold_what_was_published_or_are_known_not_to() {
    for path in tomls("scenarios/incidents") {
        let is_outside = OUTSIDE.iter().any(|name| path.ends_with(name));
        assert_eq!(run(&["run", &path, "--json"]).code, i32::from(is_outside), "{path}");
    }
}

#[test]
fn sweeps_run() {
    let folder = Folder::new();
    for path in tomls("scenarios/sweeps") {
        ok(&["sweep", &path, "--journal", &folder.path("journal"), "--fresh"]);
    }
}
