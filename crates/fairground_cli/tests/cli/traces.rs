//! `replay`, `convert`: recorded traces in and out.

use crate::support::{Folder, SMALL, experiments, ok, run};

#[test]
fn what_a_run_writes_can_be_replayed_and_converted() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    ok(&["run", &path, "-o", &folder.path("a.txt"), "-o", &folder.path("a.csv")]);
    let converted = ok(&["convert", &folder.path("a.txt"), &folder.path("b.csv"), "--json"]);
    assert!(converted.json()["events"].as_u64().unwrap() > 100);
    ok(&["convert", &folder.path("b.csv"), &folder.path("c.pftrace")]);
    assert!(folder.has("c.pftrace"));
    let ran = ok(&["replay", &folder.path("a.txt"), "--machine", "smp-2", "--profile", "v6.1"]);
    assert!(ran.out.contains("Recorded and replayed"), "{}", ran.out);
    assert!(ran.out.contains("\nworst wait  ") && ran.out.contains("\n  cause     "), "{}", ran.out);
    assert!(ran.err.contains("note: "), "{}", ran.err);
    let document = ok(&["replay", &folder.path("a.csv"), "--json"]).json();
    assert_eq!(document["command"], "replay");
    assert!(document["recorded"]["switches"]["value"].as_u64().unwrap() > 0);
}

#[test]
fn a_replay_writes_the_counters_of_its_kernel_too() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    let (trace, end) = (folder.path("a.csv"), folder.path("end.schedstat"));
    ok(&["run", &path, "-o", &trace]);
    ok(&["replay", &trace, "--profile", "v6.14", "-o", &end]);
    assert!(folder.read("end.schedstat").starts_with("version 17\ntimestamp "), "{}", folder.read("end.schedstat"));
    let cpu = &ok(&["schedstat", &end, "--json"]).json()["tables"][0]["rows"][0];
    assert!(cpu["pcount"].as_u64().unwrap() > 50, "{cpu}");
}

#[test]
fn dirty_traces_are_noted_and_refused_only_when_asked() {
    let folder = Folder::new();
    let path = folder.file("small.toml", SMALL);
    ok(&["run", &path, "-o", &folder.path("a.txt")]);
    let text = folder.read("a.txt");
    let middle = text.len() / 2;
    let dirty = folder.file("dirty.txt", format!("{}\ngarbage <...>-7 [000] nonsense\n{}", &text[..middle], &text[middle..]));
    let ran = ok(&["replay", &dirty]);
    assert!(ran.err.contains("Warning: "), "{}", ran.err);
    assert_eq!(run(&["replay", &dirty, "--strict"]).code, 2);
    assert_eq!(run(&["convert", &dirty, &folder.path("x.csv"), "--strict"]).code, 2);
    assert!(folder.has("x.csv.partial") && !folder.has("x.csv"));
    let truncated = folder.file("truncated.txt", &text[..middle]);
    ok(&["replay", &truncated]);
}

#[test]
fn every_recorded_set_is_replayed_with_notes() {
    let sets = experiments(&["k", "real"]);
    std::thread::scope(|scope| {
        for half in 0..2 {
            let part = sets.iter().skip(half).step_by(2);
            scope.spawn(move || part.for_each(|set| replays(set)));
        }
    });
}

fn replays(set: &str) {
    let document = ok(&["replay", set, "--json"]).json();
    assert!(!document["notes"].as_array().unwrap().is_empty(), "{set}");
    assert!(document["metrics"]["switches"]["value"].as_u64().unwrap() > 0, "{set}");
    assert_eq!(document["partial"], false, "{set}");
}

#[test]
fn one_cpu_hogs_of_cfs_kernels_stay_inside_the_recorded_limits() {
    for set in experiments(&["k5.10-hogs-1cpu", "k6.1-hogs-1cpu"]) {
        let document = ok(&["run", &set, "--json"]).json();
        assert_eq!(document["expect"]["passes"], true, "{set}: {}", document["expect"]);
        assert!(document["expect"]["rows"].as_array().unwrap().len() >= 8, "{set}");
    }
}

/// A task that wakes up beside two hogs, with and without preemption by wake-ups: that it waits longer without is planted.
#[test]
fn two_recordings_are_held_against_each_other_window_by_window() {
    let folder = Folder::new();
    let small = "scenarios/examples/hog-and-player.toml";
    let (a, b, short) = (folder.path("a.json"), folder.path("b.csv"), folder.path("short.json"));
    ok(&["run", small, "--profile", "v5.19", "--duration", "4s", "-o", &a]);
    ok(&["run", small, "--profile", "v5.19", "--duration", "4s", "--feature", "NO_WAKEUP_PREEMPTION", "-o", &b]);
    ok(&["run", small, "--profile", "v5.19", "--duration", "2s", "-o", &short]);
    let same = ok(&["compare", &a, &a]);
    assert!(
        same.out.starts_with("No difference: B is worse in 0, better in 0, otherwise different in 0 metrics;"),
        "{}",
        same.out
    );
    let ran = run(&["compare", &a, &b, "--task", "player", "--json"]);
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
    let document = ran.json();
    let verdict = |document: &serde_json::Value, name: &str| {
        let rows = document["tables"][1]["rows"].as_array().unwrap().clone();
        rows.iter().find(|row| row["metric"] == name).map(|row| row["verdict"].clone())
    };
    assert_eq!(verdict(&document, "wakeup_latency_us.p50"), Some("worse".into()));
    let back = run(&["compare", &b, &a, "--task", "player", "--json"]);
    assert_eq!(verdict(&back.json(), "wakeup_latency_us.p50"), Some("better".into()), "{}", back.out);
    let figures = document["tables"][0]["rows"].as_array().unwrap();
    assert_eq!((figures.len(), &figures[1]["side"]), (2, &"B".into()));
    assert!(figures[1]["wakeup_p99_ns"].as_u64() > figures[0]["wakeup_p99_ns"].as_u64(), "{document}");
    // Half of the longer one counts.
    let ran = run(&["compare", &a, &short, "--windows", "6"]);
    assert!(
        ran.out.contains("Tasks of A and B, of 2.00 s each") || ran.out.contains("Tasks of A and B, of 1.99 s each"),
        "{}",
        ran.out
    );
    // Files that are called alike are told apart by their folders.
    assert!(
        same.out.contains(&format!("A           {a}, ")) && ran.out.contains("A           a.json, "),
        "{}{}",
        same.out,
        ran.out
    );
    let few = run(&["compare", &a, &b, "--windows", "5"]);
    assert_eq!(few.code, 4);
    assert!(
        few.out.starts_with("Nothing is decided: 5 windows are too few") && !few.out.contains("window by window"),
        "{}",
        few.out
    );
    for (args, part) in [
        (&["compare", &a, &b, "--task", "plaier"][..], "Did you mean `player`?"),
        (&["compare", small, &b], "is no recording"),
        (&["compare", &a, &b, "--b", "v6.12"], "nothing is simulated"),
        (&["compare", &a, "--windows", "9"], "required"),
    ] {
        let ran = run(args);
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}
