//! `compare`, `sweep`, `diff-runs`: many runs of one scenario.

use crate::support::{Folder, SMALL, ok, run};

fn sweep(folder: &Folder) -> String {
    folder.file("base.toml", SMALL.replace("\"1s\"", "\"100ms\""));
    let text = "title = \"t\"\nbase = \"base.toml\"\nmetrics = [\"switches\"]\n[axes]\nseed = \"1..3\"\nprofile = [\"v5.10\", \"v6.1\"]\n";
    folder.file("sweep.toml", text)
}

#[test]
fn a_comparison_shows_verdicts_and_marks_more_than_one_change() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let ran = ok(&["compare", &path, "--b", "v4.12"]);
    assert!(ran.out.starts_with("No difference: ") && ran.out.contains("not a single change"), "{}", ran.out);
    let widest = ran.out.lines().skip_while(|line| !line.is_empty()).map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|widest| widest <= 75), "{}", ran.out);
    let single = run(&["compare", &path, "--change", "sched_latency_ns=24000000", "--json"]);
    let document = single.json();
    assert_eq!(document["single_change"], true);
    assert_eq!(document["differences"].as_array().unwrap().len(), 1);
    let verdicts: Vec<&str> = document["rows"].as_array().unwrap().iter().filter_map(|row| row["verdict"].as_str()).collect();
    let worse = verdicts.contains(&"worse");
    assert_eq!(single.code == 1, worse, "{verdicts:?}");
    let overlay = run(&["compare", &path, "--a", "v4.20", "--change", "+align-vruntime", "--json"]).json();
    assert_eq!(overlay["single_change"], true);
}

#[test]
fn too_few_runs_of_something_random_are_inconclusive() {
    let folder = Folder::new();
    let random = SMALL.replace("run = \"2ms\", period = \"20ms\"", "do = [\"run 1ms..3ms\", \"sleep 5ms..20ms\"]");
    let path = folder.file("random.toml", random);
    let ran = run(&["compare", &path, "--runs", "2", "--change", "sched_latency_ns=24000000"]);
    assert_eq!(ran.code, 4, "{}", ran.out);
    assert!(ran.out.contains("inconclusive"), "{}", ran.out);
}

/// Model: 09 T10
#[test]
fn a_sweep_is_the_same_on_one_thread_and_on_eight_and_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let path = sweep(&folder);
    let out = |name: &str| folder.path(name);
    ok(&["sweep", &path, "--threads", "1", "-o", &out("one.csv"), "-o", &out("one.json")]);
    assert_eq!(folder.read("one.csv").lines().count(), 7);
    let fresh = ok(&["sweep", &path, "--threads", "8", "--fresh", "-o", &out("two.csv"), "-o", &out("two.json")]);
    assert!(!fresh.err.contains("finished before"));
    assert_eq!((folder.read("one.csv"), folder.read("one.json")), (folder.read("two.csv"), folder.read("two.json")));
    // A crash tore the last line of the journal: that run is made again, the others are not.
    let journal = folder.read("sweep.toml.journal");
    folder.file("sweep.toml.journal", &journal[..journal.len() - 20]);
    let resumed = ok(&["sweep", &path, "-o", &out("three.csv")]);
    assert!(resumed.err.contains("5 of 6 runs were finished before"), "{}", resumed.err);
    assert_eq!(folder.read("one.csv"), folder.read("three.csv"));
    assert_eq!(folder.read("sweep.toml.journal").lines().count(), 7);
    // The journal of a sweep that is done stays: with one more value only the new runs are made.
    let wider = folder.read("sweep.toml").replace("\"v6.1\"", "\"v6.1\", \"v6.12\"");
    folder.file("sweep.toml", &wider);
    let grown = ok(&["sweep", &path]);
    assert!(grown.err.contains("6 of 9 runs were finished before"), "{}", grown.err);
}

#[test]
fn wrong_axes_are_found_before_the_first_run() {
    let folder = Folder::new();
    let path = sweep(&folder);
    let text = folder.read("sweep.toml").replace("\"v6.1\"", "\"v6.1\", \"v9.9\", \"v7.3\"");
    std::fs::write(&path, text).unwrap();
    let ran = run(&["sweep", &path]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("v9.9") && ran.err.contains("v7.3"), "{}", ran.err);
    assert!(!folder.has("sweep.toml.journal"));
    assert_eq!(run(&["sweep", &path, "-o", &folder.path("x.parquet")]).code, 2);
    assert!(!folder.has("x.parquet.partial"));
}

#[test]
fn the_first_difference_of_two_runs_is_shown() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let same = ok(&["diff-runs", &path, &path]);
    assert!(same.out.starts_with("No difference: "), "{}", same.out);
    let other = folder.file("other.toml", format!("{SMALL}[[at]]\ntime = \"500ms\"\ndo = \"nice hog-0 5\"\n"));
    let ran = run(&["diff-runs", &path, &other, "--full"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert_eq!(ran.out.matches("\nboth ").count(), 20, "{}", ran.out);
    assert!(ran.out.contains("\nA ") && ran.out.contains("\nB "), "{}", ran.out);
    let by_profile = run(&["diff-runs", &path, "--change", "NO_START_DEBIT", "--json"]).json();
    assert_eq!((&by_profile["differs"], by_profile["inputs"].as_array().unwrap().len()), (&true.into(), 2));
    assert_eq!(run(&["diff-runs", &path]).code, 2);
}
