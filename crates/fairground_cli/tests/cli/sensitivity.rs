//! `sensitivity`: tables, document, exit codes.

use crate::support::{Folder, SMALL, ok, run};

fn priced(folder: &Folder) -> String {
    folder.file("priced.toml", SMALL.replace("preset = \"smp-1\"\ncosts = \"zero\"", "preset = \"smp-1\""))
}

#[test]
fn one_side_shows_the_metric_at_each_price() {
    let folder = Folder::new();
    let ran = ok(&["sensitivity", &priced(&folder), "--metric", "kernel_pct", "--threads", "2"]);
    for part in ["kernel_pct: ", " at the given prices", "\ntimer ", "x 0.5", "by these runs: ", "12 seeds"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains("sign"), "{}", ran.out);
}

#[test]
fn two_sides_say_whether_the_sign_holds() {
    let folder = Folder::new();
    let args = ["sensitivity", &priced(&folder), "--change", "NO_WAKEUP_PREEMPTION", "--metric", "tasks.player.max_wait_ms"];
    let ran = ok(&args);
    assert!(ran.out.starts_with("The effect of v5.19 NO_WAKEUP_PREEMPTION holds: 1 of 1 metrics"), "{}", ran.out);
    let few = run(&[&args[..], &["--runs", "2"]].concat());
    assert!(few.code == 4 && few.out.starts_with("Nothing is decided: 2 seeds are too few"), "{}", few.out);
    let document = run(&[&args[..], &["--json", "--runs", "2"]].concat()).json();
    assert_eq!(
        (&document["command"], &document["sign_holds"], &document["seeds"]),
        (&"sensitivity".into(), &true.into(), &2.into())
    );
    let cases = document["metrics"][0]["cases"].as_array().unwrap();
    assert!(cases[0]["class"].is_null() && cases[0]["effect_pct"].as_f64().unwrap() > 0.0, "{cases:?}");
    assert_eq!((&cases[1]["factor"], &cases[1]["sign_holds"]), (&0.5.into(), &true.into()));
}

#[test]
fn wrong_metrics_and_sides_are_refused() {
    let folder = Folder::new();
    let path = priced(&folder);
    let ran = run(&["sensitivity", &path, "--metric", "kernel_pcts"]);
    assert!(ran.code == 2 && ran.err.contains("Did you mean `kernel_pct`?"), "{}", ran.err);
    let ran = run(&["sensitivity", &path, "--b", "v5.19"]);
    assert!(ran.code == 2 && ran.err.contains("both sides are the same"), "{}", ran.err);
    let ran = run(&["sensitivity", "--workload", "hog", "--duration", "1ms", "--set", "machine.costs.tick=1us"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}
