//! One run of a sweep.

use super::axes::AxisValue;
use fairground_metrics::{Better, Metric, Unit};
use fairground_model::Digest;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// One run of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Its number: rows are ordered by it, never by when they finished.
    pub number: usize,
    /// The value of each axis.
    pub point: Vec<AxisValue>,
    /// Digest of its scenario, as 32 hexadecimal digits; empty if it has none.
    pub scenario_digest: String,
    /// What came out.
    pub outcome: Outcome,
}

impl Row {
    /// The named numbers of a run that is done.
    pub fn figures(&self) -> Option<&Figures> {
        if let Outcome::Done { metrics, .. } = &self.outcome { Some(metrics) } else { None }
    }
}

/// What came out of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It ran to its end.
    Done {
        /// Digest of its records.
        digest: String,
        /// Simulated time.
        simulated_ns: u64,
        /// Ticks, switches and wake-ups.
        events: u64,
        /// Its named numbers.
        metrics: Figures,
        /// Whether its expectations hold.
        holds: bool,
    },
    /// An invariant of ours broke.
    Broken(String),
    /// The combination cannot be run.
    Refused(String),
    /// The sweep was stopped before it.
    Missing,
    /// The seeds before it were enough.
    Spared,
}

/// What is said of each named number of a run.
pub type Shape = Vec<(String, Unit, Better)>;

/// The named numbers of a run. Runs of one sweep mostly have the same names, which are held once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figures {
    shape: Arc<Shape>,
    values: Box<[u64]>,
}

impl Figures {
    /// Names, units and directions, in the order of the values.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }
    /// The values as held.
    pub fn values(&self) -> &[u64] {
        &self.values
    }
    /// The value of a metric, as held.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.shape.iter().position(|row| row.0 == name).map(|place| self.values[place])
    }
    /// The same as metrics.
    pub fn to_metrics(&self) -> Vec<Metric> {
        let rows = self.shape.iter().zip(&self.values);
        rows.map(|((name, unit, better), value)| Metric::new(name.clone(), *value, *unit, *better)).collect()
    }
}

/// The shapes that have occurred, by digest.
#[derive(Default)]
pub(super) struct Shapes(Mutex<BTreeMap<u128, Arc<Shape>>>);

impl Shapes {
    pub(super) fn figures(&self, metrics: Vec<Metric>) -> Figures {
        let mut digest = Digest::default();
        for metric in &metrics {
            digest.bytes(metric.name.as_bytes());
            digest.bytes(&[0, metric.unit as u8, metric.better as u8]);
        }
        let values = metrics.iter().map(|metric| metric.value).collect();
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let shape = known
            .entry(digest.value())
            .or_insert_with(|| Arc::new(metrics.into_iter().map(|metric| (metric.name, metric.unit, metric.better)).collect()));
        Figures { shape: Arc::clone(shape), values }
    }
}
