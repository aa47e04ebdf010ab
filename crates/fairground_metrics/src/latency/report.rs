//! The statistics of a whole run.

use super::{CpuReport, RunStats, SectionTime, TaskReport};
use crate::histogram::Histogram;
use crate::marker::MarkerReport;
use crate::metric::{Better, Metric, MetricRow, Unit};
use fairground_model::{KernelWarn, Reason, Section};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// How often a rule decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReasonCount {
    /// The rule.
    pub reason: Reason,
    /// How often.
    pub count: u64,
}

/// A condition that the kernel warned of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarnReport {
    /// The condition.
    pub warn: KernelWarn,
    /// When the kernel warned of it first.
    pub at: Instant,
    /// On which CPU that was.
    pub cpu: CpuId,
    /// How often it warned of it.
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
    /// What the kernel warned of, in the order of the first times.
    pub warns: Vec<WarnReport>,
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
            warns: stats.warns,
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
        RUN_METRICS.iter().map(|row| row.of("", self)).collect()
    }
    fn total(&self, of: fn(&CpuReport) -> Ns) -> u64 {
        self.cpus.iter().map(|cpu| of(cpu).0).sum()
    }
    /// A part of the time of all CPUs.
    fn of_time(&self, part: fn(&CpuReport) -> Ns) -> u64 {
        percent(self.total(part), self.total(|cpu| cpu.busy) + self.total(|cpu| cpu.idle))
    }
}

/// The metrics of every run.
pub static RUN_METRICS: [MetricRow<RunReport>; 12] = {
    use Better::{Lower, Neither};
    use Unit::{Count, Ms, Percent, Us};
    [
        MetricRow::new("switches", Count, Neither, "Context switches", |run| run.switches),
        MetricRow::new("switches_involuntary", Count, Neither, "Switches away from a task that could run on", |run| {
            run.tasks.iter().map(|task| task.involuntary).sum()
        }),
        MetricRow::new("wakeups", Count, Neither, "Wake-ups, first queueings of new tasks included", |run| run.wakeups),
        MetricRow::new("migrations", Count, Neither, "Tasks that changed their CPU", |run| run.migrations),
        MetricRow::new("busy_pct", Percent, Neither, "Share of the time of all CPUs in which they were not idle", |run| {
            run.of_time(|cpu| cpu.busy)
        }),
        MetricRow::new(
            "kernel_pct",
            Percent,
            Lower,
            "Share of the time of all CPUs in kernel sections of the scheduler",
            |run| run.of_time(|cpu| cpu.kernel()),
        ),
        MetricRow::new("wakeup_latency_us.p50", Us, Lower, "Half of all wake-ups waited at most so long for a CPU", |run| {
            run.latency.quantile(500)
        }),
        MetricRow::new("wakeup_latency_us.p90", Us, Lower, "90 % of all wake-ups waited at most so long for a CPU", |run| {
            run.latency.quantile(900)
        }),
        MetricRow::new("wakeup_latency_us.p99", Us, Lower, "99 % of all wake-ups waited at most so long for a CPU", |run| {
            run.latency.quantile(990)
        }),
        MetricRow::new("wakeup_latency_us.p99.9", Us, Lower, "99.9 % of all wake-ups waited at most so long for a CPU", |run| {
            run.latency.quantile(999)
        }),
        MetricRow::new("wakeup_latency_us.max", Us, Lower, "The longest wait for a CPU after a wake-up", |run| run.latency.max()),
        MetricRow::new("sched_delay_max_ms", Ms, Lower, "The longest that any task was runnable and did not run", |run| {
            run.tasks.iter().map(|task| task.max_wait.0).max().unwrap_or(0)
        }),
    ]
};

/// `part` of `whole` in thousandths of a percent, rounded down; 0 of nothing is 0.
fn percent(part: u64, whole: u64) -> u64 {
    let thousandths = u128::from(part) * 100_000 / u128::from(whole.max(1));
    u64::try_from(thousandths).unwrap_or(u64::MAX)
}
