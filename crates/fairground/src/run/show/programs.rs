//! The tables of what programs count themselves: marks, and CPU time by part.

use crate::run::RunOutcome;
use fairground_metrics::Metric;
use fairground_model::MarkerUnit;
use fairground_report::{Cell, Table, columns};

/// How often each mark was reached, in the window if there is one; nothing without marks.
pub(super) fn mark_table(outcome: &RunOutcome) -> Option<Table> {
    let marks: Vec<&str> =
        outcome.tasks.markers.iter().filter(|spec| spec.unit == MarkerUnit::Event).map(|spec| spec.name.as_str()).collect();
    marks.first()?;
    let columns = columns![left "mark", right "count", right "per second" "per_second_milli"];
    let mut table = Table::new("marks", "Marks", columns);
    table.grows("marks", &["count"]);
    let value = |name: String| outcome.metrics.iter().find(|row: &&Metric| row.name == name).map_or(0, |row| row.value);
    for name in marks {
        let per_second = value(format!("{name}.per_second"));
        let shown = format!("{}.{:03}", per_second / 1000, per_second % 1000);
        table.push(vec![
            name.strip_prefix("marks.").unwrap_or(name).into(),
            value(format!("{name}.count")).into(),
            Cell::new(shown, per_second),
        ]);
    }
    Some(table)
}

/// CPU time by part of a program, in the window if there is one; nothing without parts and spin locks.
pub(super) fn part_table(outcome: &RunOutcome) -> Option<Table> {
    outcome.parts.rows.first()?;
    let columns = columns![left "part", right "cpu ms" "cpu_ns", right "%" "share_milli_pct"];
    let mut table = Table::new("parts", "CPU time by part of the programs", columns);
    table.grows("parts", &["cpu_ns"]);
    for row in &outcome.parts.rows {
        let share = row.share();
        table.push(vec![
            row.name.as_str().into(),
            Cell::ms(row.time.0),
            Cell::new(format!("{}.{:02}", share / 1000, share % 1000 / 10), share),
        ]);
    }
    table.note("%: of the CPU time of all tasks; spin: time spent on spinning for a lock of user space; other: steps of no part");
    Some(table)
}

/// Extensions of slices; nothing if no program asks for any.
pub(super) fn extension_table(outcome: &RunOutcome) -> Option<Table> {
    let row = outcome.parts.extensions?;
    let columns = columns![right "granted", right "yielded", right "expired", right "aborted"];
    let mut table = Table::new("slice_extensions", "Slice extensions", columns);
    table.push([row.granted, row.yielded, row.expired, row.aborted].map(Cell::from).to_vec());
    table.note(
        "yielded: in time; expired: after 5 us; aborted: by a system call; the rest was revoked, as another reschedule was due",
    );
    Some(table)
}
