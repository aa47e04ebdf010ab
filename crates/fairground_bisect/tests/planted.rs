//! Planted changes: one row that moves a metric among others that do not, and the search must name it and nothing else.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use fairground_bisect::{BisectOptions, Bisected, bisect, summary};
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::Path;

fn scenario(kernel: &str) -> Scenario {
    let text = format!(
        "duration = \"1s\"\n[machine]\npreset = \"smp-2\"\nhz = 250\n[profile]\nkernel = \"{kernel}\"\n[[workload]]\ntasks = [\n\
         {{ name = \"hog\", hog = true, count = 3 }},\n\
         {{ name = \"worker\", do = [\"run 200us..900us\", \"sleep 2ms..6ms\"] }}]\n"
    );
    Scenario::parse("planted", &text, Path::new(""), &Overrides::default()).unwrap()
}

fn searched(kernel: &str, b: Option<&str>, changes: &[&str]) -> Bisected {
    let options = BisectOptions {
        a: None,
        b: b.map(str::to_string),
        changes: changes.iter().map(|change| change.to_string()).collect(),
        metric: "wakeup_latency_us.p50".to_string(),
        worth_permille: 100,
        runs: 6,
    };
    bisect(&scenario(kernel), &options, Control::none()).unwrap().unwrap()
}

fn named(found: &Bisected) -> Vec<&str> {
    found.culprits.iter().flat_map(|culprit| &culprit.rows).map(|row| row.to.name).collect()
}

/// Switches that do nothing for these tasks.
const IDLE: [&str; 4] = ["NO_LB_MIN", "NO_RT_RUNTIME_SHARE", "NO_NONTASK_CAPACITY", "NO_WARN_DOUBLE_CLOCK"];

#[test]
fn the_row_that_moves_the_metric_is_named_alone() {
    for (kernel, planted, name) in [
        ("5.19", "NO_WAKEUP_PREEMPTION", "WAKEUP_PREEMPTION"),
        ("6.1", "NO_WAKEUP_PREEMPTION", "WAKEUP_PREEMPTION"),
        ("6.12", "NO_WAKEUP_PREEMPTION", "WAKEUP_PREEMPTION"),
        ("5.19", "sched_wakeup_granularity_ns=30ms", "sched_wakeup_granularity_ns"),
    ] {
        let switched = IDLE.iter().copied().filter(|idle| scenario(kernel).profile.clone().with_feature(idle).is_ok());
        let changes: Vec<&str> = switched.chain([planted]).collect();
        let found = searched(kernel, None, &changes);
        assert_eq!(named(&found), [name], "{}", summary(&found));
    }
}

#[test]
fn what_does_nothing_is_not_searched() {
    let found = searched("5.19", None, &["NO_NONTASK_CAPACITY", "NEXT_BUDDY"]);
    assert!(!found.effect.moves && named(&found).is_empty() && found.steps.is_empty(), "{}", summary(&found));
}

#[test]
fn an_upgrade_is_searched_along_its_history() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/examples/hog-and-player.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let example = Scenario::parse("hog-and-player", &text, &path, &Overrides::default()).unwrap();
    let options = BisectOptions {
        a: Some("v6.1".to_string()),
        b: Some("v6.12".to_string()),
        changes: Vec::new(),
        metric: "wakeup_latency_us.p99".to_string(),
        worth_permille: 20,
        runs: 6,
    };
    let found = bisect(&example, &options, Control::none()).unwrap().unwrap();
    assert!(found.effect.moves, "{}", summary(&found));
    assert!(found.steps.len() > 3 && found.steps.iter().any(|step| step.to == "v6.6" && step.effect.moves));
    assert!(named(&found).contains(&"pick"), "{}", summary(&found));
    let again = bisect(&example, &options, Control::none()).unwrap().unwrap();
    assert_eq!(found, again);
}
