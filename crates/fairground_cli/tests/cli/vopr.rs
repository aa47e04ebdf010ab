//! `vopr`: random whole systems, and the way back from a file.

use crate::support::{Folder, SMALL, ok, run};

#[test]
fn a_hunt_says_what_it_reached() {
    let document = ok(&["vopr", "--seeds", "0..12", "--json"]).json();
    assert_eq!((&document["command"], &document["runs"]), (&"vopr".into(), &12.into()));
    assert!(document["failure"].is_null());
    assert!(document["rules"]["pick-only"].as_u64().is_some_and(|count| count > 0), "{document}");
    let again = ok(&["vopr", "--seed", "0", "--runs", "12", "--json"]).json();
    assert_eq!(again["digest"], document["digest"]);
    let text = ok(&["vopr", "--seed", "3"]).out;
    assert!(text.starts_with("1 runs held"), "{text}");
}

#[test]
fn a_scenario_file_runs_under_the_same_checks() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL.replace("\"1s\"", "\"100ms\""));
    let document = ok(&["vopr", "--replay", &path, "--json"]).json();
    assert_eq!(document["runs"], 1);
    assert_eq!(document["digest"], ok(&["run", &path, "--json"]).json()["digest"]);
}

#[test]
fn wrong_flags_are_named() {
    for (flags, part) in [
        (&["--seeds", "5..5"][..], "the smaller first"),
        (&["--seeds", "0..5", "--runs", "3"], "cannot be used with"),
        (&["--time", "60"], "--time"),
        (&["--replay", "no-such-file.toml"], "no-such-file.toml"),
        (&["--replay", "x.toml", "--seed", "3"], "cannot be used with"),
    ] {
        let ran = run(&[&["vopr"], flags].concat());
        assert!(ran.code == 2 || ran.code == 3, "{flags:?}: {}", ran.code);
        assert!(ran.err.contains(part), "{flags:?}: {}", ran.err);
    }
}

#[test]
fn rules_that_never_decide_are_named() {
    let ran = run(&["vopr", "--seed", "3", "--rules"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("never decided in 1 systems: "), "{}", ran.err);
    let row = |rule: &str| ran.out.lines().find(|line| line.starts_with(rule)).map(|line| line.split_whitespace().collect());
    let row: Vec<&str> = row("pick-idle ").expect("a row");
    assert!(row[1] != "0" && row[2..5] == ["1", "1", "3"], "{row:?}");
    let document = ok(&["vopr", "--seed", "3", "--json"]).json();
    let rows = document["tables"][0]["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["rule"] == "select-energy" && row["decisions"] == 0 && row["seed"].is_null()), "{rows:?}");
}
