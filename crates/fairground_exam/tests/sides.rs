//! Real runs of two sides: equal ones give no verdicts, effects of one standard deviation do.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use fairground_exam::{KNOBS, examine_sides};

#[test]
fn equal_sides_have_few_verdicts_and_known_effects_are_found() {
    let exam = examine_sides(&[], 1..=2, |_| {}).unwrap();
    assert_eq!((exam.kinds.len(), exam.null.comparisons), (KNOBS.len(), 2 * 5 * KNOBS.len() as u64));
    let all = exam.all();
    assert!(all.comparisons >= 10 && exam.is_good(), "{exam:?}");
}

#[test]
fn a_knob_that_is_not_turned_changes_nothing() {
    for knob in &KNOBS {
        assert_eq!(knob.text(7, 0), knob.text(7, 0), "{}", knob.name);
        assert_ne!(knob.text(7, 0), knob.text(7, 1000), "{}", knob.name);
    }
}
