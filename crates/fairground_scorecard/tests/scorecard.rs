//! The page of two small sets in the tree, and the limits that all sets of a kind must keep.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot read its data must fail")]

use expect_test::expect_file;
use fairground_scenario::Control;
use fairground_scorecard::card::{Card, measure};
use fairground_scorecard::decisions::Conformed;
use fairground_scorecard::golden::{Set, sets};
use fairground_scorecard::judge::is_inside;
use fairground_scorecard::notes::Notes;
use fairground_scorecard::page::differences;
use fairground_scorecard::report;
use fairground_scorecard::simulation::{Simulated, simulate};
use std::collections::BTreeSet;
use std::path::Path;

fn cards() -> Vec<Card> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    measure(sets(&data).unwrap(), Control::none()).unwrap()
}

const COMMIT: &str = "0123456";

/// The page, and its files that have rows. The table of profiles, which is not about these sets, is cut off.
#[test]
fn the_page_of_two_small_sets() {
    let page = report::page(&cards(), &[], &Notes::default(), COMMIT);
    let markdown = page.markdown();
    let mut text = markdown.split("\n## Kernels that are not modelled yet").next().unwrap().to_string();
    for (name, csv) in page.files().into_iter().filter(|(name, csv)| csv.lines().count() > 1 && name != "figures.csv") {
        text.push_str(&format!("\n# {name}\n\n{csv}"));
    }
    expect_file!["data/page.txt"].assert_eq(&text);
}

/// The page of the tree is short, and its folder tells what each column of its files is.
#[test]
fn the_page_is_short_and_the_columns_of_its_files_are_told() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |path: &str| std::fs::read_to_string(docs.join(path)).unwrap();
    assert!(read("fidelity.md").lines().count() <= 300);
    let told = read("fidelity/README.md");
    for (name, csv) in report::page(&cards(), &[], &Notes::default(), COMMIT).files() {
        let heads = csv.lines().next().unwrap().replace("\"ms after the refill, by rank\"", "ms after the refill; by rank");
        // The heads of that file are names of rules.
        for head in heads.split(',').filter(|_| name != "choices-by-rule.csv") {
            let row = format!("\n| `{}` |", head.replace(';', ","));
            assert!(told.contains(&row), "docs/fidelity/README.md has no row for `{head}` of {name}");
        }
    }
}

/// One row per figure: none is lost, and what is missed names no rule where none is known.
#[test]
fn every_figure_has_a_row() {
    let cards = cards();
    let figures = report::page(&cards, &[], &Notes::default(), COMMIT).files().remove("figures.csv").unwrap();
    let all = cards.iter().map(|card| match &card.simulated {
        Simulated::Ran(checks) => checks.iter().map(|check| check.rows.len()).sum(),
        Simulated::Refused(_) => 0,
    });
    assert_eq!(figures.lines().count() - 1, all.sum::<usize>());
    assert!(figures.lines().skip(1).all(|row| row.ends_with(",yes,") || row.ends_with(",no,not known")), "{figures}");
}

#[test]
fn the_same_page_again_and_a_subset_of_it() {
    let cards = cards();
    let whole = report::page(&cards, &[], &Notes::default(), COMMIT);
    assert_eq!(whole, report::page(&self::cards(), &[], &Notes::default(), COMMIT));
    let sets = BTreeSet::from([cards[0].set.name.as_str()]);
    let part = report::page(&cards[..1], &[], &Notes::default(), COMMIT);
    let compare = |written: &str| differences("figures", written, &part.files()["figures.csv"], Some(&sets));
    let written = &whole.files()["figures.csv"];
    assert_eq!(compare(written), Vec::<String>::new());
    let older = written.replace("k6.1-hogs-1cpu/a_mix_1,1,all.switches,", "k6.1-hogs-1cpu/a_mix_1,1,all.switches,1");
    assert_ne!(&older, written);
    let [found] = <[String; 1]>::try_from(compare(&older)).unwrap();
    assert!(found.starts_with("figures:") && found.contains("  ours:   k6.1-hogs-1cpu/a_mix_1,1,all.switches,"), "{found}");
}

#[test]
fn the_notes_are_not_about_sets_that_fall_short_of_nothing() {
    let notes = Notes::parse("[[suspect]]\nid = \"x\"\nsets = [\"k6.1-*\"]\nfigures = [\"*\"]\nrule = \"r\"\nevidence = \"e\"\n")
        .unwrap();
    assert_eq!(report::stale(&cards(), &notes), ["x"]);
}

/// The recorded sets of a kind.
fn recorded(wanted: impl Fn(&Set) -> bool) -> Vec<Set> {
    let mut found = sets(&fairground_testing::recordings()).unwrap();
    found.retain(|set| set.not_judged().is_none() && wanted(set));
    assert!(!found.is_empty());
    found
}

/// Where no rule of placement or balance is asked, a simulation gives the recorded figures. Of v7.2 nothing is asked: there microseconds
/// of costs decide who is first at equal virtual times, and some figures lie outside (docs/fidelity.md).
#[test]
fn one_cpu_sets_of_hogs_meet_their_figures() {
    for set in recorded(|set| set.kind() == "hogs-1cpu" && !set.name.starts_with("k7.2")) {
        let Simulated::Ran(checks) = simulate(&set.folder, &set.overrides(), 1).unwrap() else {
            panic!("{} is not simulated", set.name);
        };
        let missed: Vec<_> = checks[0].rows.iter().filter(|row| !is_inside(row)).collect();
        assert!(missed.is_empty(), "{}: {missed:?}", set.name);
    }
}

/// A set that `cargo xtask record` wrote.
#[test]
fn groups_of_weight_100_and_300_share_two_cpus_as_recorded() {
    let [set] = <[Set; 1]>::try_from(recorded(|set| set.name == "k6.12-weights-2cpu/g_w13_2")).unwrap();
    let Simulated::Ran(checks) = simulate(&set.folder, &set.overrides(), 1).unwrap() else { panic!("it is not simulated") };
    for figure in ["group_share.A", "group_share.B", "all.runtime_ns", "all.switches", "all.slice_ns.p50", "all.slice_ns.p95"] {
        let row = checks[0].rows.iter().find(|row| row.figure == figure).unwrap();
        assert!(is_inside(row), "{row:?}");
    }
}

/// The curve of a task that computes after a long sleep, on every kernel and at half capacity.
#[test]
fn ramps_meet_their_figures() {
    for set in recorded(|set| set.name.contains("/b_ramp")) {
        let Simulated::Ran(checks) = simulate(&set.folder, &set.overrides(), 1).unwrap() else {
            panic!("{} is not simulated", set.name);
        };
        let missed: Vec<_> = checks[0].rows.iter().filter(|row| !is_inside(row)).collect();
        assert!(missed.is_empty() && checks[0].rows.len() >= 10, "{}: {missed:?}", set.name);
    }
}

/// Of the kernels before EEVDF nothing about one CPU is unknown: not even the past of kernel threads.
#[test]
fn decisions_of_one_cpu_sets_of_cfs_agree() {
    let sets = recorded(|set| set.kind() == "hogs-1cpu" && ["5.10", "6.1"].contains(&set.kernel().as_str()));
    for card in measure(sets, Control::none()).unwrap() {
        let Conformed::Compared(found) = &card.decisions else { panic!("{} is not compared", card.set.name) };
        assert_eq!(found.agreement.short_of(true), Vec::<&str>::new(), "{}", card.set.name);
    }
}
