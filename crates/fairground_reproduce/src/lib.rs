//! `reproduce`: published experiments beside our numbers. One module per experiment, one row in [`EXPERIMENTS`].

mod align_vruntime;
mod clock_pelt;
mod delay;
mod experiment;
mod incidents;
mod kept;
mod over;
mod published;
mod registry;
mod regressions;
mod runnable_propagation;
mod runs;
mod sis_util;
mod task_throttle;

pub use experiment::{Experiment, ReproduceOptions, Reproduced};
pub use over::{Over, OverTrees, over_trees};
pub use registry::{EXPERIMENTS, experiment_table, find};

use fairground_model::Digest;
use fairground_report::{Document, Input};
use serde_json::Value;

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
