//! Measurements that programs make, aggregated per task and marker.

use crate::histogram::Histogram;
use crate::plat::PlatHistogram;
use fairground_model::{MarkerSpec, MarkerUnit};
use fairground_stdx::{Id, IndexVec, MarkerId, TaskId};

/// Values of each marker of each task, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct MarkerStats {
    /// Indexed by task, then by marker; `None` until the task makes the measurement.
    rows: Vec<Vec<Option<Box<Values>>>>,
    /// The markers that are counted in the buckets of schbench, each with what its values are divided by before.
    bucketed: Vec<(MarkerId, u64)>,
}

/// The values of one marker of one task.
#[derive(Clone, Debug, Default)]
struct Values {
    histogram: Histogram,
    buckets: Option<(u64, PlatHistogram)>,
}

impl Values {
    fn record(&mut self, value: u64) {
        self.histogram.record(value);
        if let Some((divisor, buckets)) = &mut self.buckets {
            buckets.record(value / *divisor);
        }
    }
}

/// One marker of one task.
#[derive(Clone, Debug)]
pub struct MarkerReport {
    /// The task.
    pub task: TaskId,
    /// The marker.
    pub marker: MarkerId,
    /// Its values: count, sum, maximum, percentiles.
    pub values: Histogram,
    /// Its values in the buckets of schbench, if it is one of whole microseconds (then in us) or per second.
    pub buckets: Option<PlatHistogram>,
}

impl MarkerStats {
    /// Statistics that know the units of markers.
    pub fn with_markers(markers: &IndexVec<MarkerId, MarkerSpec>) -> MarkerStats {
        let divisor = |unit| match unit {
            MarkerUnit::WholeUs => Some(1000),
            MarkerUnit::PerSecond => Some(1),
            MarkerUnit::Ns | MarkerUnit::Count => None,
        };
        let bucketed = markers.iter_enumerated().filter_map(|(id, spec)| Some((id, divisor(spec.unit)?))).collect();
        MarkerStats { rows: Vec::new(), bucketed }
    }
    /// Adds one measurement.
    #[inline]
    pub fn record(&mut self, task: TaskId, marker: MarkerId, value: u64) {
        match self.rows.get_mut(task.index()).and_then(|row| row.get_mut(marker.index())) {
            Some(Some(values)) => values.record(value),
            _ => self.first(task, marker, value),
        }
    }
    #[cold]
    fn first(&mut self, task: TaskId, marker: MarkerId, value: u64) {
        if self.rows.len() <= task.index() {
            self.rows.resize_with(task.index() + 1, Vec::new);
        }
        let row = &mut self.rows[task.index()];
        if row.len() <= marker.index() {
            row.resize_with(marker.index() + 1, || None);
        }
        let buckets = self.bucketed.iter().find(|row| row.0 == marker).map(|row| (row.1, PlatHistogram::default()));
        row[marker.index()].get_or_insert_with(|| Box::new(Values { buckets, ..Values::default() })).record(value);
    }
    /// All measurements, by task and then by marker.
    pub fn report(&self) -> Vec<MarkerReport> {
        let mut list = Vec::new();
        for (task, row) in self.rows.iter().enumerate() {
            for (marker, values) in row.iter().enumerate() {
                let (task, marker) = (TaskId::from_index(task), MarkerId::from_index(marker));
                let Some(Values { histogram, buckets }) = values.as_deref().cloned() else { continue };
                list.push(MarkerReport { task, marker, values: histogram, buckets: buckets.map(|row| row.1) });
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_with_their_task_and_marker() {
        let mut stats = MarkerStats::default();
        let mut record = |task, marker, value| stats.record(TaskId::new(task), MarkerId::new(marker), value);
        record(2, 1, 10);
        record(2, 1, 30);
        record(0, 0, 5);
        let rows: Vec<_> = stats
            .report()
            .iter()
            .map(|row| (row.task.get(), row.marker.get(), row.values.len(), row.values.sum(), row.values.max()))
            .collect();
        assert_eq!(rows, [(0, 0, 1, 5, 5), (2, 1, 2, 40, 30)]);
    }
}
