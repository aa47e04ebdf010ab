//! The core's groups beside the slow model of them.
#![allow(clippy::panic, reason = "a test stops where it fails")]

use fairground_vopr::reference::groups::compare;

fn compare_seeds(mut seeds: std::ops::Range<u64>) -> usize {
    let calls = seeds.try_fold(0, |calls, seed| Ok::<usize, String>(calls + compare(seed)?));
    calls.unwrap_or_else(|difference| panic!("{difference}"))
}

#[test]
fn every_call_leaves_the_core_as_the_slow_model_of_groups() {
    let calls = compare_seeds(0..10_000);
    assert!(calls > 500_000, "{calls} calls are few");
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn every_call_leaves_the_core_as_the_slow_model_of_groups_in_very_many_sequences() {
    compare_seeds(10_000..300_000);
}
