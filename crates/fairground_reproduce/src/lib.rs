//! `reproduce`: published experiments beside our numbers. One module per experiment, one row in [`EXPERIMENTS`].

mod align_vruntime;
mod clock_pelt;
mod delay;
mod incidents;
mod kept;
mod published;
mod runnable_propagation;
mod runs;
mod sis_util;
mod task_throttle;

use fairground_model::Digest;
use fairground_report::{Document, Input, ListRow, Reproduction, Table, list};
use fairground_scenario::{Control, Error};
use fairground_stdx::nearest;
use serde_json::Value;
use std::path::PathBuf;

/// How an experiment is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReproduceOptions {
    /// Same machine sizes, fewer rows and shorter windows.
    pub quick: bool,
    /// A folder in which an experiment that takes hours keeps its finished runs, and finds those of an earlier time.
    pub keep: Option<PathBuf>,
}

/// What an experiment gave.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// Published and simulated rows, claims, calibration.
    pub reproduction: Reproduction,
    /// What it was made of: published data by name and digest.
    pub inputs: Vec<Input>,
    /// The seed, if randomness was involved.
    pub seed: Option<u64>,
    /// Digest over the record digests of all its runs, in order.
    pub digest: u128,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

/// One published experiment.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub sentence: &'static str,
    /// Whether its full form takes hours, so that it is run by itself only.
    pub takes_hours: bool,
    /// Runs it.
    pub run: fn(&ReproduceOptions, Control<'_>) -> Result<Reproduced, Error>,
}

/// All experiments that can be reproduced.
pub static EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "clock-pelt",
        sentence: "Scale invariance of load tracking (2018): times to a utilisation and to the top frequency; perf bench pipe, hackbench.",
        takes_hours: false,
        run: clock_pelt::run,
    },
    Experiment {
        name: "align-vruntime",
        sentence: "Vruntime aligned to the last entity (RFC of 2018): the longest waits of hogs on one CPU and of a press on 12.",
        takes_hours: false,
        run: align_vruntime::run,
    },
    Experiment {
        name: "runnable-propagation",
        sentence: "Runnable load of groups (2017): schbench in the root group, in a cgroup, and in a cgroup with the patch.",
        takes_hours: false,
        run: runnable_propagation::run,
    },
    Experiment {
        name: "sis-util",
        sentence: "SIS_UTIL (2022): searches for an idle CPU that cost more than they gain; netperf, tbench, hackbench, schbench.",
        takes_hours: true,
        run: sis_util::run,
    },
    Experiment {
        name: "task-throttle",
        sentence: "Task-based throttling (2025): how long a timer hands out quota to 384 CPUs with 20,000 hogs in 2,202 groups.",
        takes_hours: false,
        run: task_throttle::run,
    },
    Experiment {
        name: "incidents",
        sentence: "Published incidents of CPU limits (2016 to 2025): slices that expire, bursts, an ingress, a collector, requests at 800m.",
        takes_hours: false,
        run: incidents::run,
    },
];

/// All of them as a table, with what each shows.
pub fn experiment_table() -> Table {
    let row = |row: &Experiment| ListRow { name: row.name.into(), sentence: row.sentence.into() };
    list::list_table("experiments", &EXPERIMENTS.iter().map(row).collect::<Vec<_>>())
}

/// The experiments that `name` stands for: one, or `all`.
pub fn find(name: &str) -> Result<Vec<&'static Experiment>, Error> {
    let found: Vec<&'static Experiment> = EXPERIMENTS.iter().filter(|row| name == "all" || row.name == name).collect();
    if found.is_empty() {
        let names = EXPERIMENTS.iter().map(|row| row.name).chain(["all"]);
        return Err(Error::one(
            "reproduce",
            format!("there is no experiment `{name}`"),
            nearest::hint(name, "Experiments", names),
        ));
    }
    Ok(found)
}

/// The document of `reproduce --json`: of one experiment, or of several under `experiments`.
pub fn document(done: &[Reproduced]) -> Document {
    let one = |row: &Reproduced| row.reproduction.document(&row.inputs, row.seed, row.digest);
    if let [only] = done {
        return one(only);
    }
    let mut digest = Digest::default();
    done.iter().for_each(|row| digest.bytes(&row.digest.to_le_bytes()));
    let inputs: Vec<Input> = done.iter().flat_map(|row| row.inputs.clone()).collect();
    let mut document = Document::new("reproduce", &inputs, None, Some(digest.value()));
    // A document prints as the JSON that it is, so reading it back loses nothing.
    let inner = done.iter().filter_map(|row| serde_json::from_str::<Value>(&one(row).to_string()).ok());
    document.set("experiments", inner.collect::<Vec<_>>());
    document
}
