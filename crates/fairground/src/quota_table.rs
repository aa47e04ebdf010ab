//! The table of groups with a quota: what cpu.max and cpu.stat show of them at the end of a run.

use fairground_metrics::Decimal;
use fairground_report::table::number;
use fairground_report::units::fixed;
use fairground_report::{Cell, Column, Table};
use fairground_scenario::metrics::QuotaRow;

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
