//! The table of frequencies: how long each policy ran at each operating point.

use fairground_model::GovernorKind;
use fairground_report::units::{fixed, format_ns};
use fairground_report::{Cell, Column, Table};
use fairground_sched::FreqReport;

/// The table, if any frequency is governed or has changed.
pub(crate) fn freq_table(reports: &[FreqReport]) -> Option<Table> {
    let shown = |report: &&FreqReport| report.governor != GovernorKind::Fixed || report.changes > 0;
    reports.iter().find(shown)?;
    let columns = vec![
        Column::left("CPUs", "cpus"),
        Column::left("governor", "governor"),
        Column::right("kHz", "khz"),
        Column::right("time", "time_ns"),
        Column::right("%", "percent"),
        Column::right("changes", "changes"),
    ];
    let mut table = Table::new("frequencies", "", columns);
    for report in reports.iter().filter(shown) {
        let all: u64 = report.time.iter().map(|row| row.1.0).sum();
        for (opp, time) in &report.time {
            // In hundredths of a percent, rounded down.
            let share = (u128::from(time.0) * 10_000).checked_div(u128::from(all)).unwrap_or(0) as u64;
            table.push(vec![
                report.cpus.to_string().into(),
                report.governor.name().into(),
                Cell::new(opp.khz.to_string(), opp.khz),
                Cell::new(format_ns(*time), time.0),
                Cell::new(fixed(share, 100, 2), share as f64 / 100.0),
                Cell::new(report.changes.to_string(), report.changes),
            ]);
        }
    }
    Some(table)
}
