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

/// Incidents whose band is missed. Each keeps its band; docs/experiments/incidents.md says why.
const OUTSIDE: [&str; 6] =
    ["r10-busy.toml", "r10-quiet.toml", "r2-8-expiring.toml", "r5-schbench.toml", "r6-ingress.toml", "r9-collector.toml"];

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

/// Model: 13 T06
#[test]
fn schbench_is_throttled_without_a_burst_and_not_with_one() {
    incidents("r5-");
}

/// Model: 13 T07
#[test]
fn an_ingress_with_a_small_limit_answers_later_than_one_without() {
    incidents("r6-");
}

#[test]
fn incidents_of_a_service_at_800m() {
    incidents("r10-");
}

#[test]
fn incidents_of_slices_that_expire() {
    incidents("r1-");
    incidents("r2-");
    incidents("r4-");
}

#[test]
fn incidents_of_one_burst_and_one_hog() {
    incidents("r9-");
    incidents("r11-");
    incidents("r12-");
}

#[test]
fn sweeps_run() {
    let folder = Folder::new();
    // Each sweep has its own journal.
    for (number, path) in tomls("scenarios/sweeps").into_iter().enumerate() {
        ok(&["sweep", &path, "--journal", &folder.path(&number.to_string()), "--fresh"]);
    }
}

/// A number as the page has it: three digits behind the point below ten, one above, zeros at the end left out.
fn on_the_page(value: f64) -> String {
    let text = if value < 10.0 { format!("{value:.3}") } else { format!("{value:.1}") };
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// `docs/experiments/incidents.md` shows what comes out: each row with its median, and which lie outside.
#[test]
fn the_page_of_incidents_is_what_they_give() {
    let page = std::fs::read_to_string(workspace().join("docs/experiments/incidents.md")).unwrap();
    let given = run(&["reproduce", "incidents", "--json"]);
    assert_eq!(given.code, 1);
    let rows = given.json()["rows"].as_array().unwrap().clone();
    assert_eq!(page.lines().filter(|line| line.starts_with("| `r")).count(), rows.len());
    for row in rows {
        let id = row["id"].as_str().unwrap();
        let line = page.lines().find(|line| line.starts_with(&format!("| `{id}`"))).unwrap_or_else(|| panic!("{id} is missing"));
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |key: &str| row["simulated"][key].as_f64().unwrap();
        let scale = if cells[1].ends_with(" ms") && row["unit"] == "us" { 1000.0 } else { 1.0 };
        let median = on_the_page(number("median") / scale);
        assert_eq!(cells[3].split(' ').next(), Some(median.as_str()), "{line}");
        assert_eq!(cells[5] == "**outside**", row["within"] == false, "{line}");
    }
}
