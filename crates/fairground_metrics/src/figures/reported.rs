//! What the workload's own programs report, from their markers.

use super::Figure;
use super::summary::{count, ns};
use super::task::WorkloadTask;
use fairground_model::{MarkerSpec, MarkerUnit};
use fairground_stdx::{Id, IndexVec, MarkerId, Ns, TaskId};
use std::collections::BTreeMap;

/// Count, sum and maximum of one marker of one task.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    count: u64,
    sum: u128,
    max: u64,
}

/// The reports of all measured tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct Reported {
    markers: Vec<MarkerSpec>,
    /// Indexed by task, then by marker.
    tallies: Vec<Vec<Tally>>,
}

impl Reported {
    pub(super) fn new(markers: &IndexVec<MarkerId, MarkerSpec>) -> Reported {
        Reported { markers: markers.iter().cloned().collect(), tallies: Vec::new() }
    }
    pub(super) fn record(&mut self, task: TaskId, marker: MarkerId, value: u64) {
        if marker.index() >= self.markers.len() {
            return;
        }
        if self.tallies.len() <= task.index() {
            self.tallies.resize(task.index() + 1, Vec::new());
        }
        let row = &mut self.tallies[task.index()];
        row.resize(self.markers.len(), Tally::default());
        let tally = &mut row[marker.index()];
        tally.count += 1;
        tally.sum += u128::from(value);
        tally.max = tally.max.max(value);
    }
    /// Adds `NAME.maxlat_ns` and the like, and the maxima over the tasks of `press`.
    pub(super) fn add_to(&self, tasks: &[(TaskId, WorkloadTask)], figures: &mut BTreeMap<String, Figure>) {
        for (id, task) in tasks {
            let Some(row) = self.tallies.get(id.index()).filter(|row| !row.is_empty()) else { continue };
            figures.insert(format!("{}.jobs", task.name), count(row.iter().map(|tally| tally.count).max().unwrap_or(0)));
            for (spec, tally) in self.markers.iter().zip(row).filter(|(_, tally)| tally.count > 0) {
                if spec.unit == MarkerUnit::Ns {
                    let mean = u64::try_from(tally.sum / u128::from(tally.count)).unwrap_or(u64::MAX);
                    figures.insert(format!("{}.max{}_ns", task.name, spec.name), ns(Ns(tally.max)));
                    figures.insert(format!("{}.avg{}_ns", task.name, spec.name), ns(Ns(mean)));
                }
            }
        }
        for (marker, name) in [("first", "press.max_first_run_ns"), ("resp", "press.max_response_ns")] {
            if let Some(max) = self.press_max(tasks, marker) {
                figures.insert(name.to_string(), ns(Ns(max)));
            }
        }
    }
    /// The largest value of a marker among the tasks of the `press` program.
    fn press_max(&self, tasks: &[(TaskId, WorkloadTask)], marker: &str) -> Option<u64> {
        let column = self.markers.iter().position(|spec| spec.name == marker)?;
        let press = tasks.iter().filter(|(_, task)| task.name.starts_with("press"));
        press.filter_map(|(id, _)| self.tallies.get(id.index())?.get(column)).filter(|t| t.count > 0).map(|t| t.max).max()
    }
}
