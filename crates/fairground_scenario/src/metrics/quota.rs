//! The named numbers of groups with a quota: what cpu.max and cpu.stat show of them at the end of a run.

use fairground_metrics::{Better, Metric, MetricRow, Unit};
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
    /// What it has used while it had a quota. `None` where another core decided: that counts what cpu.stat shows, and neither this nor
    /// spans and debts.
    pub used: Option<Ns>,
}

/// The groups that have, or had, a quota.
pub fn quota_rows(simulation: &Simulation) -> Vec<QuotaRow> {
    let sched: &Sched = simulation.sched();
    let row = |group| {
        let name = sched.group(group).name.clone();
        if sched.is_led() {
            let (limit, stats) = simulation.led_quota(group)?;
            return Some(QuotaRow { group: name, limit, stats, used: None });
        }
        let pool = sched.cfs_bandwidth(group)?;
        Some(QuotaRow { group: name, limit: pool.limit, stats: pool.stats, used: Some(pool.used()) })
    };
    sched.group_ids().filter_map(row).collect()
}

/// The counters of a group, and what it used with a quota.
pub(super) type Counted = (BandwidthStats, Ns);

/// The metrics of each group that begins the run with a quota. Spans are stretches for which a queue was throttled, without those that
/// end with the first period of the run.
pub(super) static QUOTA_METRICS: [MetricRow<Counted>; 9] = {
    use Better::Neither;
    use Unit::{Count, Ms, Percent};
    [
        MetricRow::new("used_ms", Ms, Neither, "What the group used while it had a quota", |row| row.1.0),
        MetricRow::new("nr_periods", Count, Neither, "Periods that were counted (cpu.stat nr_periods)", |row| row.0.nr_periods),
        MetricRow::new("nr_throttled", Count, Neither, "Periods in which it was throttled (cpu.stat nr_throttled)", |row| {
            row.0.nr_throttled
        }),
        MetricRow::new("throttled_pct", Percent, Neither, "Share of its periods in which it was throttled", |row| {
            (row.0.nr_throttled * 100_000).checked_div(row.0.nr_periods).unwrap_or(0)
        }),
        MetricRow::new("throttled_ms", Ms, Neither, "Time for which its queues were throttled, all CPUs together", |row| {
            row.0.throttled_time.0
        }),
        MetricRow::new("min_span_ms", Ms, Neither, "The shortest time for which a queue was throttled", |row| row.0.spans.min.0),
        MetricRow::new("mean_span_ms", Ms, Neither, "The mean time for which a queue was throttled", |row| row.0.spans.mean().0),
        MetricRow::new("max_span_ms", Ms, Neither, "The longest time for which a queue was throttled", |row| row.0.spans.max.0),
        MetricRow::new("max_debt_ms", Ms, Neither, "The most that was run beyond the quota when a period ended", |row| {
            row.0.debt_max.0
        }),
    ]
};

/// Those that come from cpu.stat, which every core counts.
const OF_CPU_STAT: [&str; 4] = ["nr_periods", "nr_throttled", "throttled_pct", "throttled_ms"];

/// The metrics of groups that begin the run with a quota: `quota./web.used_ms` and so on. What nobody counted has none.
pub(super) fn quota_metrics(tasks: &TaskSet, rows: &[QuotaRow]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for group in tasks.groups.iter().filter(|group| group.limit.quota.is_some()) {
        let row = rows.iter().find(|row| row.group == group.name);
        let (stats, used) = row.map_or((BandwidthStats::default(), Some(Ns::ZERO)), |row| (row.stats, row.used));
        let counted = (stats, used.unwrap_or(Ns::ZERO));
        let is_counted = |metric: &&MetricRow<Counted>| used.is_some() || OF_CPU_STAT.contains(&metric.name);
        let rows = QUOTA_METRICS.iter().filter(is_counted);
        metrics.extend(rows.map(|metric| metric.of(&format!("quota.{}.", group.name), &counted)));
    }
    metrics
}
