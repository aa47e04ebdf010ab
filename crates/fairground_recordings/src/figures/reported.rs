//! What the workload's own programs report, from their markers.

use super::figure::FigureMap;
use super::task::WorkloadTask;
use fairground_model::MarkerSpec;
use fairground_stdx::{Id, IndexVec, MarkerId, TaskId};

/// Markers that are lengths of time, and how `wl` spells them in its report.
const TIMES: [(&str, &str); 3] = [("latency", "lat"), ("response", "resp"), ("first_run", "first")];

/// The marker of a `wl msg`: from the message task's answer to the worker's look at it.
const ANSWER: &str = "answer";
/// The places of its percentiles in the sorted values, in thousandths: `wl` takes the value at n * p / 1000, rounded down.
const PERCENTILES: [(&str, usize); 6] = [("p50", 500), ("p75", 750), ("p90", 900), ("p95", 950), ("p99", 990), ("p999", 999)];

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
    /// All values of the marker [`ANSWER`].
    answers: Vec<u64>,
}

impl Reported {
    pub(super) fn new(markers: &IndexVec<MarkerId, MarkerSpec>) -> Reported {
        Reported { markers: markers.iter().cloned().collect(), ..Reported::default() }
    }
    pub(super) fn record(&mut self, task: TaskId, marker: MarkerId, value: u64) {
        if marker.index() >= self.markers.len() {
            return;
        }
        if self.tallies.len() <= task.index() {
            self.tallies.resize(task.index() + 1, Vec::new());
        }
        if self.markers[marker.index()].name == ANSWER {
            self.answers.push(value);
        }
        let row = &mut self.tallies[task.index()];
        row.resize(self.markers.len(), Tally::default());
        let tally = &mut row[marker.index()];
        tally.count += 1;
        tally.sum += u128::from(value);
        tally.max = tally.max.max(value);
    }
    /// Adds `NAME.maxlat_ns` and the like, and the maxima over the tasks of `press`.
    pub(super) fn add_to(&self, tasks: &[(TaskId, WorkloadTask)], figures: &mut FigureMap) {
        for (marker, stem) in TIMES {
            for (name, tally) in self.tallies_of(marker, tasks) {
                let mean = u64::try_from(tally.sum / u128::from(tally.count)).unwrap_or(u64::MAX);
                figures.insert(format!("{name}.max{stem}_ns"), tally.max.into());
                figures.insert(format!("{name}.avg{stem}_ns"), mean.into());
            }
        }
        for (name, tally) in self.tallies_of("jobs", tasks) {
            figures.insert(format!("{name}.jobs"), u64::try_from(tally.sum).unwrap_or(u64::MAX).into());
        }
        for (marker, figure) in [("first_run", "press.max_first_run_ns"), ("response", "press.max_response_ns")] {
            let press = self.tallies_of(marker, tasks).filter(|(name, _)| name.starts_with("press"));
            if let Some(max) = press.map(|(_, tally)| tally.max).max() {
                figures.insert(figure.to_string(), max.into());
            }
        }
    }
    /// The report of a `wl msg`: `wakes`, `jobs`, `p50_ns` and the like.
    pub(super) fn add_answers(&mut self, tasks: &[(TaskId, WorkloadTask)], figures: &mut FigureMap) {
        self.answers.sort_unstable();
        let Some(&max) = self.answers.last() else { return };
        let jobs: u128 = self.tallies_of("jobs", tasks).map(|(_, tally)| tally.sum).sum();
        figures.insert("wakes".to_string(), (self.answers.len() as u64).into());
        figures.insert("jobs".to_string(), u64::try_from(jobs).unwrap_or(u64::MAX).into());
        figures.insert("max_ns".to_string(), max.into());
        for (name, thousandths) in PERCENTILES {
            let at = self.answers.len() * thousandths / 1000;
            figures.insert(format!("{name}_ns"), self.answers[at].into());
        }
    }
    /// The tasks that made a measurement of this name, with what they measured.
    fn tallies_of<'a>(
        &'a self,
        marker: &str,
        tasks: &'a [(TaskId, WorkloadTask)],
    ) -> impl Iterator<Item = (&'a str, Tally)> + use<'a> {
        let column = self.markers.iter().position(|spec| spec.name == marker);
        tasks.iter().filter_map(move |(id, task)| {
            let tally = *self.tallies.get(id.index())?.get(column?)?;
            (tally.count > 0).then_some((task.name.as_str(), tally))
        })
    }
}
