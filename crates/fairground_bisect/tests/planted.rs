//! Planted changes: one row that moves a metric among others that do not, and the search must name it and nothing else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

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
        runs: 24,
    };
    bisect(&scenario(kernel), &options, Control::none()).unwrap().unwrap()
}

fn named(found: &Bisected) -> Vec<&str> {
    found.culprits.iter().flat_map(|culprit| culprit.names()).collect()
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
        runs: 24,
    };
    let found = bisect(&example, &options, Control::none()).unwrap().unwrap();
    assert!(found.effect.moves, "{}", summary(&found));
    assert!(found.steps.len() > 3 && found.steps.iter().any(|step| step.to == "v6.6" && step.moves));
    assert!(named(&found).contains(&"pick"), "{}", summary(&found));
    let said = summary(&found);
    assert!(said.contains("commit 147f3efaa241 \"sched/fair: Implement an EEVDF-like scheduling policy\""), "{said}");
    assert!(found.made <= 120, "{} runs", found.made);
    let again = bisect(&example, &options, Control::none()).unwrap().unwrap();
    assert_eq!(found, again);
}

/// Each row does nothing without the other, and they lie in different versions.
#[test]
fn two_rows_that_act_only_together_are_named_together() {
    let changes = ["WAKEUP_PREEMPTION", "sched_wakeup_granularity_ns=1ms", "NO_LB_MIN", "NO_NONTASK_CAPACITY"];
    let base = scenario("5.19");
    let set = base.profile.clone().with_feature("NO_WAKEUP_PREEMPTION").unwrap();
    let blocked = base.with_profile(set.with_tunable("sched_wakeup_granularity_ns", "900ms").unwrap());
    let options = BisectOptions {
        a: None,
        b: None,
        changes: changes.iter().map(|change| change.to_string()).collect(),
        metric: "wakeup_latency_us.p50".to_string(),
        worth_permille: 100,
        runs: 24,
    };
    let found = bisect(&blocked, &options, Control::none()).unwrap().unwrap();
    assert_eq!(named(&found), ["WAKEUP_PREEMPTION", "sched_wakeup_granularity_ns"], "{}", summary(&found));
    assert!(found.culprits.len() == 1 && summary(&found).contains("They act together only"), "{}", summary(&found));
}

/// DELAY_DEQUEUE cannot be run with `util_est_sample = after-dequeue`, which says nothing about who moved the metric.
#[test]
fn what_a_row_only_needs_is_told_beside_it() {
    let text = "duration = \"200ms\"\n[machine]\npreset = \"smp-1\"\ncosts = \"xeon-spr\"\nhz = 250\n\
                [profile]\nkernel = \"6.12\"\npreemption = \"full\"\nfeatures = [\"NO_DELAY_DEQUEUE\"]\n\
                util_est_sample = \"after-dequeue\"\n[[workload]]\npipes = { p = 16 }\ntasks = [\n\
                { name = \"writer\", do = [\"run 200ns..300ns\", \"write p\", \"mark messages\"] },\n\
                { name = \"reader\", do = [\"read p\", \"run 10ns..20ns\"] }]\n";
    let pipe = Scenario::parse("pipe", text, Path::new(""), &Overrides::default()).unwrap();
    let changes = ["util_est_sample=before-dequeue", "DELAY_DEQUEUE", "NO_LB_MIN", "NO_NONTASK_CAPACITY"];
    let options = BisectOptions {
        a: None,
        b: None,
        changes: changes.map(String::from).to_vec(),
        metric: "marks.messages.per_second".to_string(),
        worth_permille: 20,
        runs: 24,
    };
    let found = bisect(&pipe, &options, Control::none()).unwrap().unwrap();
    let said = summary(&found);
    assert_eq!(named(&found), ["DELAY_DEQUEUE"], "{said}");
    let needs: Vec<&str> = found.culprits[0].needs.iter().map(|row| row.to.name).collect();
    assert_eq!(needs, ["util_est_sample"], "{said}");
    assert!(said.contains("It needs util_est_sample: after-dequeue to before-dequeue"), "{said}");
}

/// Either of two changes does it: one is named, and the other one with it.
#[test]
fn a_change_that_would_have_done_the_same_is_told() {
    let changes = ["NO_WAKEUP_PREEMPTION", "sched_wakeup_granularity_ns=900ms", "NO_NONTASK_CAPACITY"];
    let found = searched("5.19", None, &changes);
    let [culprit] = found.culprits.as_slice() else { panic!("{}", summary(&found)) };
    assert_eq!(culprit.rows.len() + culprit.instead.len(), 2, "{}", summary(&found));
}

#[test]
fn one_run_tells_all_where_the_seed_decides_nothing() {
    let text = "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"5.19\"\n[[workload]]\n\
                tasks = [{ name = \"hog\", hog = true, count = 2 }, { name = \"worker\", run = \"1ms\", period = \"16ms\" }]\n";
    let fixed = Scenario::parse("fixed", text, Path::new(""), &Overrides::default()).unwrap();
    let options = BisectOptions {
        a: None,
        b: None,
        changes: vec!["NO_WAKEUP_PREEMPTION".to_string(), "NO_NONTASK_CAPACITY".to_string()],
        metric: "wakeup_latency_us.p50".to_string(),
        worth_permille: 100,
        runs: 64,
    };
    let found = bisect(&fixed, &options, Control::none()).unwrap().unwrap();
    assert_eq!((named(&found), found.seeds), (vec!["WAKEUP_PREEMPTION"], 1), "{}", summary(&found));
    assert!(found.made <= 20, "{}", found.made);
}
