//! The table of groups with a quota: what cpu.max and cpu.stat show of them at the end of a run.

use fairground_metrics::{Better, Decimal, Metric, Unit};
use fairground_model::{CpuMax, TaskSet};
use fairground_report::table::number;
use fairground_report::units::fixed;
use fairground_report::{Cell, Column, Table};
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
pub(crate) fn quota_rows(simulation: &Simulation) -> Vec<QuotaRow> {
    let sched: &Sched = simulation.sched();
    let row = |group| {
        let pool = sched.cfs_bandwidth(group)?;
        Some(QuotaRow { group: sched.group(group).name.clone(), limit: pool.limit, stats: pool.stats, used: pool.used() })
    };
    sched.group_ids().filter_map(row).collect()
}

pub(crate) fn quota_table(rows: &[QuotaRow]) -> Table {
    let columns = vec![
        Column::left("group", "group"),
        Column::right("cpu.max us", "cpu_max_us"),
        Column::right("burst us", "cpu_max_burst_us"),
        Column::right("used ms", "used_ns"),
        Column::right("periods", "nr_periods"),
        Column::right("throttled", "nr_throttled"),
        Column::right("%", "throttled_pct"),
        Column::right("throttled ms", "throttled_ns"),
        Column::right("bursts", "nr_bursts"),
        Column::right("burst ms", "burst_ns"),
        Column::right("debt ms", "debt_ns_max"),
    ];
    let mut table = Table::new("quota", "Quota (cpu.max, cpu.stat)", columns);
    for QuotaRow { group, limit, stats, used } in rows {
        let quota = limit.quota.map_or("max".to_string(), |quota| (quota.0 / 1000).to_string());
        let percent = (stats.nr_throttled * 10_000).checked_div(stats.nr_periods).unwrap_or(0);
        let ms = |ns: u64| Cell::new(fixed(ns, 1_000_000, 3), ns);
        table.push(vec![
            group.clone().into(),
            format!("{quota} {}", limit.period.0 / 1000).into(),
            (limit.burst.0 / 1000).into(),
            ms(used.0),
            stats.nr_periods.into(),
            stats.nr_throttled.into(),
            Cell::new(fixed(percent, 100, 1), number(Decimal::ratio(percent, 100))),
            ms(stats.throttled_time.0),
            stats.nr_burst.into(),
            ms(stats.burst_time.0),
            ms(stats.debt_max.0),
        ]);
    }
    table.note("throttled ms: all CPUs together, without intervals that are open at the end");
    table
        .note("debt ms: most that was run beyond the quota when a period ended, all CPUs together; it is paid from the next one");
    table
}

/// The figures of groups that begin the run with a quota: `quota./web.used_ms` and so on. Spans are stretches for which a queue was
/// throttled, without those that end with the first period of the run.
pub(crate) fn quota_metrics(tasks: &TaskSet, rows: &[QuotaRow]) -> Vec<Metric> {
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

/// How often the period timer fires for nobody while a set is recorded: the shell sets the limits some time before the tasks
/// begin, and looks at cpu.stat some time after they have ended. Each time the timer marks itself idle at one firing, and stops
/// at the next.
const FIRES_FOR_NOBODY: u64 = 4;

/// The figures of a recorded set that are read from the files of its groups.
pub(crate) fn quota_figures(rows: &[QuotaRow]) -> impl Iterator<Item = (String, u64)> + '_ {
    rows.iter().flat_map(|QuotaRow { group, stats, used, .. }| {
        let name = group.trim_start_matches('/');
        [
            ("nr_periods", stats.nr_periods + FIRES_FOR_NOBODY),
            ("nr_throttled", stats.nr_throttled),
            ("throttled_usec", stats.throttled_time.0 / 1000),
            ("usage_usec", used.0 / 1000),
        ]
        .map(|(figure, value)| (format!("cgroups.{name}.{figure}"), value))
    })
}
