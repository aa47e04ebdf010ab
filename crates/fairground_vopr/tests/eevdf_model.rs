//! The core makes the decisions of the slow model of EEVDF, at the same instants and in the same state.

use fairground_vopr::reference::eevdf::{Workload, compare, compare_calls, compare_workload};

type Compare = fn(u64) -> Result<usize, String>;

fn compare_seeds(compare: Compare, mut seeds: std::ops::Range<u64>) -> Result<usize, String> {
    seeds.try_fold(0, |facts, seed| Ok(facts + compare(seed)?))
}

#[test]
fn the_core_equals_the_slow_model_of_eevdf() {
    let facts = compare_seeds(compare, 0..10_000).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(facts > 1_000_000, "{facts} facts are few");
}

#[test]
fn every_call_leaves_the_core_as_the_slow_model_of_eevdf() {
    let calls = compare_seeds(compare_calls, 0..10_000).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(calls > 500_000, "{calls} calls are few");
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn the_core_equals_the_slow_model_of_eevdf_in_very_many_workloads() {
    for compare in [compare, compare_calls] {
        compare_seeds(compare, 10_000..500_000).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

/// The alarm: what is asked of the core and what the model is told are not the same.
#[test]
fn a_wrong_model_is_noticed() {
    let differs = (0..20).any(|seed| {
        let mut workload = Workload::random(seed);
        workload.base_slice = Some(u64::from(u32::MAX) + 1);
        compare_workload(&workload).is_err()
    });
    assert!(differs);
}
