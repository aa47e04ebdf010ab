//! What is planted between two states is the truth, and `bisect` names it alone.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use fairground_exam::{Draft, KINDS_OF_CHANGE, examine_changes, found_percent, plant_change};
use std::collections::BTreeSet;

#[test]
fn planted_changes_are_found_alone() {
    let rows = examine_changes(&[], 1..=3, |_| {}).unwrap();
    assert_eq!(rows.len(), 3 * KINDS_OF_CHANGE.len());
    let stories: Vec<String> = rows.iter().filter(|row| !row.is_alone()).map(|row| row.story()).collect();
    // 95 of 100: of twelve one may be missed.
    assert!(found_percent(&rows.iter().collect::<Vec<_>>()) >= 91, "{stories:#?}");
}

#[test]
fn equal_seeds_give_equal_draws_and_the_planted_rows_differ() {
    for (draft, name, _) in KINDS_OF_CHANGE.into_iter().take(2) {
        let planted = plant_change(draft, name, 1).unwrap();
        assert_eq!(planted, plant_change(draft, name, 1).unwrap());
        let apart: BTreeSet<&str> = planted.draw.a.rows_apart(&planted.draw.b().unwrap()).into_iter().collect();
        assert!(planted.draw.planted.iter().all(|row| apart.contains(row)), "{:?}", planted.draw.planted);
        assert!(draft == Draft::Pair || planted.draw.planted.iter().all(|row| !planted.draw.beside.contains(row)));
    }
}
