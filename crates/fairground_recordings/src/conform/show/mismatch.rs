//! A disagreement in words, with the queue in which it was.

use super::super::Conformance;
use fairground_conform::{Choice, Mismatch};
use fairground_model::{Decision, IdKind, Who};
use fairground_report::units::format_ns;
use fairground_report::{Cell, Table, columns};
use fairground_sched::QueueSeat;
use fairground_stdx::{Ns, Vruntime};
use serde_json::{Value, json};

/// Time, CPU, kind, both choices, the rule, what is in doubt, and the queue.
pub fn explain(conformance: &Conformance, mismatch: &Mismatch) -> String {
    let mut text = format!(
        "at {}.{:09} s on CPU {}: {}\n  recorded: {}\n  model:    {}\n",
        mismatch.at.ns() / 1_000_000_000,
        mismatch.at.ns() % 1_000_000_000,
        mismatch.cpu,
        mismatch.kind.name(),
        choice(conformance, mismatch.recorded),
        choice(conformance, mismatch.core),
    );
    if let Some(reason) = mismatch.reason {
        text.push_str(&format!("  rule:     {}: {}\n", reason.reason.slug(), sentence(conformance, reason)));
    }
    if !mismatch.unknown_lag.is_empty() {
        let names: Vec<String> = mismatch.unknown_lag.iter().map(|&task| conformance.task_name(task)).collect();
        text.push_str(&format!("  in doubt: {} slept before the record: with what lag is not known\n", names.join(", ")));
    }
    if let Some(task) = mismatch.kernel_mode {
        let name = conformance.task_name(task);
        text.push_str(&format!("  in doubt: {name} is a kernel thread: it gives way at its next preemption point only\n"));
    }
    text.push_str(&mismatch_table(conformance, &mismatch.queue).to_string());
    text
}

/// What the recorded kernel did, what the model would have done, and its rule.
pub fn parting(conformance: &Conformance, mismatch: &Mismatch) -> [String; 3] {
    let rule = mismatch.reason.map_or_else(String::new, |reason| sentence(conformance, reason));
    [choice(conformance, mismatch.recorded), choice(conformance, mismatch.core), rule]
}

/// The rule as a sentence about this recording's tasks.
fn sentence(conformance: &Conformance, decision: Decision) -> String {
    let (kind_a, kind_b) = decision.reason.ids();
    let shown = |kind: IdKind, id: u32| match kind {
        IdKind::Task => match Decision::who(id) {
            Who::Task(task) => conformance.task_name(task),
            Who::Group(group) => conformance.group_name(group),
        },
        IdKind::Cpu | IdKind::Ns => id.to_string(),
        IdKind::None => String::new(),
    };
    let text = decision.reason.sentence().replace("{b}", &shown(kind_b, decision.b));
    text.replace("{a}", &shown(kind_a, decision.a))
}

/// The queue of a disagreement: times relative to the smallest virtual time.
fn mismatch_table(conformance: &Conformance, queue: &[QueueSeat]) -> Table {
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
fn choice(conformance: &Conformance, choice: Choice) -> String {
    match choice {
        Choice::Task(None) => "idle".to_string(),
        Choice::Task(Some(task)) => conformance.task_name(task),
        Choice::Resched(true) => "reschedule".to_string(),
        Choice::Resched(false) => "no reschedule".to_string(),
    }
}

/// The same for programs.
pub(super) fn mismatch_json(conformance: &Conformance, mismatch: &Mismatch) -> Value {
    let names: Vec<String> = mismatch.unknown_lag.iter().map(|&task| conformance.task_name(task)).collect();
    json!({
        "at_ns": mismatch.at.ns(),
        "cpu": mismatch.cpu.get(),
        "kind": mismatch.kind.name(),
        "recorded": choice(conformance, mismatch.recorded),
        "model": choice(conformance, mismatch.core),
        "reason": mismatch.reason.map(|reason| reason.reason.slug()),
        "rule": mismatch.reason.map(|reason| sentence(conformance, reason)),
        "unknown_lag": names,
        "kernel_mode": mismatch.kernel_mode.map(|task| conformance.task_name(task)),
        "queue": mismatch_table(conformance, &mismatch.queue).to_json()["rows"],
    })
}
