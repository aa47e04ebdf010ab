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
