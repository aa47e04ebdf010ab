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

/// The quick form of each has figures that are judged, and shows those whose sides it runs; the full form runs all sides.
#[test]
fn the_quick_form_shows_what_it_runs() {
    for regression in files::ALL {
        let (full, quick) = (plan_of(regression), plan_of(regression).quick());
        assert_eq!(full.run.len(), full.sides.len(), "{}", regression.name);
        let judged = quick.rows.iter().filter(|row| !matches!(row.1.band, fairground_report::Band::NotJudged)).count();
        assert!(judged > 0 && quick.seeds == full.quick_seeds, "{}", regression.name);
        let shown = |figure: &Figure| [Some(figure.of), figure.by].into_iter().flatten().all(|side| quick.run.contains(&side));
        for (rows_of_full, rows_of_quick) in [(&full.rows, &quick.rows), (&full.claims, &quick.claims)] {
            let expected: Vec<&str> = rows_of_full.iter().filter(|row| shown(&row.1)).map(|row| row.0.as_str()).collect();
            assert_eq!(rows_of_quick.iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), expected, "{}", regression.name);
        }
    }
    let [full, quick] = [plan_of(&files::POSTGRES_PREEMPT), plan_of(&files::POSTGRES_PREEMPT).quick()];
    assert_eq!((full.courses.len(), full.asked.len()), (1, 1));
    assert_eq!((quick.courses.len(), quick.asked.len()), (0, 0), "a course over sides that are not run, and a search");
}

/// A side may replace words of its scenario.
#[test]
fn a_side_replaces_words_of_its_scenario() {
    let plan = plan_of(&files::POSTGRES_PREEMPT);
    let of = |name: &str| &plan.sides.iter().find(|side| side.name == name).unwrap().scenario;
    let cpus = |name: &str| of(name).setup().unwrap().machine.cpus.len();
    assert_eq!([cpus("lazy"), cpus("8-cpus.lazy")], [96, 8]);
}

/// What a file says wrongly is told by the name of the file: none of these is taken for something else, or left out.
#[test]
fn a_file_with_a_mistake_is_refused() {
    let regression = &files::RT_SHARE;
    for (right, wrong, said) in [
        ("seeds = 5", "seeds = -5", "`seeds` is no number"),
        ("scenario = \"rt-share-sleeps\"", "scenario = \"rt-shar\"", "there is no scenario `rt-shar`"),
        ("of = \"sleeps\"", "of = \"sleep\"", "there is no side `sleep`"),
        ("change = [\"RT_RUNTIME_SHARE\"]", "change = [\"RT_RUNTIME\"]", "RT_RUNTIME"),
        ("name = \"sleeps\"\n", "", "a row without `name`"),
        ("profile = \"v6.12\"", "profile = \"v6.12\"\nwith = [[\"cores\", \"1\"]]", "`cores` does not stand once"),
        ("profile = \"v6.12\"", "profile = \"v6.12\"\nwith = [[\"smp-4\"]]", "`with` lists pairs of texts"),
    ] {
        let text: &str = regression.figures.replacen(right, wrong, 1).leak();
        assert_ne!(text, regression.figures, "{right}");
        let published = Published::open(regression.file, text).unwrap();
        let Err(error) = Plan::of(regression, &published) else { panic!("{wrong}: taken") };
        assert!(error.to_string().contains(said), "{wrong}: {error}");
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

/// The one that is quick. CI makes the quick form of all.
#[test]
fn a_regression_is_run_and_searched() {
    let options = ReproduceOptions { quick: true, keep: None };
    let plan = plan_of(&files::RT_SHARE);
    let published = Published::open(files::RT_SHARE.file, files::RT_SHARE.figures).unwrap();
    let given = run_plan("rt-share", &published, plan, &options, Control::none()).unwrap().reproduction;
    assert!(
        given.holds() && given.claims.iter().any(|claim| claim.id.starts_with("bisect")),
        "{:#?} {:#?}",
        given.rows,
        given.claims
    );
}
