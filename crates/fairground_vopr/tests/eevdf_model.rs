//! The core makes the decisions of the slow model of EEVDF, at the same instants.

use fairground_vopr::reference::eevdf::{Workload, compare, compare_workload};

fn compare_seeds(mut seeds: std::ops::Range<u64>) -> Result<usize, String> {
    seeds.try_fold(0, |facts, seed| Ok(facts + compare(seed)?))
}

#[test]
fn the_core_equals_the_slow_model_of_eevdf() {
    let facts = compare_seeds(0..10_000).unwrap_or_else(|difference| panic!("{difference}"));
    assert!(facts > 1_000_000, "{facts} facts are few");
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn the_core_equals_the_slow_model_of_eevdf_in_very_many_workloads() {
    compare_seeds(10_000..500_000).unwrap_or_else(|difference| panic!("{difference}"));
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
