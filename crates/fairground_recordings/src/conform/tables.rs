//! The comparison as tables for people.

use super::Conformance;
use super::share::{percent, share};
use fairground_conform::{Choice, Kind, NOTABLE_PERCENT, Outcome, Quota, Tally};
use fairground_report::units::{format_count, format_ns};
use fairground_report::{Cell, Table, columns};
use fairground_sched::QueueSeat;
use fairground_stdx::{Ns, Vruntime};

/// Rows of the table of run times.
const SHOWN_TASKS: usize = 8;

/// What was compared, in a line.
pub fn heading(conformance: &Conformance) -> String {
    let records = format_count(conformance.outcome.records);
    format!("{}: {records} records against {}\n", conformance.name, conformance.profile)
}

/// Agreement per kind.
pub fn table(conformance: &Conformance) -> Table {
    let columns = columns![
        left "decision" "kind", right "decisions", right "agree", right "agree %" "agree_pct", right "kernel did" "did",
        right "agree %" "did_agree_pct", right "did not" "did_not", right "agree %" "did_not_agree_pct",
        right "unclear",
    ];
    let mut table = Table::new("conform", "Decisions of the recorded kernel and of the model", columns);
    for kind in Kind::ALL {
        let row = conformance.row(kind);
        let mut cells: Vec<Cell> = vec![kind.name().into()];
        if let Some(what) = quota_of(kind) {
            let tally = conformance.quota.as_ref().map_or_else(Tally::default, |quota| quota.of(what));
            cells.extend([Cell::count(tally.decisions), Cell::count(tally.agree), share(tally)]);
            table.push(cells);
            continue;
        }
        cells.extend([Cell::count(row.all.decisions), Cell::count(row.all.agree), share(row.all)]);
        if kind.has_sides() {
            for side in [row.did, row.did_not] {
                cells.extend([Cell::count(side.decisions), share(side)]);
            }
            cells.push(Cell::count(row.unclear));
        }
        table.push(cells);
    }
    notes(conformance, &mut table);
    table
}

/// What a kind is for the replay of accounts, which stands beside the lockstep.
pub(super) const fn quota_of(kind: Kind) -> Option<Quota> {
    match kind {
        Kind::Throttle => Some(Quota::Throttle),
        Kind::Unthrottle => Some(Quota::Unthrottle),
        _ => None,
    }
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
    table.note("`both`: several questions that share one outcome, counted apart; `unclear`: the record fits both answers");
    table.note(
        "select_cpu: the same CPU to the number; what the rules allow stands below. migrate: moves of a kind that was possible",
    );
}

/// Run time of the tasks that ran most, as recorded and by the core's answers.
pub fn shares_table(conformance: &Conformance) -> Table {
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

/// The headline beside the one with fitted lags.
pub fn fitted_table(conformance: &Conformance) -> Option<Table> {
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

/// The queue of a disagreement: times relative to the smallest virtual time.
pub fn mismatch_table(conformance: &Conformance, queue: &[QueueSeat]) -> Table {
    let columns = columns![
        left "task", right "vruntime", right "lag", right "deadline", left "eligible", right "weight",
        right "slice used" "slice_used_ns", left "state",
    ];
    let mut table = Table::new("queue", "", columns);
    let smallest = queue.iter().map(|seat| seat.vruntime).reduce(Vruntime::min).unwrap_or_default();
    for seat in queue {
        let signed = |value: i64| Cell::new(signed_ns(value), value);
        let mut cells: Vec<Cell> = vec![conformance.task_name(seat.task).into(), signed(seat.vruntime.since(smallest))];
        cells.extend(match seat.request {
            Some(request) => [
                signed(request.lag),
                signed(request.deadline.since(smallest)),
                Cell::from(if request.eligible { "yes" } else { "no" }),
            ],
            None => [Cell::empty(), Cell::empty(), Cell::empty()],
        });
        let state = match (seat.running, seat.delayed) {
            (true, _) => "runs",
            (_, true) => "delayed dequeue",
            _ => "waits",
        };
        cells.extend([Cell::count(seat.weight), Cell::ns(seat.slice_used), Cell::from(state)]);
        table.push(cells);
    }
    table
}

fn signed_ns(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", format_ns(Ns(value.unsigned_abs())))
}

/// A choice in words.
pub(super) fn choice(conformance: &Conformance, choice: Choice) -> String {
    match choice {
        Choice::Task(None) => "idle".to_string(),
        Choice::Task(Some(task)) => conformance.task_name(task),
        Choice::Resched(true) => "reschedule".to_string(),
        Choice::Resched(false) => "no reschedule".to_string(),
    }
}
