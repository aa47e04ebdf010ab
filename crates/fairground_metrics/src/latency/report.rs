//! The statistics of a whole run.

use super::{CpuReport, RunStats, SectionTime, TaskReport};
use crate::histogram::Histogram;
use crate::marker::MarkerReport;
use crate::metric::{Better, Metric, Unit};
use fairground_model::{Reason, Section};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// How often a rule decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReasonCount {
    /// The rule.
    pub reason: Reason,
    /// How often.
    pub count: u64,
}

/// The statistics of a whole run.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The length of the run.
    pub length: Ns,
    /// The tasks by row; tasks of which nothing is known are left out.
    pub tasks: Vec<TaskReport>,
    /// The CPUs by number.
    pub cpus: Vec<CpuReport>,
    /// How often each rule decided, in the order of [`Reason::ALL`]; rules that never did are left out.
    pub reasons: Vec<ReasonCount>,
    /// Measurements of the programs.
    pub markers: Vec<MarkerReport>,
    /// Wake-up latencies of all tasks.
    pub latency: Histogram,
    /// Context switches.
    pub switches: u64,
    /// Wake-ups, first queueings included.
    pub wakeups: u64,
    /// Changes of CPU.
    pub migrations: u64,
    /// Switches whose previous task was not the one that was current: records were lost in between.
    pub mismatched_switches: u64,
}

impl RunReport {
    pub(super) fn new(stats: RunStats, end: Instant) -> RunReport {
        let rows = stats.tasks.into_iter().enumerate().filter(|(_, row)| row.is_known());
        let tasks: Vec<TaskReport> = rows.map(|(index, row)| row.report(TaskId::from_index(index))).collect();
        let mut latency = Histogram::new();
        tasks.iter().for_each(|task| latency.merge(&task.latency));
        let counts = Reason::ALL.iter().zip(&stats.reasons).filter(|(_, count)| **count > 0);
        RunReport {
            length: end.saturating_since(stats.start),
            tasks,
            cpus: stats.cpus.into_iter().enumerate().map(|(index, row)| row.report(CpuId::from_index(index))).collect(),
            reasons: counts.map(|(&reason, &count)| ReasonCount { reason, count }).collect(),
            markers: stats.markers.report(),
            latency,
            switches: stats.switches,
            wakeups: stats.wakeups,
            migrations: stats.migrations,
            mismatched_switches: stats.mismatched_switches,
        }
    }
    /// Kernel sections of all CPUs together.
    pub fn sections(&self) -> [(Section, SectionTime); Section::ALL.len()] {
        let mut sum = Section::ALL.map(|section| (section, SectionTime::default()));
        for cpu in &self.cpus {
            for ((_, total), (_, part)) in sum.iter_mut().zip(&cpu.sections) {
                total.count += part.count;
                total.time += part.time;
            }
        }
        sum
    }
    /// The named numbers of the run.
    pub fn metrics(&self) -> Vec<Metric> {
        let total = |of: fn(&CpuReport) -> u64| self.cpus.iter().map(of).sum::<u64>();
        let (busy, idle, kernel) = (total(|cpu| cpu.busy.0), total(|cpu| cpu.idle.0), total(|cpu| cpu.kernel().0));
        let of_time = |part: u64| percent(part, busy + idle);
        let count = |name: &str, value| Metric::new(name, value, Unit::Count, Better::Neither);
        let mut metrics = vec![
            count("switches", self.switches),
            count("switches_involuntary", self.tasks.iter().map(|task| task.involuntary).sum()),
            count("wakeups", self.wakeups),
            count("migrations", self.migrations),
            Metric::new("busy_pct", of_time(busy), Unit::Percent, Better::Neither),
            Metric::new("kernel_pct", of_time(kernel), Unit::Percent, Better::Lower),
        ];
        for (name, permille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)] {
            let value = self.latency.quantile(permille);
            metrics.push(Metric::new(format!("wakeup_latency_us.{name}"), value, Unit::Us, Better::Lower));
        }
        metrics.push(Metric::new("wakeup_latency_us.max", self.latency.max(), Unit::Us, Better::Lower));
        let delay = self.tasks.iter().map(|task| task.max_wait.0).max().unwrap_or(0);
        metrics.push(Metric::new("sched_delay_max_ms", delay, Unit::Ms, Better::Lower));
        metrics
    }
}

/// `part` of `whole` in thousandths of a percent, rounded down; 0 of nothing is 0.
fn percent(part: u64, whole: u64) -> u64 {
    let thousandths = u128::from(part) * 100_000 / u128::from(whole.max(1));
    u64::try_from(thousandths).unwrap_or(u64::MAX)
}
