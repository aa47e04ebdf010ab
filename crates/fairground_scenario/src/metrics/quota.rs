//! The named numbers of groups with a quota: what cpu.max and cpu.stat show of them at the end of a run.

use fairground_metrics::{Better, Metric, Unit};
use fairground_model::{CpuMax, TaskSet};
use fairground_sched::{BandwidthStats, Sched};
use fairground_sim::Simulation;
use fairground_stdx::Ns;

/// What cpu.max and cpu.stat of a group show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotaRow {
    /// The group's path.
    pub group: String,
    /// Its limit at the end.
    pub limit: CpuMax,
    /// Its counters.
    pub stats: BandwidthStats,
    /// What it has used while it had a quota.
    pub used: Ns,
}

/// The groups that have, or had, a quota.
pub fn quota_rows(simulation: &Simulation) -> Vec<QuotaRow> {
    let sched: &Sched = simulation.sched();
    let row = |group| {
        let pool = sched.cfs_bandwidth(group)?;
        Some(QuotaRow { group: sched.group(group).name.clone(), limit: pool.limit, stats: pool.stats, used: pool.used() })
    };
    sched.group_ids().filter_map(row).collect()
}

/// The figures of groups that begin the run with a quota: `quota./web.used_ms` and so on. Spans are stretches for which a queue was
/// throttled, without those that end with the first period of the run.
pub fn quota_metrics(tasks: &TaskSet, rows: &[QuotaRow]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for group in tasks.groups.iter().filter(|group| group.limit.quota.is_some()) {
        let row = rows.iter().find(|row| row.group == group.name);
        let (stats, used) = row.map_or((BandwidthStats::default(), Ns::ZERO), |row| (row.stats, row.used));
        let mut push = |figure: &str, value: u64, unit| {
            metrics.push(Metric::new(format!("quota.{}.{figure}", group.name), value, unit, Better::Neither));
        };
        push("used_ms", used.0, Unit::Ms);
        push("nr_periods", stats.nr_periods, Unit::Count);
        push("nr_throttled", stats.nr_throttled, Unit::Count);
        push("throttled_pct", (stats.nr_throttled * 100_000).checked_div(stats.nr_periods).unwrap_or(0), Unit::Percent);
        push("throttled_ms", stats.throttled_time.0, Unit::Ms);
        push("min_span_ms", stats.spans.min.0, Unit::Ms);
        push("mean_span_ms", stats.spans.mean().0, Unit::Ms);
        push("max_span_ms", stats.spans.max.0, Unit::Ms);
        push("max_debt_ms", stats.debt_max.0, Unit::Ms);
    }
    metrics
}
