//! The core makes the decisions of the slow model, at the same instants.

use fairground_vopr::reference::{Habit, Reference, Workload, compare};

fn compare_seeds(mut seeds: std::ops::Range<u64>) -> Result<usize, String> {
    seeds.try_fold(0, |facts, seed| Ok(facts + compare(seed)?))
}

#[test]
fn the_core_equals_the_slow_model() {
    let facts = compare_seeds(0..10_000).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(facts > 1_000_000, "{facts} facts are few");
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn the_core_equals_the_slow_model_in_very_many_workloads() {
    compare_seeds(10_000..500_000).unwrap_or_else(|difference| panic!("{difference}"));
}

/// The model itself gives the known turns: three hogs, slices of 8 ms at eight CPUs' tunables.
#[test]
fn the_slow_model_knows_three_hogs() {
    let mut workload = Workload::random(0);
    workload.profile = fairground_sched::Profile::parse("v4.20").unwrap().with_feature("NO_START_DEBIT").unwrap();
    let hog = Habit { nice: 0, start: 0, run: u64::MAX, sleep: None };
    let facts = Reference::new(&workload.profile, 8, 1_000_000, &[hog; 3]).run(100_000_000);
    let switches: Vec<(u64, Option<usize>)> = facts
        .iter()
        .filter_map(|fact| match *fact {
            fairground_vopr::reference::Fact::Switch { at, next, .. } => Some((at / 1_000_000, next)),
            fairground_vopr::reference::Fact::Ran { .. } => None,
        })
        .collect();
    let expected: Vec<(u64, Option<usize>)> = (0..13).map(|turn| (turn * 8, Some(turn as usize % 3))).collect();
    assert_eq!(switches, expected);
}

/// The alarm: with another tunable in the model than in the core, the difference shows.
#[test]
fn a_wrong_model_is_noticed() {
    let differs = (0..20).any(|seed| {
        let workload = Workload::random(seed);
        let run = |cpus| Reference::new(&workload.profile, cpus, 1_000_000, &workload.habits).run(100_000_000);
        run(1) != run(8)
    });
    assert!(differs);
}
