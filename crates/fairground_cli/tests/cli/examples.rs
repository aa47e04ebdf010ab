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

/// Runs the incidents whose files begin with `case`.
fn incidents(case: &str) {
    let files = tomls("scenarios/incidents");
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let own: Vec<&String> = files.iter().filter(|path| name(path).starts_with(case)).collect();
    assert!(!own.is_empty());
    for path in own {
        let is_outside = OUTSIDE.contains(&name(path).as_str());
        assert_eq!(run(&["run", path, "--json"]).code, i32::from(is_outside), "{path}");
    }
}

#[test]
fn spec_13_t06_r5_schbench_with_and_without_a_burst() {
    incidents("r5-");
}

#[test]
fn spec_13_t07_r6_an_ingress_with_a_small_limit() {
    incidents("r6-");
}

#[test]
fn incidents_of_a_service_at_800m() {
    incidents("r10-");
}

#[test]
fn sweeps_run() {
    let folder = Folder::new();
    for path in tomls("scenarios/sweeps") {
        ok(&["sweep", &path, "--journal", &folder.path("journal"), "--fresh"]);
    }
}
