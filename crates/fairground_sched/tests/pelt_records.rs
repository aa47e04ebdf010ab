//! Load tracking against real kernels: each recorded update, made again from its own inputs by our
//! code, must give the state that the kernel had at the next update of the same entity, bit for bit.
//!
//! Rows that do not follow from the row before are those between which the entity moved, was attached,
//! reweighted or propagated to; `summary.json` of a set says how many follow. Of tasks all others must
//! be the result of an attach.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use fairground_sched::pelt::{CfsRqLoad, PeltFamily, Scale, SchedAvg, SeLoad};
use fairground_sched::seam::Seam;
use fairground_sched::version::KernelVersion;

/// One recorded call of an update function.
struct Record<'a> {
    kind: &'a str,
    id: &'a str,
    now: u64,
    before: SchedAvg,
    weight: u64,
    on_rq: bool,
    /// Number of runnable tasks of a queue or of a group's entity; tasks have none.
    runnable: Option<u64>,
    delayed: bool,
    running: bool,
}

/// How rows relate to the row before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    /// The update gives them.
    exact: u64,
    /// An attach to a queue at that time gives them (tasks).
    attached: u64,
    /// Neither does.
    other: u64,
}

type Counts = BTreeMap<String, Count>;

impl<'a> Record<'a> {
    fn parse(columns: &BTreeMap<&str, usize>, line: &'a str) -> Record<'a> {
        let cells: Vec<&str> = line.split(',').collect();
        let text = |name: &str| cells[columns[name]];
        let number = |name: &str| text(name).parse::<u64>().unwrap_or_else(|_| panic!("{name} in {line}"));
        let before = SchedAvg {
            last_update_time: number("lut"),
            load_sum: number("load_sum"),
            runnable_sum: number("runnable_sum"),
            util_sum: u32::try_from(number("util_sum")).unwrap(),
            period_contrib: u32::try_from(number("period_contrib")).unwrap(),
            load_avg: number("load_avg"),
            runnable_avg: number("runnable_avg"),
            util_avg: u32::try_from(number("util_avg")).unwrap(),
            ..SchedAvg::default()
        };
        Record {
            kind: text("kind"),
            id: text("id"),
            now: number("now"),
            before,
            weight: number("weight"),
            on_rq: text("on_rq") == "1",
            runnable: text("runnable_in").parse().ok(),
            delayed: text("delayed") == "1",
            running: text("running_in") == "1",
        }
    }

    /// Name of the row's kind in the summaries.
    fn kind_name(&self) -> &str {
        if self.kind == "se" && self.runnable.is_some() { "se-group" } else { self.kind }
    }

    /// Whether the state is that after an attach: times and place in the period are the queue's, and the
    /// sums follow from the averages.
    fn was_attached(&self, family: PeltFamily) -> bool {
        let SchedAvg { last_update_time, period_contrib, load_avg, runnable_avg, util_avg, .. } = self.before;
        let mut cfs = SchedAvg { last_update_time, period_contrib, ..SchedAvg::default() };
        let mut se = SchedAvg { load_avg, runnable_avg, util_avg, ..SchedAvg::default() };
        family.attach(&mut cfs, &mut se, self.weight);
        se == self.before
    }

    /// The state after the update, by our code.
    fn step(&self, family: PeltFamily) -> SchedAvg {
        let mut sa = self.before;
        match self.kind {
            "bse" => family.update_blocked_se(self.now, &mut sa, self.weight, 0, Scale::FULL),
            "se" => {
                let runnable = self.runnable.unwrap_or(u64::from(self.on_rq && !self.delayed));
                family.update_se(
                    self.now,
                    &mut sa,
                    SeLoad { on_rq: self.on_rq, runnable, running: self.running, weight: self.weight },
                    Scale::FULL,
                )
            }
            "cfs" => {
                let runnable = self.runnable.expect("a queue has a number of tasks");
                family.update_cfs_rq(
                    self.now,
                    &mut sa,
                    CfsRqLoad { weight: self.weight, runnable, running: self.running },
                    Scale::FULL,
                )
            }
            other => panic!("unknown kind {other}"),
        };
        sa
    }
}

/// Steps each row of a file and compares it with the next row of the same id.
fn replay(family: PeltFamily, text: &str) -> Counts {
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    let columns: BTreeMap<&str, usize> = header.split(',').enumerate().map(|(index, name)| (name, index)).collect();
    let mut predicted: BTreeMap<&str, SchedAvg> = BTreeMap::new();
    let mut counts = Counts::new();
    for line in lines {
        let record = Record::parse(&columns, line);
        if let Some(expected) = predicted.insert(record.id, record.step(family)) {
            let count = counts.entry(record.kind_name().to_string()).or_default();
            match record.kind_name() {
                _ if expected == record.before => count.exact += 1,
                "se" if record.was_attached(family) => count.attached += 1,
                _ => count.other += 1,
            }
        }
    }
    counts
}

/// Counts by kind: exact, attached, other.
fn counts<const N: usize>(rows: [(&str, u64, u64, u64); N]) -> Counts {
    rows.into_iter().map(|(kind, exact, attached, other)| (kind.to_string(), Count { exact, attached, other })).collect()
}

#[test]
fn samples_in_the_tree_follow_bit_for_bit() {
    let samples = [
        (
            include_str!("data/pelt_5.10_group.csv"),
            counts([("bse", 1, 0, 0), ("cfs", 143, 0, 9), ("se", 59, 3, 0), ("se-group", 35, 0, 2)]),
        ),
        (include_str!("data/pelt_6.18_group.csv"), counts([("cfs", 136, 0, 0), ("se", 77, 0, 0), ("se-group", 40, 0, 0)])),
        (include_str!("data/pelt_arm64_6.1_two_half.csv"), counts([("cfs", 144, 0, 7), ("se", 68, 2, 0)])),
    ];
    for (text, expected) in samples {
        assert_eq!(replay(PeltFamily::D, text), expected);
    }
}

/// All folders of recorded experiments with load-tracking rows, in order.
fn recorded_sets() -> Vec<PathBuf> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
        found.sort();
        found
    };
    let experiments = folders(&golden).into_iter().flat_map(|set| folders(&set));
    experiments.filter(|folder| folder.join("pelt.csv.zst").exists()).collect()
}

/// The kernel of a set: `k5.10-pelt-4cpu`, `karm6.1-pelt-4half-4full`.
fn version_of(experiment: &Path) -> KernelVersion {
    let set = experiment.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let version = set.trim_start_matches("karm").trim_start_matches('k').split('-').next().unwrap();
    KernelVersion::parse(&format!("v{version}")).unwrap_or_else(|| panic!("kernel of {set}"))
}

/// How many rows of each kind follow exactly, by the summary of an experiment.
fn recorded_exact(experiment: &Path) -> Vec<(String, u64)> {
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(experiment.join("summary.json")).unwrap()).unwrap();
    let rows = summary["pelt"]["replay_exact_vs_not"].as_object().expect("counts of rows that follow");
    rows.iter().map(|(kind, value)| (kind.clone(), value[0].as_u64().expect("a count"))).collect()
}

#[test]
fn recorded_kernels_follow_bit_for_bit() {
    let experiments = recorded_sets();
    if experiments.is_empty() {
        eprintln!("skipped: there are no recorded sets beside this tree");
    }
    for experiment in experiments {
        let mut text = String::new();
        let packed = fs::File::open(experiment.join("pelt.csv.zst")).unwrap();
        ruzstd::decoding::StreamingDecoder::new(packed).unwrap().read_to_string(&mut text).unwrap();
        let ours = replay(PeltFamily::at(version_of(&experiment)), &text);
        let names: Vec<_> = experiment.iter().rev().take(2).map(|part| part.to_str().unwrap()).collect();
        let (set, name) = (names[1], names[0]);
        for (kind, Count { exact, attached, other }) in &ours {
            println!("{set}/{name} {kind}: {exact} exact, {attached} attached, {other} other");
        }
        for (kind, exact) in recorded_exact(&experiment) {
            let reached = ours.get(&kind).map_or(0, |count| count.exact);
            assert!(reached >= exact, "{set}/{name} {kind}: {reached} of {exact}");
        }
        assert_eq!(ours["se"].other, 0, "{set}/{name}: tasks' rows that nothing explains");
    }
}
