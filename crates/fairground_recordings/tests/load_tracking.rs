//! Load tracking against real kernels, bit for bit.
//!
//! Rows that do not follow from the row before are those between which the entity moved, was attached,
//! reweighted or propagated to; `summary.json` of a set says how many follow. Of tasks all others must
//! be the result of an attach.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use fairground_formats::recorded::read_load_rows;
use fairground_model::version::v;
use fairground_recordings::load_tracking::{Cause, Followed, LoadKind, Rules, follow, follow_set};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const GROUP_5_10: &str = include_str!("data/pelt_5.10_group.csv");
const GROUP_6_18: &str = include_str!("data/pelt_6.18_group.csv");
const TWO_HALF: &str = include_str!("data/pelt_arm64_6.1_two_half.csv");

/// Rows of one kind: exact, explained by these acts, other.
type Row<'a> = (LoadKind, u64, &'a [(Cause, u64)], u64);

fn counts(rows: &[Row<'_>]) -> BTreeMap<LoadKind, Followed> {
    let followed = |row: &Row<'_>| Followed { exact: row.1, explained: row.2.iter().copied().collect(), other: row.3 };
    rows.iter().map(|row| (row.0, followed(row))).collect()
}

#[test]
fn samples_in_the_tree_follow_bit_for_bit() {
    use Cause::{Attached, Detached, Propagated, Reweighted, Stranger};
    use LoadKind::{Blocked, Group, Queue, Task};
    let samples: [(&str, (u8, u8), &[Row<'_>]); 3] = [
        (
            GROUP_5_10,
            (5, 10),
            &[
                (Blocked, 1, &[], 0),
                (Queue, 145, &[(Attached, 4), (Detached, 3)], 0),
                (Task, 59, &[(Attached, 3)], 0),
                (Group, 35, &[(Propagated, 1), (Reweighted, 1)], 0),
            ],
        ),
        (GROUP_6_18, (6, 18), &[(Queue, 136, &[], 0), (Task, 77, &[], 0), (Group, 40, &[], 0)]),
        (TWO_HALF, (6, 1), &[(Queue, 144, &[(Attached, 4), (Detached, 1), (Stranger, 1)], 1), (Task, 68, &[(Attached, 2)], 0)]),
    ];
    for (text, (major, minor), expected) in samples {
        let (rows, stats) = read_load_rows(text.as_bytes());
        assert!(stats.is_clean());
        assert_eq!(follow(Rules::at(v(major, minor)), &rows), counts(expected), "v{major}.{minor}");
    }
}

/// All folders of recorded experiments with load-tracking rows, in order.
fn recorded_sets() -> Vec<PathBuf> {
    let mut found = fairground_testing::experiments(|_| true);
    found.retain(|folder| folder.join("pelt.csv.zst").exists());
    assert!(found.len() > 40, "{} experiments", found.len());
    found
}

/// How many rows of each kind follow exactly, by the summary of an experiment.
fn recorded_exact(experiment: &Path) -> Vec<(LoadKind, u64)> {
    let kind = |name: &str| match name {
        "se" => LoadKind::Task,
        "se-group" => LoadKind::Group,
        "bse" => LoadKind::Blocked,
        "cfs" => LoadKind::Queue,
        other => panic!("unknown kind {other}"),
    };
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(experiment.join("summary.json")).unwrap()).unwrap();
    let rows = summary["pelt"]["replay_exact_vs_not"].as_object().expect("counts of rows that follow");
    rows.iter().map(|(name, value)| (kind(name), value[0].as_u64().expect("a count"))).collect()
}

#[test]
fn recorded_kernels_follow_bit_for_bit() {
    for experiment in recorded_sets() {
        let ours = follow_set(&experiment).unwrap().unwrap();
        for (kind, exact) in recorded_exact(&experiment) {
            let reached = ours.get(&kind).map_or(0, |count| count.exact);
            assert!(reached >= exact, "{} {kind:?}: {reached} of {exact}", experiment.display());
        }
        for kind in [LoadKind::Task, LoadKind::Group] {
            assert_eq!(ours.get(&kind).map_or(0, |count| count.other), 0, "{} {kind:?}: not explained", experiment.display());
        }
        // Threads that are not recorded leave queues, with sums that nobody knows.
        let queues = &ours[&LoadKind::Queue];
        assert!(queues.other * 100 <= queues.rows(), "{}: {queues:?}", experiment.display());
    }
}
