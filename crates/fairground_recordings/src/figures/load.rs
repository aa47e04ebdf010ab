//! Figures of load tracking, from the samples of each task's utilisation.
//!
//! * `pelt.util_avg.NAME.max` is the largest value up to the end of the window, the first one at the
//!   task's fork included; `.min` is the smallest one of the second half of the samples, when the
//!   beginning has been forgotten.
//! * `pelt.ramp_reaches.N.linear_ms` of a task `ramp`: when its utilisation comes to N, between two samples
//!   on the straight line, on the clock of load tracking (time times capacity / 1024 while it runs), from
//!   the first sample in the window: there the task wakes with nothing left of its past.

use super::figure::FigureMap;
use super::task::WorkloadTask;
use fairground_metrics::{Decimal, Window};
use fairground_stdx::{CpuId, Id, Instant, TaskId};

/// The values of utilisation whose times the recordings give.
const TARGETS: [u32; 9] = [128, 256, 400, 486, 512, 768, 840, 972, 1002];
/// The name of the task that they give them of.
const RAMP: &str = "ramp";
/// The capacity of a CPU whose load tracking keeps step with time.
const FULL: u64 = 1024;
/// ns in a ms.
const MS: u64 = 1_000_000;

/// One sample of one task.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    cpu: CpuId,
    util_avg: u32,
}

/// The samples of all measured tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadSamples {
    /// By CPU.
    capacities: Vec<u32>,
    /// By task.
    samples: Vec<Vec<Sample>>,
}

impl LoadSamples {
    pub(super) fn new(capacities: Vec<u32>) -> LoadSamples {
        LoadSamples { capacities, samples: Vec::new() }
    }
    pub(super) fn record(&mut self, at: Instant, cpu: CpuId, task: TaskId, util_avg: u32) {
        if self.samples.len() <= task.index() {
            self.samples.resize(task.index() + 1, Vec::new());
        }
        self.samples[task.index()].push(Sample { at, cpu, util_avg });
    }
    pub(super) fn add_to(&self, tasks: &[(TaskId, WorkloadTask)], window: Window, figures: &mut FigureMap) {
        for (id, task) in tasks {
            let all = self.samples.get(id.index()).map(Vec::as_slice).unwrap_or_default();
            let until = all.partition_point(|sample| sample.at <= window.end);
            let values = |from: usize| all[from..until].iter().map(|sample| sample.util_avg);
            if let (Some(min), Some(max)) = (values(until / 2).min(), values(0).max()) {
                figures.insert(format!("pelt.util_avg.{}.min", task.name), u64::from(min).into());
                figures.insert(format!("pelt.util_avg.{}.max", task.name), u64::from(max).into());
            }
            if task.name == RAMP {
                self.ramp(&all[all.partition_point(|sample| sample.at < window.start)..until], figures);
            }
        }
    }
    fn ramp(&self, samples: &[Sample], figures: &mut FigureMap) {
        let mut curve = Vec::with_capacity(samples.len());
        let mut clock = 0;
        for (index, sample) in samples.iter().enumerate() {
            let before = &samples[index.saturating_sub(1)];
            clock += sample.at.since(before.at).0 * self.capacity(sample.cpu) / FULL;
            curve.push((clock, sample.util_avg));
        }
        for target in TARGETS {
            if let Some(ns) = reaches(&curve, target) {
                figures.insert(format!("pelt.ramp_reaches.{target}.linear_ms"), Decimal::ratio(ns, MS).into());
            }
        }
    }
    fn capacity(&self, cpu: CpuId) -> u64 {
        self.capacities.get(cpu.index()).map_or(FULL, |&capacity| capacity.into())
    }
}

/// When a curve of (ns, value) first comes from below `target` to it, in ns.
fn reaches(curve: &[(u64, u32)], target: u32) -> Option<u64> {
    let pair = curve.windows(2).find(|pair| pair[0].1 < target && target <= pair[1].1)?;
    let (from, to) = (pair[0], pair[1]);
    Some(from.0 + (to.0 - from.0) * u64::from(target - from.1) / u64::from(to.1 - from.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures_of(name: &str, capacities: Vec<u32>, samples: &[(u64, u32)]) -> FigureMap {
        let mut load = LoadSamples::new(capacities);
        for &(ms, util_avg) in samples {
            load.record(Instant::from_ns(ms * MS), CpuId::new(0), TaskId::new(1), util_avg);
        }
        let window = Window { start: Instant::from_ns(10 * MS), end: Instant::from_ns(100 * MS) };
        let mut figures = FigureMap::new();
        let tasks = [(TaskId::new(0), WorkloadTask::new("idle".into())), (TaskId::new(1), WorkloadTask::new(name.into()))];
        load.add_to(&tasks, window, &mut figures);
        figures
    }
    fn shown(figures: &FigureMap) -> Vec<(&str, String)> {
        figures.iter().map(|(name, figure)| (name.as_str(), figure.to_string())).collect()
    }

    #[test]
    fn extremes_of_utilisation() {
        let figures = figures_of("p00", vec![], &[(1, 512), (11, 100), (20, 180), (30, 120), (40, 190), (101, 1)]);
        assert_eq!(shown(&figures), [("pelt.util_avg.p00.max", "512".into()), ("pelt.util_avg.p00.min", "120".into())]);
    }

    #[test]
    fn a_ramp_reaches_its_targets_on_the_line_between_samples() {
        let samples = [(1, 512), (12, 0), (20, 100), (24, 200), (28, 256)];
        let full = figures_of("ramp", vec![1024], &samples);
        assert_eq!(
            shown(&full)[..2],
            [("pelt.ramp_reaches.128.linear_ms", "9.12".into()), ("pelt.ramp_reaches.256.linear_ms", "16".into())]
        );
        let half = figures_of("ramp", vec![512], &samples);
        assert_eq!(shown(&half)[0].1, "4.56");
        assert_eq!(shown(&half).len(), 4);
    }

    #[test]
    fn no_samples_no_figures() {
        assert!(figures_of("ramp", vec![], &[]).is_empty());
        assert_eq!(reaches(&[(0, 5)], 5), None);
    }
}
