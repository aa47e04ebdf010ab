//! Measurements that programs make, aggregated per task and marker.

use crate::histogram::Histogram;
use fairground_stdx::{Id, MarkerId, TaskId};

/// Values of each marker of each task, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct MarkerStats {
    /// Indexed by task, then by marker; `None` until the task makes the measurement.
    rows: Vec<Vec<Option<Box<Histogram>>>>,
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
}

impl MarkerStats {
    /// Adds one measurement.
    #[inline]
    pub fn record(&mut self, task: TaskId, marker: MarkerId, value: u64) {
        match self.rows.get_mut(task.index()).and_then(|row| row.get_mut(marker.index())) {
            Some(Some(histogram)) => histogram.record(value),
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
        row[marker.index()].get_or_insert_default().record(value);
    }
    /// All measurements, by task and then by marker.
    pub fn report(&self) -> Vec<MarkerReport> {
        let mut list = Vec::new();
        for (task, row) in self.rows.iter().enumerate() {
            for (marker, histogram) in row.iter().enumerate() {
                let (task, marker) = (TaskId::from_index(task), MarkerId::from_index(marker));
                list.extend(histogram.as_deref().map(|values| MarkerReport { task, marker, values: values.clone() }));
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
