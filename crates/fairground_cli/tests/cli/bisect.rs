//! `bisect`: what it names, traces as input, and what is refused.

use crate::support::{Folder, ok, run};

const STEADY: &str = "duration = \"500ms\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"5.19\"\n[[workload]]\n\
                      tasks = [{ name = \"hog\", hog = true, count = 2 }, { name = \"player\", run = \"1ms\", period = \"16ms\" }]\n";
const CHANGES: [&str; 4] = ["--change", "NO_WAKEUP_PREEMPTION", "--change", "NO_NONTASK_CAPACITY"];
const P50: [&str; 2] = ["--metric", "wakeup_latency_us.p50"];

#[test]
fn the_row_is_named_with_what_it_does() {
    let folder = Folder::new();
    let path = folder.file("steady.toml", STEADY);
    let ran = ok(&[&["bisect", &path][..], &CHANGES, &P50].concat());
    for part in
        ["Moved by WAKEUP_PREEMPTION (no kernel, but a setting or patch): +", "100.0 % of the difference", "2 rows differ"]
    {
        let text = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{part}: {}", ran.out);
    }
    let document = ok(&[&["bisect", &path, "--a", "v6.1", "--b", "v6.6", "--json"][..], &P50].concat()).json();
    assert_eq!((&document["command"], &document["a"]), (&"bisect".into(), &"v6.1".into()));
}

/// A kernel in bold moved the metric; the document is that of `--json`.
#[test]
fn the_page_has_the_metric_of_each_kernel() {
    let folder = Folder::new();
    let path = folder.file("steady.toml", STEADY);
    let files = ["x.html", "x.json", "x.csv"].map(|name| folder.path(name));
    let sides = ["bisect", &path, "--a", "v6.1", "--b", "v6.12", "--metric", "wakeup_latency_us.p50"];
    let ran = ok(&[&sides[..], &["-o", &files[0], "-o", &files[1], "--json"]].concat());
    assert_eq!(folder.read("x.json"), ran.out);
    let document = ran.json();
    let page = folder.read("x.html");
    let history = document["tables"].as_array().unwrap().iter().find(|table| table["name"] == "history").unwrap();
    let rows = history["rows"].as_array().unwrap();
    assert_eq!(page.matches("<td class=\"bar\"").count(), rows.len() + 1);
    let moved: Vec<&str> = rows.iter().filter(|row| row["moves"] == "yes").map(|row| row["to"].as_str().unwrap()).collect();
    assert!(!moved.is_empty());
    for kernel in moved {
        assert!(page.contains(&format!("<tr class=\"marked\"><th>{kernel}</th>")), "{kernel}: {page}");
    }
    assert!(page.contains("Left over:") && !page.contains("<script"));
    let ran = run(&[&sides[..], &["-o", &files[2]]].concat());
    assert!(ran.code == 2 && ran.err.contains("`bisect` does not write this format"), "{}", ran.err);
}

#[test]
fn a_trace_is_replayed() {
    let folder = Folder::new();
    let (path, trace) = (folder.file("steady.toml", STEADY), folder.path("steady.txt"));
    ok(&["run", &path, "-o", &trace]);
    let ran = ok(&[&["bisect", &trace, "--profile", "5.19"][..], &CHANGES, &P50].concat());
    assert!(
        ran.out.contains("wakeup_latency_us.p50: ") && ran.err.contains("waiting for a CPU is dropped"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn wrong_metrics_and_sides_are_refused() {
    let folder = Folder::new();
    let path = folder.file("steady.toml", STEADY);
    let ran = run(&[&["bisect", &path, "--metric", "wakeup_latency_us.p5"][..], &CHANGES].concat());
    assert!(ran.code == 2 && ran.err.contains("Did you mean `wakeup_latency_us.p50`?"), "{}", ran.err);
    let ran = run(&[&["bisect", &path][..], &P50].concat());
    assert!(ran.code == 2 && ran.err.contains("both sides are the same"), "{}", ran.err);
    assert_eq!(run(&[&["bisect", &path, "--runs", "0"][..], &CHANGES, &P50].concat()).code, 2);
}
