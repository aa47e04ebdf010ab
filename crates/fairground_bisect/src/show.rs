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
    let (from, to) = (value(found, effect.before()), value(found, effect.after()));
    let sides = format!("{} to {}", found.a.full_name(), found.b.full_name());
    let mut text = format!("{name}: {from} to {to} ({}) from {sides}, {}.\n", percent(effect), seeds(found.seeds));
    if !effect.moves {
        let why =
            if effect.settled { "That is less than what matters" } else { "That is less than what matters, or may be chance" };
        return text + &format!("{why}: nothing was searched. {} runs were made.\n", found.made);
    }
    for culprit in &found.culprits {
        text += &of_culprit(found, culprit);
    }
    if found.culprits.is_empty() {
        text += "No change, and no set of them that can be run, carries the metric over.\n";
    } else {
        let left = part_of_difference(found.remainder, effect.mean());
        text += &format!("Left over: {left}, which these changes do not explain.\n");
    }
    text + &format!("{} rows differ; {} runs were made.\n", found.rows, found.made)
}

fn seeds(count: usize) -> String {
    match count {
        1 => "one run each, since the seed decides nothing in it".to_string(),
        count => format!("{count} seeds"),
    }
}

fn of_culprit(found: &Bisected, culprit: &Culprit) -> String {
    let effect = &culprit.effect;
    let last = culprit.rows.iter().filter_map(|row| row.since).max();
    let since = last.map_or_else(|| "no kernel, but a setting or patch".to_string(), |since| since.to_string());
    let share = part_of_difference(effect.mean(), found.effect.mean());
    let (names, change) = (culprit.names().join(" with "), amount(found, effect.mean()));
    let (percent, spread) = (percent(effect), spread(found, effect));
    let mut text = format!("Moved by {names} ({since}): {change} ({percent}{spread}), {share}.\n");
    for row in &culprit.rows {
        // A change of another version than that of the headline tells its own.
        let own = row.since.filter(|own| Some(*own) != last).map_or(String::new(), |own| format!(" ({own})"));
        text += &format!("  {}{own}: {} to {}. {}\n", row.to.name, row.from.value, row.to.value, row.to.sentence);
        for commit in row.commits() {
            text += &format!("    commit {commit}\n");
        }
    }
    for row in &culprit.needs {
        text += &format!(
            "  It needs {}: {} to {}, which does nothing to the metric itself.\n",
            row.to.name, row.from.value, row.to.value
        );
    }
    if culprit.alone.len() > 1 {
        text += "  They act together only: alone they do not carry the metric over.\n";
    }
    if !culprit.instead.is_empty() {
        text += &format!("  Without it the metric moves as far, by {}.\n", culprit.instead.join(" with "));
    }
    text
}

pub(crate) fn value(found: &Bisected, mean: i128) -> String {
    format_metric(u64::try_from(mean.max(0)).unwrap_or(u64::MAX), found.metric.unit)
}

/// The change of the mean, with its sign; as a factor where it is large.
fn percent(effect: &Effect) -> String {
    let (before, after) = (effect.before(), effect.after());
    match before {
        0 => "from 0".to_string(),
        before if after >= before * 11 => format!("x {}", after / before),
        before => signed(effect.mean() * 1000 / before) + " %",
    }
}

/// The interval of the change, where there is one.
fn spread(found: &Bisected, effect: &Effect) -> String {
    let of = |end: i128| amount(found, end);
    effect.interval.map_or(String::new(), |(low, high)| format!("; 95 %: {} to {}", of(low), of(high)))
}

/// A difference in the unit of the metric, with its sign.
fn amount(found: &Bisected, difference: i128) -> String {
    format!("{}{}", if difference < 0 { '-' } else { '+' }, value(found, difference.abs()))
}

/// What a change does as a part of the whole difference; both may be negative.
fn part_of_difference(part: i128, whole: i128) -> String {
    match part.checked_div(whole).unwrap_or(0) {
        times if times.abs() >= 10 => {
            format!("{} times the difference{}", times.abs(), if times < 0 { ", the other way" } else { "" })
        }
        _ => share(part, whole).text + " % of the difference",
    }
}

fn signed(tenths: i128) -> String {
    format!("{}{}.{}", if tenths < 0 { '-' } else { '+' }, tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10)
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
        left "from", left "to", right "rows", right "before" "before", right "after" "after", right "change" "change",
        left "moves",
    ];
    let title = match found.steps.first().map_or(0, |step| step.effect.from.len()) {
        1 => "along the history".to_string(),
        count => format!("along the history, over {count} seeds"),
    };
    let mut table = Table::new("history", title, columns);
    for step in &found.steps {
        let effect = &step.effect;
        table.push(vec![
            step.from.as_str().into(),
            step.to.as_str().into(),
            Cell::count(step.rows as u64),
            value(found, effect.before()).into(),
            value(found, effect.after()).into(),
            percent(effect).into(),
            if step.moves { "yes" } else { "" }.into(),
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
        let commits: Vec<String> = row.commits().map(|commit| commit.to_string()).collect();
        let (name, from, to) = (row.to.name, &row.from.value, &row.to.value);
        json!({ "name": name, "from": from, "to": to, "since": since, "commits": commits, "sentence": row.to.sentence })
    });
    let interval = culprit.effect.interval.map(|(low, high)| [low, high].map(|end| i64::try_from(end).unwrap_or(i64::MAX)));
    json!({
        "rows": rows.collect::<Vec<Value>>(),
        "before": culprit.effect.from,
        "after": culprit.effect.to,
        "interval_95": interval,
        "needs": culprit.needs.iter().map(|row| row.to.name).collect::<Vec<&str>>(),
        "instead": culprit.instead,
    })
}
