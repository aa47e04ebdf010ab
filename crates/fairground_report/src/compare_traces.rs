//! `compare A B` of two recordings: figures by name of tasks, and what windows of both say.

use crate::columns;
use crate::compare::{percent_cell, signed};
use crate::table::{Cell, Table};
use crate::units::{format_mean, format_ns};
use fairground_metrics::timehist::Share;
use fairground_metrics::{Comparison, Histogram};
use fairground_stdx::Ns;

/// What tasks of one name did in both recordings.
#[derive(Clone, Debug)]
pub struct SideBySide {
    /// Their name.
    pub name: String,
    /// What they did in A and in B; nothing where a recording has no such task.
    pub sides: [Option<Share>; 2],
}

/// Two rows for each name: A and B. `time` is the length of the part of each recording that counts.
pub fn figures_table(rows: &[SideBySide], time: Ns) -> Table {
    let columns = columns![
        left "task", left "in" "side", right "woken p50" "wakeup_p50_ns", right "p99" "wakeup_p99_ns", right "max" "wakeup_max_ns",
        spare right "preempted p50" "preempted_p50_ns", spare right "p99" "preempted_p99_ns", right "cpu %" "cpu_pct", right "switches",
        spare right "migrations",
    ];
    let mut table = Table::new("figures", format!("Tasks of A and B, of {} each", format_ns(time)), columns);
    table.grows_by(2, "names, which ran less in both");
    for row in rows {
        for (side, share) in ["A", "B"].into_iter().zip(&row.sides) {
            let Some(share) = share else {
                table.push(vec![row.name.clone().into(), side.into(), Cell::none()]);
                continue;
            };
            let of = |delays: &Histogram, permille| {
                if delays.is_empty() { Cell::none() } else { Cell::ns(Ns(delays.quantile(permille))) }
            };
            let (woken, preempted) = (&share.after_wakeup, &share.after_preemption);
            let busy = u128::from(share.on_cpu.0) * 10_000 / u128::from(time.0.max(1));
            table.push(vec![
                row.name.clone().into(),
                side.into(),
                of(woken, 500),
                of(woken, 990),
                of(woken, 1000),
                of(preempted, 500),
                of(preempted, 990),
                Cell::percent(u64::try_from(busy).unwrap_or(u64::MAX)),
                Cell::count(share.switches),
                Cell::count(share.migrations),
            ]);
        }
    }
    table.note("woken: delays after wake-ups; preempted: those after a switch away from a task that could have gone on; cpu %: of one CPU");
    table
}

/// What windows say of each figure.
pub fn verdicts_table(rows: &[Comparison], windows: u64, length: Ns) -> Table {
    let columns = columns![
        left "figure of a window" "metric", right "A" "a", right "effect" "effect", right "%" "effect_pct", spare right "from" "effect_low",
        spare right "to" "effect_high", spare right "p", left "B is" "verdict",
    ];
    let mut table = Table::new("verdicts", "A against B, window by window", columns);
    for row in rows {
        let end = |value: Option<i128>| value.map_or_else(Cell::empty, |value| signed(value, row.unit));
        let (low, high) = row.effect.interval.unzip();
        table.push(vec![
            row.name.clone().into(),
            Cell::new(format_mean(&row.a, row.unit), row.a.mean),
            signed(row.effect.estimate, row.unit),
            percent_cell(row),
            end(low),
            end(high),
            Cell::p_value(row.p.to_f64()),
            row.verdict.name().into(),
        ]);
    }
    table.note(format!("the samples are {windows} windows of {} of each recording, paired by their place", format_ns(length)));
    table.note("so p says whether these two recordings differ, not whether two others would: record several times for that");
    table.note("figures that are missing in a window are not judged");
    table
}
