//! The answer as text, tables and a JSON document.

use crate::{Bisected, Culprit, Effect};
use fairground_metrics::Decimal;
use fairground_report::units::format_metric;
use fairground_report::{Cell, Document, Input, Table, columns};
use fairground_scenario::Scenario;
use serde_json::{Value, json};

/// A few lines: what moved, by how much, and which change did it.
pub fn summary(found: &Bisected) -> String {
    let (name, effect) = (&found.metric.name, &found.effect);
    let (from, to) = (mean(found, effect.before()), mean(found, effect.before() + effect.difference()));
    let sides = format!("{} to {}", found.a.full_name(), found.b.full_name());
    let mut text = format!("{name}: {from} to {to} ({}) from {sides}, {} seeds.\n", percent(effect), found.runs);
    if !effect.moves {
        return text + "That is less than what matters, or may be chance: nothing was searched.\n";
    }
    for culprit in &found.culprits {
        let names: Vec<&str> = culprit.rows.iter().map(|row| row.to.name).collect();
        let since = culprit.rows.iter().filter_map(|row| row.since).max();
        let since = since.map_or_else(|| "no kernel, but a setting or patch".to_string(), |since| since.to_string());
        text += &format!(
            "Moved by {} ({since}): {}, {} % of the difference.\n",
            names.join(" with "),
            percent(&culprit.effect),
            share(culprit.effect.difference(), effect.difference()).text
        );
        for row in &culprit.rows {
            text += &format!("  {}: {} to {}. {}\n", row.to.name, row.from.value, row.to.value, row.to.sentence);
        }
        if culprit.alone.len() > 1 {
            text += "  They act together only: alone they do not carry the metric over.\n";
        }
    }
    if found.culprits.is_empty() {
        text += "No change, and no set of them that can be run, carries the metric over.\n";
    } else {
        let left = share(found.remainder, effect.difference()).text;
        text += &format!("Left over: {left} % of the difference, which these changes do not explain.\n");
    }
    text + &format!("{} rows differ; {} runs were made.\n", found.rows, found.made)
}

fn mean(found: &Bisected, sum: i128) -> String {
    format_metric(u64::try_from(sum.max(0) / i128::from(found.runs.max(1))).unwrap_or(u64::MAX), found.metric.unit)
}

/// The change of the mean, with its sign.
fn percent(effect: &Effect) -> String {
    match effect.before() {
        0 => "from 0".to_string(),
        before => {
            let tenths = effect.difference() * 1000 / before;
            let sign = if tenths < 0 { '-' } else { '+' };
            format!("{sign}{}.{} %", tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10)
        }
    }
}

/// A part of a whole, in percent; both may be negative.
fn share(part: i128, whole: i128) -> Cell {
    let tenths = if whole == 0 { 0 } else { part * 1000 / whole };
    let text = format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10);
    Cell::new(text, Decimal::ratio(tenths.unsigned_abs() as u64, 10).to_string())
}

/// The history, and what moved the metric.
pub fn tables(found: &Bisected) -> Vec<Table> {
    let mut tables = vec![history(found), alone(found)];
    tables.retain(|table| !table.rows().is_empty());
    tables
}

fn history(found: &Bisected) -> Table {
    let columns = columns![
        left "from", left "to", right "rows", right "before" "before_ns", right "after" "after_ns", right "change" "change",
        left "moves",
    ];
    let mut table = Table::new("history", "along the history", columns);
    for step in &found.steps {
        let effect = &step.effect;
        table.push(vec![
            step.from.as_str().into(),
            step.to.as_str().into(),
            Cell::count(step.rows as u64),
            mean(found, effect.before()).into(),
            mean(found, effect.before() + effect.difference()).into(),
            percent(effect).into(),
            if effect.moves { "yes" } else { "" }.into(),
        ]);
    }
    table
}

/// Changes that act only together, each alone.
fn alone(found: &Bisected) -> Table {
    let columns = columns![left "change", right "alone" "alone", right "together" "together"];
    let mut table = Table::new("alone", "changes that act together, each alone", columns);
    for culprit in &found.culprits {
        for (unit, effect) in &culprit.alone {
            table.push(vec![unit.as_str().into(), percent(effect).into(), percent(&culprit.effect).into()]);
        }
    }
    table
}

/// The document of `bisect --json`.
pub fn document(scenario: &Scenario, found: &Bisected) -> Document {
    let inputs = [Input::new(&scenario.name(), scenario.digest())];
    let mut document = Document::new("bisect", &inputs, Some(scenario.seed), None);
    document
        .set("metric", found.metric.name.as_str())
        .set("unit", found.metric.unit.name())
        .set("a", found.a.full_name())
        .set("b", found.b.full_name())
        .set("moves", found.effect.moves)
        .set("before", found.effect.from.clone())
        .set("after", found.effect.to.clone())
        .set("culprits", found.culprits.iter().map(culprit).collect::<Vec<Value>>())
        .set("rows", found.rows)
        .set("runs", found.made)
        .set("story", summary(found))
        .set_tables(&tables(found));
    document
}

fn culprit(culprit: &Culprit) -> Value {
    let rows = culprit.rows.iter().map(|row| {
        let since = row.since.map(|since| since.to_string());
        json!({ "name": row.to.name, "from": row.from.value, "to": row.to.value, "since": since, "sentence": row.to.sentence })
    });
    json!({ "rows": rows.collect::<Vec<Value>>(), "before": culprit.effect.from, "after": culprit.effect.to })
}
