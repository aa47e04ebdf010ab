//! What is planted is the truth, and the answers are no worse than they were.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

use fairground_exam::{
    FLOORS, FLOORS_OF_FAMILY, FLOORS_OF_SECOND, Family, Planted, Right, examine, families, percent, plant, read, second_families,
};
use std::collections::BTreeSet;

/// Seeds whose draws are looked at one by one.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;
/// Seeds whose answers are counted: those of the page.
const COUNTED: std::ops::RangeInclusive<u64> = 1..=10;

#[test]
fn each_planted_delay_halves_without_its_cause() {
    for family in families().chain(second_families()) {
        for seed in SEEDS {
            let planted = plant(family, seed).unwrap_or_else(|error| panic!("{}: {error}", family.name));
            let Planted { text, without, task, delays, causes, .. } = &planted;
            let name = family.name;
            assert!(delays.1.0 * 2 <= delays.0.0, "{name} {seed}: {delays:?}");
            assert_eq!(delays.0.0 == 0, causes == &["none"], "{name} {seed}: {delays:?}");
            for text in [text, without] {
                let scenario = read(name, text).unwrap_or_else(|error| panic!("{name} {seed}: {error}\n{text}"));
                let is_there = task.is_empty() || scenario.tasks().tasks.iter().any(|row| row.name == *task);
                assert!(is_there, "{name} {seed} has no {task}");
            }
            assert!(!causes.is_empty(), "{name}");
            assert_eq!(planted, plant(family, seed).unwrap(), "{name} {seed}: equal seeds give equal draws");
        }
    }
}

#[test]
fn at_most_seven_of_ten_draws_are_discarded() {
    for family in families() {
        let discarded: u32 = COUNTED.map(|seed| plant(family, seed).unwrap().discarded).sum();
        assert!(discarded * 10 <= (discarded + 10) * 7, "{}: {discarded} discarded for 10", family.name);
    }
}

#[test]
fn families_have_names_of_their_own() {
    let names: Vec<&str> = families().chain(second_families()).map(|family| family.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    assert!(families().count() >= 30 && second_families().count() >= 25);
}

/// Asks about all families of an exam.
fn hold(families: &[&'static Family], floors: &Right<u64>) {
    let asked = examine(families, COUNTED).unwrap();
    let right = percent(&asked.iter().collect::<Vec<_>>());
    assert!(right.is_above(floors), "{right:?} are right, the floors are {floors:?}");
    for family in families {
        let right = percent(&asked.iter().filter(|row| row.family == family.name).collect::<Vec<_>>());
        assert!(right.is_above(&FLOORS_OF_FAMILY), "{}: {right:?} are right, the floors are {FLOORS_OF_FAMILY:?}", family.name);
    }
}

#[test]
fn the_answers_of_explain_are_above_the_floors() {
    hold(&families().collect::<Vec<_>>(), &FLOORS);
}

#[test]
fn the_answers_to_the_second_exam_are_above_the_floors() {
    hold(&second_families().collect::<Vec<_>>(), &FLOORS_OF_SECOND);
}
