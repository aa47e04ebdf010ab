//! The core's search for an idle CPU beside plain loops.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_sched::Profile;
use fairground_vopr::reference::idle_sibling::{Tally, compare, compare_with_rules_of};

fn compare_seeds(seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::new();
    for seed in seeds {
        let counted = compare(seed).unwrap_or_else(|difference| panic!("{difference}"));
        counted.into_iter().for_each(|(rule, count)| *tally.entry(rule).or_default() += count);
    }
    tally
}

/// Every rule is met: the target, the previous and the recent CPU, kernel threads, cores, CPUs, threads, nothing, and
/// searches that end before they are over.
#[test]
fn choices_are_those_of_the_rules() {
    let tally = compare_seeds(0..10_000);
    let rules = [
        "select-target-idle",
        "select-prev-idle",
        "select-kthread",
        "select-recent",
        "select-idle-core",
        "select-idle-cpu",
        "select-idle-smt",
        "select-target",
        "cut-off",
    ];
    for rule in rules {
        let count = tally.get(rule).copied().unwrap_or(0);
        assert!(count >= 100, "{rule} was met {count} times: {tally:?}");
    }
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn choices_are_those_of_the_rules_in_very_many_systems() {
    compare_seeds(10_000..200_000);
}

/// In this system a task that was moved off a slow CPU runs and sleeps on its new one before the old one has finished its
/// switch, which must not touch it any more.
#[test]
fn a_task_that_was_moved_is_off_its_old_cpu() {
    compare(61_399).unwrap_or_else(|difference| panic!("{difference}"));
}

/// The alarm: rules of another kernel are noticed.
#[test]
fn a_wrong_model_is_noticed() {
    for kernel in ["v4.12", "v5.10", "v5.19", "v6.18"] {
        let rules = Profile::parse(kernel).unwrap();
        assert!((0..1_000).any(|seed| compare_with_rules_of(seed, &rules).is_err()), "{kernel}");
    }
}
