//! Limits that `advise` answers are near the smallest ones, which brute force found once.
//!
//! `services.csv` holds what is true: brute force takes minutes. After a change of the model that moves it, delete the file and write it
//! anew: `fairground_exam advise --kind KIND --seeds SEED --truths FILE`. These two have goals that are rounded to 0.1 ms.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use fairground_exam::{Nearness, Truths, are_good, examine_services, nearness};
use std::path::PathBuf;

#[test]
fn answers_are_near_the_smallest_limits() {
    let file = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services.csv"));
    let text = std::fs::read_to_string(&file).unwrap();
    let mut truths = Truths::of_file(Some(file)).unwrap();
    let mut rows = Vec::new();
    for line in text.lines().skip(1) {
        let (kind, rest) = line.split_once(',').unwrap();
        let seed = rest.split(',').next().unwrap().parse().unwrap();
        rows.extend(examine_services(&[kind], seed..=seed, &mut truths, |_| {}).unwrap());
    }
    let stories: Vec<String> = rows.iter().map(|row| row.story()).collect();
    assert!(rows.len() >= 2 && are_good(&rows), "{stories:#?}");
    let is_right = |found: Option<Nearness>| matches!(found, Some(Nearness::Near(_) | Nearness::RightlyNone));
    assert!(rows.iter().all(|row| is_right(nearness(row))), "{stories:#?}");
}
