//! Choices of CPUs and moves between them, as tables and JSON.

use super::super::Conformance;
use super::super::share::percent;
use fairground_conform::{BatchRule, MoveKind, PlaceRule, Tally, Unexplained};
use fairground_report::{Cell, Table, columns};
use serde_json::{Map, Value, json};

/// Choices that no reading explains: so many are shown with their queues.
const SHOWN: usize = 3;

/// Choices of CPUs by the rule, or the doubt, that explains them; nothing without a choice.
pub(super) fn placement_table(conformance: &Conformance) -> Option<Table> {
    let found = &conformance.outcome.placement;
    let columns = columns![
        left "rule", left "is a" "is", right "choices", right "same CPU" "strict", right "same %" "strict_pct",
    ];
    let mut table = Table::new("placement", "Choices of CPUs, by what explains them", columns);
    let rows = PlaceRule::ALL.into_iter().map(|rule| (rule, found.of(rule))).filter(|row| row.1.choices > 0);
    for (rule, row) in rows {
        let share = Cell::float(percent(row.strict, row.choices), 2);
        table.push(vec![rule.name().into(), verdict(rule).into(), Cell::count(row.choices), Cell::count(row.strict), share]);
    }
    for (what, fork) in [("wake-ups", false), ("births", true)] {
        let (all, allowed, strict) = found.sums(fork);
        if all > 0 {
            let (allowed, strict) = (percent(allowed, all), percent(strict, all));
            table.note(format!(
                "{what}: {all} choices, {allowed:.2} % allowed by the rules, {strict:.2} % the model's own answer"
            ));
        }
    }
    found.unexplained.iter().take(SHOWN).for_each(|row| table.note(sentence(conformance, row)));
    (found.sums(false).0 + found.sums(true).0 > 0).then_some(table)
}

const fn verdict(rule: PlaceRule) -> &'static str {
    match (rule.is_allowed(), rule.is_doubt()) {
        (false, _) => "mystery",
        (true, true) => "doubt",
        (true, false) => "rule",
    }
}

/// A choice that no reading explains, with the runnable tasks of each CPU.
fn sentence(conformance: &Conformance, row: &Unexplained) -> String {
    let queue = |queue: &(u32, bool)| format!("{}{}", queue.0, if queue.1 { "r" } else { "" });
    let queues: Vec<String> = row.queues.iter().map(queue).collect();
    format!(
        "not explained, at {}.{:09} s: {} {} by CPU {}, last on {}, before on {}, went to {}; the model says {}; tasks of each CPU (r = one runs): {}",
        row.at.ns() / 1_000_000_000,
        row.at.ns() % 1_000_000_000,
        conformance.task_name(row.task),
        if row.fork { "made" } else { "woken" },
        row.this,
        row.prev,
        row.recent.map_or("?".to_string(), |cpu| cpu.to_string()),
        row.recorded,
        row.core,
        queues.join(" "),
    )
}

/// Moves of waiting tasks by kind, and the questions about them; nothing without a move.
pub(super) fn moves_table(conformance: &Conformance) -> Option<Table> {
    let found = &conformance.outcome.moves;
    let columns = columns![
        left "moves" "what", right "tasks", right "balances", right "judged", right "agree",
        right "agree %" "agree_pct",
    ];
    let mut table = Table::new("moves", "Moves of runnable tasks outside wake-ups", columns);
    for kind in MoveKind::ALL {
        let row = found.of(kind);
        if row.moves > 0 {
            let mut cells: Vec<Cell> = vec![kind.name().into(), Cell::count(row.moves), Cell::count(row.batches)];
            cells.extend(super::tally::cells(row.kind));
            table.push(cells);
        }
    }
    for rule in BatchRule::ALL {
        let row = found.rule(rule);
        if row.decisions > 0 {
            let mut cells: Vec<Cell> = vec![rule.name().into(), Cell::empty(), Cell::empty()];
            cells.extend(super::tally::cells(row));
            table.push(cells);
        }
    }
    if found.between_caches > 0 {
        table.note(format!(
            "{} balances between caches: utilisation decides how many tasks move; not judged",
            found.between_caches
        ));
    }
    found.kinds.iter().any(|row| row.moves > 0).then_some(table)
}

/// The object `placement` of the document.
pub(super) fn placement_json(conformance: &Conformance) -> Value {
    let found = &conformance.outcome.placement;
    let rule = |rule: PlaceRule| {
        let row = found.of(rule);
        let value = json!({ "is": verdict(rule), "choices": row.choices, "strict": row.strict });
        (rule.name().to_string(), value)
    };
    let sums = |fork: bool| {
        let (all, allowed, strict) = found.sums(fork);
        let share = |part: u64| (all > 0).then(|| percent(part, all));
        json!({
            "choices": all,
            "allowed": allowed,
            "allowed_pct": share(allowed),
            "strict": strict,
            "strict_pct": share(strict),
        })
    };
    json!({
        "wakeups": sums(false),
        "births": sums(true),
        "rules": Value::Object(PlaceRule::ALL.into_iter().map(rule).collect::<Map<_, _>>()),
        "unexplained": found.unexplained.iter().map(|row| sentence(conformance, row)).collect::<Vec<_>>(),
    })
}

/// The object `moves` of the document.
pub(super) fn moves_json(conformance: &Conformance) -> Value {
    let found = &conformance.outcome.moves;
    let tally = |tally: Tally| json!({ "judged": tally.decisions, "agree": tally.agree });
    let kind = |kind: MoveKind| {
        let row = found.of(kind);
        (kind.name().to_string(), json!({ "tasks": row.moves, "balances": row.batches, "kind": tally(row.kind) }))
    };
    let rule = |rule: BatchRule| (rule.name().to_string(), tally(found.rule(rule)));
    json!({
        "kinds": Value::Object(MoveKind::ALL.into_iter().map(kind).collect::<Map<_, _>>()),
        "rules": Value::Object(BatchRule::ALL.into_iter().map(rule).collect::<Map<_, _>>()),
        "between_caches": found.between_caches,
    })
}
