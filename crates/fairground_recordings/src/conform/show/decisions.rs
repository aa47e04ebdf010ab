//! Agreement by kind of decision, and what it makes of run times.

use super::super::Conformance;
use super::super::share::percent;
use super::tally::{cells, quota_of, share};
use fairground_conform::{Kind, NOTABLE_PERCENT, Outcome, Tally};
use fairground_report::units::format_count;
use fairground_report::{Cell, Table, columns};
use fairground_stdx::Ns;

/// Rows of the table of run times.
const SHOWN_TASKS: usize = 8;

/// Agreement per kind.
pub(super) fn table(conformance: &Conformance) -> Table {
    let columns = columns![
        left "decision" "kind", right "decisions", right "agree", right "agree %" "agree_pct", right "kernel did" "did",
        right "agree %" "did_agree_pct", right "did not" "did_not", right "agree %" "did_not_agree_pct",
        right "unclear",
    ];
    let mut table = Table::new("conform", "Decisions of the recorded kernel and of the model", columns);
    for kind in Kind::ALL {
        let found = conformance.row(kind);
        let mut row: Vec<Cell> = vec![kind.name().into()];
        if let Some(what) = quota_of(kind) {
            let tally = conformance.quota.as_ref().map_or_else(Tally::default, |quota| quota.of(what));
            row.extend(cells(tally));
            table.push(row);
            continue;
        }
        row.extend(cells(found.all));
        if kind.has_sides() {
            for side in [found.did, found.did_not] {
                row.extend([Cell::count(side.decisions), share(side)]);
            }
            row.push(Cell::count(found.unclear));
        }
        table.push(row);
    }
    notes(conformance, &mut table);
    table
}

fn notes(conformance: &Conformance, table: &mut Table) {
    let vruntimes = conformance.outcome.vruntimes;
    if vruntimes.compared > 0 {
        table.note(format!(
            "vruntime: {} of {} accounts exact to the nanosecond ({:.2} %), largest difference {} ns; {} taken from the record at first sight",
            format_count(vruntimes.exact),
            format_count(vruntimes.compared),
            percent(vruntimes.exact, vruntimes.compared),
            format_count(vruntimes.largest),
            vruntimes.adopted,
        ));
    } else {
        table.note("vruntime: not recorded");
    }
    let classes = conformance.outcome.classes;
    if classes.decisions > 0 {
        table.note(format!(
            "real-time tasks: the higher priority first in {} of {} picks ({:.2} %) beside one that waits; they are in no other row",
            format_count(classes.agree),
            format_count(classes.decisions),
            percent(classes.agree, classes.decisions),
        ));
    }
    table.note("`both`: several questions that share one outcome, counted apart; `unclear`: the record fits both answers");
    table.note(
        "select_cpu: the same CPU to the number; what the rules allow stands below. migrate: moves of a kind that was possible",
    );
}

/// Run time of the tasks that ran most, as recorded and by the core's answers.
pub(super) fn shares_table(conformance: &Conformance) -> Table {
    let columns = columns![
        left "task", right "ran" "ran_ns", right "by the model's answers" "given_ns",
        right "error %" "runtime_error_pct",
    ];
    let mut table = Table::new("shares", "Run time, worst first", columns);
    let notable = conformance.outcome.notable_shares();
    let mut rows: Vec<_> = notable.map(|(task, share)| (error_percent(share.ran, share.given), task, share)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let left_out = rows.len().saturating_sub(SHOWN_TASKS);
    for (error, task, share) in rows.into_iter().take(SHOWN_TASKS) {
        table.push(vec![conformance.task_name(task).into(), Cell::ns(share.ran), Cell::ns(share.given), Cell::float(error, 3)]);
    }
    table.note(format!("tasks with at least {NOTABLE_PERCENT} % of all run time; {left_out} more with smaller errors"));
    table
}

/// |given - ran| / ran, in percent.
pub(super) fn error_percent(ran: Ns, given: Ns) -> f64 {
    percent(ran.0.abs_diff(given.0), ran.0)
}

/// The headline beside the one without decisions that rest on a guess of what lies before the record.
pub(super) fn told_table(conformance: &Conformance) -> Option<Table> {
    let columns = columns![
        left "decision" "kind", right "lessons", right "decisions", right "agree %" "agree_pct", right "told" "told",
        right "agree %" "told_agree_pct",
    ];
    let rows = Kind::ALL.into_iter().map(|kind| (kind, conformance.row(kind)));
    let rows: Vec<_> = rows.filter(|(_, row)| row.lessons > 0 || (row.told.decisions > 0 && row.told != row.all)).collect();
    let mut table = Table::new("told", "Without decisions that rest on what lies before the record", columns);
    for (kind, row) in &rows {
        let cells = [Cell::count(row.lessons), Cell::count(row.all.decisions), share(row.all)];
        let told = [Cell::count(row.told.decisions), share(row.told)];
        table.push([kind.name().into()].into_iter().chain(cells).chain(told).collect());
    }
    table.note("`lessons`: decisions from which places of tasks before the record were learnt; they are in no other count");
    table.note("`told`: decisions between tasks whose places follow from the record");
    (!rows.is_empty()).then_some(table)
}

/// The headline beside the one with fitted lags.
pub(super) fn fitted_table(conformance: &Conformance) -> Option<Table> {
    let fit = conformance.fitted.as_ref()?;
    let columns = columns![
        left "decision" "kind", right "decisions", right "differ, lags 0" "differ",
        right "differ, fitted" "differ_fitted",
    ];
    let mut table = Table::new("fitted", "With fitted lags of kernel threads that slept before the record", columns);
    let wrong = |outcome: &Outcome, kind: Kind| {
        outcome.kinds.get(&kind).map_or((0, 0), |row| (row.all.decisions, row.all.decisions - row.all.agree))
    };
    for kind in Kind::ALL.into_iter().filter(|&kind| quota_of(kind).is_none()) {
        let (zero, fitted) = (wrong(&conformance.outcome, kind), wrong(&fit.outcome, kind));
        table.push(vec![kind.name().into(), Cell::count(fitted.0), Cell::count(zero.1), Cell::count(fitted.1)]);
    }
    for &(task, lag) in &fit.lags {
        table.note(format!("{}: lag {:+.3} ms", conformance.task_name(task), lag as f64 / 1e6));
    }
    Some(table)
}
