//! The files say what can be run, and name the sources that a reader checks them against.

use super::*;
use std::path::Path;

fn plan_of(regression: &Regression) -> Plan {
    let published = Published::open(regression.file, regression.figures).unwrap();
    Plan::of(regression, &published).unwrap()
}

#[test]
fn every_scenario_of_the_folder_belongs_to_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/regressions");
    let mut found: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    found.sort_unstable();
    let mut known: Vec<String> =
        files::ALL.iter().flat_map(|row| row.scenarios).map(|scenario| format!("{}.toml", scenario.0)).collect();
    known.sort_unstable();
    assert_eq!(found, known);
}

#[test]
fn each_has_sources_and_something_that_is_judged() {
    for regression in files::ALL {
        let plan = plan_of(regression);
        assert!(regression.figures.contains("https://"), "{}", regression.name);
        assert!(plan.rows.iter().any(|row| !matches!(row.1.band, fairground_report::Band::NotJudged)), "{}", regression.name);
        assert!(!plan.asked.is_empty() && plan.seeds >= plan.quick_seeds && plan.quick_seeds > 0, "{}", regression.name);
    }
}

/// A price or a length may be set by the side before the change, never by the one after it.
#[test]
fn only_first_sides_are_calibrated() {
    for regression in files::ALL {
        let plan = plan_of(regression);
        let firsts: Vec<usize> = plan.asked.iter().map(|asked| asked.a).collect();
        let wrong = plan.rows.iter().find(|row| row.1.is_calibrated && !firsts.contains(&row.1.of));
        assert!(wrong.is_none(), "{}: {}", regression.name, wrong.unwrap().0);
    }
}

#[test]
fn the_quick_forms_agree_with_what_was_published() {
    for regression in files::ALL {
        let given = run(regression, &ReproduceOptions { quick: true, keep: None }, Control::none()).unwrap().reproduction;
        assert!(given.holds(), "{}: {:#?} {:#?}", regression.name, given.rows, given.claims);
    }
}
