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
    /// The markers of which each microsecond is counted by itself.
    exact: Vec<MarkerId>,
}

/// Whole microseconds beyond this are not told apart: 0.1 s.
const EACH_US_MAX: usize = 100_000;

/// Times in whole microseconds, rounded down, as cyclictest keeps them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EachUs {
    /// The shortest.
    pub min: u64,
    /// The last one.
    pub last: u64,
    /// The longest.
    pub max: u64,
    /// How many there are.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// How many of 0 us, 1 us and so on.
    pub bins: Vec<u64>,
}

impl EachUs {
    fn record(&mut self, ns: u64) {
        let us = ns / 1000;
        self.min = if self.count == 0 { us } else { self.min.min(us) };
        (self.last, self.max) = (us, self.max.max(us));
        (self.count, self.sum) = (self.count + 1, self.sum + us);
        let bin = (us as usize).min(EACH_US_MAX);
        if self.bins.len() <= bin {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }
}

/// The values of one marker of one task.
#[derive(Clone, Debug, Default)]
struct Values {
    histogram: Histogram,
    buckets: Option<(u64, PlatHistogram)>,
    each_us: Option<EachUs>,
}

impl Values {
    fn record(&mut self, value: u64) {
        self.histogram.record(value);
        if let Some((divisor, buckets)) = &mut self.buckets {
            buckets.record(value / *divisor);
        }
        if let Some(each_us) = &mut self.each_us {
            each_us.record(value);
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
    /// Its values by whole microseconds, if it is one of which each is counted.
    pub each_us: Option<EachUs>,
}

impl MarkerStats {
    /// Statistics that know the units of markers.
    pub fn with_markers(markers: &IndexVec<MarkerId, MarkerSpec>) -> MarkerStats {
        let divisor = |unit| match unit {
            MarkerUnit::WholeUs => Some(1000),
            MarkerUnit::PerSecond => Some(1),
            MarkerUnit::Ns | MarkerUnit::Left | MarkerUnit::Count | MarkerUnit::Event | MarkerUnit::EachUs => None,
        };
        let bucketed = markers.iter_enumerated().filter_map(|(id, spec)| Some((id, divisor(spec.unit)?))).collect();
        let exact = markers.iter_enumerated().filter(|row| row.1.unit == MarkerUnit::EachUs).map(|row| row.0).collect();
        MarkerStats { rows: Vec::new(), bucketed, exact }
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
        let each_us = self.exact.contains(&marker).then(EachUs::default);
        row[marker.index()].get_or_insert_with(|| Box::new(Values { buckets, each_us, ..Values::default() })).record(value);
    }
    /// All measurements, by task and then by marker.
    pub fn report(&self) -> Vec<MarkerReport> {
        let mut list = Vec::new();
        for (task, row) in self.rows.iter().enumerate() {
            for (marker, values) in row.iter().enumerate() {
                let (task, marker) = (TaskId::from_index(task), MarkerId::from_index(marker));
                let Some(Values { histogram, buckets, each_us }) = values.as_deref().cloned() else { continue };
                list.push(MarkerReport { task, marker, values: histogram, buckets: buckets.map(|row| row.1), each_us });
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

    #[test]
    fn each_microsecond_is_counted_by_itself() {
        let markers: IndexVec<MarkerId, MarkerSpec> =
            [MarkerSpec { name: "late".into(), unit: MarkerUnit::EachUs }].into_iter().collect();
        let mut stats = MarkerStats::with_markers(&markers);
        [2_999, 2_000, 700, 500_000_000, 4_000].into_iter().for_each(|ns| stats.record(TaskId::new(0), MarkerId::new(0), ns));
        let each_us = stats.report()[0].each_us.clone().unwrap();
        assert_eq!((each_us.min, each_us.last, each_us.max, each_us.count, each_us.sum), (0, 4, 500_000, 5, 500_008));
        assert_eq!(each_us.bins[..5], [1, 0, 2, 0, 1]);
        assert_eq!((each_us.bins.len(), each_us.bins[EACH_US_MAX]), (EACH_US_MAX + 1, 1));
    }
}
