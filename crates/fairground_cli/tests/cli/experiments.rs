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
    ok(&["sweep", &path, "--seeds-apart", "--threads", "1", "-o", &out("one.csv"), "-o", &out("one.json")]);
    assert_eq!(folder.read("one.csv").lines().count(), 7);
    let fresh =
        ok(&["sweep", &path, "--seeds-apart", "--threads", "8", "--fresh", "-o", &out("two.csv"), "-o", &out("two.json")]);
    assert!(!fresh.err.contains("finished before"));
    assert_eq!((folder.read("one.csv"), folder.read("one.json")), (folder.read("two.csv"), folder.read("two.json")));
    // A crash tore the last line of the journal: that run is made again, the others are not.
    let journal = folder.read("sweep.toml.journal");
    folder.file("sweep.toml.journal", &journal[..journal.len() - 20]);
    let resumed = ok(&["sweep", &path, "--seeds-apart", "-o", &out("three.csv")]);
    assert!(resumed.err.contains("5 of 6 runs were finished before"), "{}", resumed.err);
    assert_eq!(folder.read("one.csv"), folder.read("three.csv"));
    assert!(resumed.err.contains("1 lines of the journal are changed or cut short"), "{}", resumed.err);
    assert_eq!(folder.read("sweep.toml.journal").lines().count(), 8);
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

/// A sweep over an argument of the workload and a file of a group; at one of its points the run is refused.
const PATHS: &str = "title = \"t\"\nmetrics = [\"switches\"]\n[axes]\n\"workload.0.tasks.a.cpus\" = [\"0\", \"3\"]\n\
    \"groups.web.cpu_max\" = [\"5000 10000\", \"max\"]\nmachine = [\"smp-2\", \"smp-4\"]\nseed = \"1..6\"\n\
    [base]\nduration = \"20ms\"\n[base.machine]\npreset = \"smp-4\"\n[base.profile]\nkernel = \"6.1\"\n[[base.group]]\n\
    path = \"/web\"\n[[base.workload]]\ngroup = \"/web\"\ntasks = [{ name = \"a\", hog = true, count = 3 }]\n";

#[test]
fn a_combination_that_fails_is_a_row_and_the_rest_goes_on() {
    let folder = Folder::new();
    let path = folder.file("s.toml", PATHS);
    let ran = run(&["sweep", &path, "-o", &folder.path("s.csv"), "-o", &folder.path("s.json")]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.out.starts_with("t: 48 runs = 2 machine x 2 cpus x 2 cpu_max x 6 seed: 36 done, 12 refused"), "{}", ran.out);
    let csv = folder.read("s.csv");
    assert_eq!(csv.lines().count(), 9);
    assert_eq!(csv.lines().filter(|line| line.contains(",refused,0,,,,,")).count(), 2, "{csv}");
    assert!(
        csv.starts_with("point,machine,workload.0.tasks.a.cpus,groups.web.cpu_max,state,seeds,switches,switches:low,"),
        "{csv}"
    );
    // People see what was asked for, files everything.
    let head = ran.out.lines().find(|line| line.starts_with("point")).unwrap();
    assert!(head.contains("switches") && !head.contains("wakeups") && csv.contains(",wakeups,"), "{head}");
    let document: serde_json::Value = serde_json::from_str(&folder.read("s.json")).unwrap();
    assert_eq!((document["points"].as_array().unwrap().len(), document["rows"].as_array().unwrap().len()), (8, 48));
    assert!(
        document["rows"].as_array().unwrap().iter().any(|row| row["message"].as_str().is_some_and(|text| text.contains("CPU")))
    );
    let seed = &document["axes"].as_array().unwrap()[3];
    assert_eq!((seed["name"].as_str(), seed["type"].as_str()), (Some("seed"), Some("int")));
}

#[test]
fn wrong_sweeps_are_refused_before_they_start() {
    let folder = Folder::new();
    for (axes, part) in [
        ("\"workload.0.tasks.a.niec\" = [1]", "s.toml:4:"),
        ("\"workload.0.tasks.a.nice\" = []", "is empty"),
        ("\"workload.0.tasks.a.nice\" = [nan]", "NaN and infinity"),
        ("seed = \"1..1000000000\"", "too many runs: 1000000000"),
    ] {
        let text = PATHS.replace("\"workload.0.tasks.a.cpus\" = [\"0\", \"3\"]", axes);
        let text = if axes.starts_with("seed") { text.replace("seed = \"1..6\"\n", "") } else { text };
        let text = text.replace("\"groups.web.cpu_max\" = [\"5000 10000\", \"max\"]\nmachine = [\"smp-2\", \"smp-4\"]\n", "");
        let path = folder.file("s.toml", &text);
        let ran = run(&["sweep", &path, "-o", &folder.path("x.csv")]);
        assert_eq!(ran.code, 2, "{axes}: {}", ran.err);
        assert!(ran.err.contains(part), "{axes}: {}", ran.err);
        assert!(!folder.has("s.toml.journal") && !folder.has("x.csv.partial"), "{axes}");
    }
}

#[test]
fn seeds_end_early_and_journals_of_other_versions_are_not_used() {
    let folder = Folder::new();
    let path = folder.file("s.toml", PATHS.replace("\"1..6\"", "\"1..40\"").replace("[\"0\", \"3\"]", "[\"0\"]"));
    let out = |name: &str| folder.path(name);
    let ran = ok(&["sweep", &path, "--until", "90%", "--threads", "1", "-o", &out("a.csv"), "-o", &out("a.html")]);
    assert!(ran.out.contains(" spared") && ran.out.contains("4 of 4 points know the median of switches to 90 %"), "{}", ran.out);
    let journal = folder.read("s.toml.journal");
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(journal.contains(&version));
    ok(&["sweep", &path, "--until", "switches=90%", "--fresh", "--threads", "4", "-o", &out("b.csv"), "-o", &out("b.html")]);
    assert_eq!((folder.read("a.csv"), folder.read("a.html")), (folder.read("b.csv"), folder.read("b.html")));
    folder.file("s.toml.journal", journal.replace(&version, "\"version\":\"0.0.0\""));
    let again = ok(&["sweep", &path, "--until", "90%"]);
    assert!(again.err.contains("of another version") && !again.err.contains("finished before"), "{}", again.err);
    assert_eq!(run(&["sweep", &path, "--until", "1"]).code, 2);
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
