//! The answer as tables, as a JSON document, and as a short story to be pasted into a mail.

use super::verdicts::Miss;
use super::{Aggregate, Cause, Explained, Explanation, Meeting, Misread, Names, Outcome, Part, Place, Who};
use fairground_metrics::Decimal;
use fairground_model::{IdKind, Reason};
use fairground_report::units::format_ns;
use fairground_report::{Cell, Column, Document, Input, Table, columns};
use fairground_scenario::Scenario;
use fairground_sched::GroupReading;
use fairground_stdx::{Ns, TaskId};
use serde_json::{Value, json};

/// So many rows of balances are shown.
const BALANCES_SHOWN: usize = 20;
/// Parts shorter than this share of the delay are left to the table.
const WORTH_A_WORD: u64 = 20;

/// All tables that have rows: the parts, idle CPUs, balances, what changes would have made of it, and all wake-ups of
/// a percentile.
pub fn tables(explanation: &Explanation) -> Vec<Table> {
    let (one, names) = (&explanation.one, &explanation.names);
    let mut tables = vec![parts(one, names), idle(one), balances(one), outcomes(explanation)];
    tables.extend(explanation.aggregate.as_ref().map(aggregate));
    tables.retain(|table| !table.rows().is_empty());
    tables
}

fn share(part: Ns, whole: Ns) -> Cell {
    Decimal::ratio(part.0 * 1000 / whole.0.max(1), 10).into()
}

fn parts(one: &Explained, names: &Names) -> Table {
    let mut columns = columns![
        left "cause", left "who ran" "who", right "cpu", right "time" "time_ns", right "%" "share_pct",
        right "stretches",
    ];
    if names.has_groups() {
        columns.push(Column::left("decided between", "decided_between"));
    }
    let mut table = Table::new("parts", "what the time went to", columns);
    let whole = one.parts.total();
    for part in one.parts.rows() {
        let (cause, who, cpu) = (part.cause.slug(), who(part.who, names), u64::from(part.cpu.get()));
        let stretches = u64::from(part.stretches);
        let mut row = vec![cause.into(), who.into(), cpu.into(), Cell::ns(part.time), share(part.time, whole), stretches.into()];
        if names.has_groups() {
            row.push(part.meeting.map_or_else(Cell::empty, |meeting| met(&meeting, names).into()));
        }
        table.push(row);
    }
    table.note(format!("sum {}: each nanosecond is in one part", format_ns(whole)));
    table
}

fn idle(one: &Explained) -> Table {
    let columns = columns![
        right "cpu", left "allowed", left "same cache" "same_cache", right "idle after" "first_ns",
        right "idle for" "total_ns",
    ];
    let mut table = Table::new("idle_cpus", "CPUs that stood idle meanwhile", columns);
    for row in &one.idle {
        let first = Cell::ns(row.first.saturating_since(one.wake.waking));
        let cpu = u64::from(row.cpu.get());
        table.push(vec![cpu.into(), row.allowed.into(), row.shares_cache.into(), first, Cell::ns(row.total)]);
    }
    table
}

/// Balances that came to the same, one after the other, stand in one row with the numbers of the first.
fn balances(one: &Explained) -> Table {
    let columns = columns![
        right "after" "after_ns", right "times", left "balance" "pass", right "for cpu" "dst_cpu", left "cause",
        left "what it came to" "finding",
    ];
    let mut table = Table::new("balances", "balances that could have moved it", columns);
    let kind = |miss: &Miss| {
        let verdict = &miss.verdict;
        (verdict.pass, verdict.dst_cpu, verdict.finding, verdict.source, miss.refusal, miss.cause)
    };
    let rows: Vec<&[Miss]> = one.misses.chunk_by(|a, b| kind(a) == kind(b)).collect();
    for row in rows.iter().take(BALANCES_SHOWN) {
        let miss = &row[0];
        let after = Cell::ns(miss.at.saturating_since(one.wake.waking));
        let (pass, dst) = (miss.verdict.pass.name(), u64::from(miss.verdict.dst_cpu.get()));
        let times = Cell::count(row.len() as u64);
        table.push(vec![after, times, pass.into(), dst.into(), miss.cause.slug().into(), finding(miss).into()]);
    }
    let hidden: usize = rows.iter().skip(BALANCES_SHOWN).map(|row| row.len()).sum();
    if hidden > 0 {
        table.note(format!("and {hidden} more"));
    }
    table
}

fn outcomes(explanation: &Explanation) -> Table {
    let columns = columns![left "rule changed" "change", right "delay" "delay_ns", right "saved" "saved_ns"];
    let mut table = Table::new("what_if", "the same state with one rule changed", columns);
    let before = explanation.one.wake.latency();
    for row in &explanation.outcomes {
        let (delay, saved) = match row.delay {
            Some(delay) if delay <= before => (Cell::ns(delay), Cell::ns(before - delay)),
            Some(delay) => (Cell::ns(delay), Cell::new("longer", -((delay - before).0 as i64))),
            None => (Cell::new("did not run", Value::Null), Cell::empty()),
        };
        table.push(vec![row.change.as_str().into(), delay, saved]);
    }
    table
}

fn aggregate(aggregate: &Aggregate) -> Table {
    let columns = columns![
        left "cause", right "named", right "together" "named_time_ns", right "had a part in" "had_part",
        right "time" "time_ns", right "%" "share_pct", left "lies" "place",
    ];
    let mut table = Table::new("percentile", "all wake-ups that were as late or later", columns);
    for row in &aggregate.rows {
        table.push(vec![
            row.cause.slug().into(),
            Cell::count(row.named),
            Cell::ns(row.named_time),
            Cell::count(row.had_part),
            Cell::ns(row.time),
            share(row.time, aggregate.time),
            row.cause.place_name().into(),
        ]);
    }
    table.note(match aggregate.taken_apart == aggregate.wakeups {
        true => format!("{} wake-ups", aggregate.wakeups),
        false => format!("the {} latest of {} wake-ups", aggregate.taken_apart, aggregate.wakeups),
    });
    if let Some(commonest) = aggregate.commonest() {
        table.note(format!("commonest cause: {}: {}", commonest.slug(), commonest.sentence()));
    }
    table
}

/// The document of `explain --json`.
pub fn document(scenario: &Scenario, explanation: &Explanation) -> Document {
    let one = &explanation.one;
    let inputs = [Input::new(&scenario.name(), scenario.digest())];
    let mut document = Document::new("explain", &inputs, Some(scenario.seed), Some(explanation.digest));
    let statistics = one
        .misses
        .iter()
        .find(|miss| !miss.misread.is_empty())
        .map(|miss| miss.misread.iter().map(|row| misread(row, &explanation.names)).collect::<Vec<Value>>());
    document
        .set("title", scenario.title.as_str())
        .set("notes", scenario.notes.clone())
        .set("wakeups", explanation.wakeups)
        .set("percentile", explanation.percentile.map(|percentile| percentile.to_string()))
        .set("task", explanation.names.task(one.wake.task))
        .set("group", explanation.names.group(one.group))
        .set("cpu", one.cpu.get())
        .set("waking_ns", one.wake.waking.ns())
        .set("until_ns", one.wake.until.ns())
        .set("delay_ns", one.wake.latency().0)
        .set("cause", one.cause.slug())
        .set("cause_text", one.cause.sentence())
        .set("causes", one.causes().iter().map(|cause| cause.slug()).collect::<Vec<_>>())
        .set("commonest_cause", explanation.aggregate.as_ref().and_then(|rows| rows.commonest()).map(|cause| cause.slug()))
        .set("misread_loads", statistics)
        .set("story", story(explanation))
        .set_tables(&tables(explanation));
    document
}

fn misread(row: &Misread, names: &Names) -> Value {
    let Misread { load, groups } = row;
    let group = |group: &GroupReading| {
        let path = names.group(Some(group.group));
        json!({ "group": path, "statistic": group.statistic, "read": group.read, "queued": group.queued, "tasks": group.tasks })
    };
    json!({
        "cpu": load.cpu.get(), "statistic": load.statistic, "read": load.read, "queued": load.queued, "tasks": load.tasks,
        "groups": groups.iter().map(group).collect::<Vec<Value>>(),
    })
}

/// The story: what happened, by which rules, what stood idle, what would have helped.
pub fn story(explanation: &Explanation) -> String {
    let (one, names) = (&explanation.one, &explanation.names);
    let wake = &one.wake;
    let task = names.task(wake.task);
    let mut text = format!(
        "{} waited {} for CPU {}, from {} on, when it woke.\nCause: {}: {}.\n",
        names.task_in(wake.task, one.group),
        format_ns(wake.latency()),
        one.cpu,
        format_ns(Ns(wake.waking.ns())),
        one.cause.slug(),
        one.cause.sentence(),
    );
    if let Some(percentile) = explanation.percentile {
        text += &format!("It is the p{percentile} of {} wake-ups.\n", explanation.wakeups);
    }
    text += &here(one, names);
    text += &elsewhere(one, task);
    text += &misled(one, names);
    text += &helped(wake.latency(), &explanation.outcomes);
    text
}

/// Who had the CPU, the longest first.
fn here(one: &Explained, names: &Names) -> String {
    let mut parts = one.parts.rows().to_vec();
    parts.sort_by_key(|part| std::cmp::Reverse(part.time));
    let worth = |time: Ns| time.0 * WORTH_A_WORD >= one.wake.latency().0;
    let line = |part: &Part| {
        let who = who(part.who, names);
        let time = format_ns(part.time);
        let text = format!("  {time:>10}  {who} on CPU {}: {}\n", part.cpu, part.cause.sentence());
        text + &part.meeting.map(|meeting| format!("{:14}{}\n", "", met(&meeting, names))).unwrap_or_default()
    };
    let lines: String = parts.iter().filter(|part| worth(part.time)).map(line).collect();
    format!("While it waited:\n{lines}")
}

/// Between whom that was decided.
fn met(meeting: &Meeting, names: &Names) -> String {
    let Meeting { level, waited, ran } = *meeting;
    format!("{} ran instead of {}, as level {level} of the tree decided", names.entity(ran), names.entity(waited))
}

/// Who had a CPU, in a word.
fn who(who: Who, names: &Names) -> String {
    match who {
        Who::Task(task, group) => names.task_in(task, group),
        Who::Kernel(section) => format!("({})", section.name()),
        Who::Idle => "(idle)".to_string(),
        Who::Nobody => "(nobody)".to_string(),
    }
}

/// What stood idle, and how it came that the task was not there.
fn elsewhere(one: &Explained, task: &str) -> String {
    let mut text = String::new();
    if let Some(placement) = &one.placement {
        let chosen = sentence(placement.reason, task, placement.chosen.get());
        let then = match (placement.was_idle, placement.idle_in_all) {
            (true, _) => "it was idle".to_string(),
            (false, 0) => "no allowed CPU was idle".to_string(),
            (false, all) => format!("of the others {all} were idle, {} of them under the same cache", placement.idle_near),
        };
        text += &format!("The wake-up: {chosen}; {then}.\n");
        if let Some(missed) = placement.missed {
            text += &format!("  {}: {}.\n", missed.slug(), missed.sentence());
        }
    }
    let longest = |allowed| one.idle.iter().filter(move |row| row.allowed == allowed).max_by_key(|row| row.total);
    match (longest(true), longest(false)) {
        (Some(row), _) => {
            text += &format!(
                "CPU {} was idle for {} of the time, first {} after the wake-up.\n",
                row.cpu,
                format_ns(row.total),
                format_ns(row.first.saturating_since(one.wake.waking)),
            );
        }
        (None, Some(row)) => {
            text += &format!("CPU {} was idle for {}, but {task} may not run there.\n", row.cpu, format_ns(row.total));
        }
        (None, None) => text += "No other CPU was idle.\n",
    }
    if let Some(miss) = one.misses.iter().find(|miss| miss.cause == one.cause && miss.cause != Cause::MisledStatistic) {
        text += &format!("{}.\n", balance(one, miss));
    }
    text
}

fn balance(one: &Explained, miss: &Miss) -> String {
    format!(
        "{} after the wake-up, {} balance for CPU {}: {}",
        format_ns(miss.at.saturating_since(one.wake.waking)),
        miss.verdict.pass.name(),
        miss.verdict.dst_cpu,
        finding(miss)
    )
}

/// Which statistic misled a balance.
fn misled(one: &Explained, names: &Names) -> String {
    let mut text = String::new();
    if let Some(miss) = one.misses.iter().find(|miss| miss.cause == Cause::MisledStatistic) {
        text += &format!("What misled the balance, {}:\n", balance(one, miss));
        for row in &miss.misread {
            let load = &row.load;
            text += &format!(
                "  {} of CPU {} read {} with {} queued tasks, whose loads add up to {}\n",
                load.statistic, load.cpu, load.read, load.tasks, load.queued
            );
            for group in &row.groups {
                text += &format!(
                    "    in it the {} of group {} stood at {} with {} queued tasks, whose loads make {}\n",
                    group.statistic,
                    names.group(Some(group.group)),
                    group.read,
                    group.tasks,
                    group.queued
                );
            }
        }
        text += "  The same balance, made with the loads that are queued, comes to the queue of the waiting task.\n";
    }
    text
}

fn helped(delay: Ns, outcomes: &[Outcome]) -> String {
    let best = outcomes.iter().filter_map(|row| Some((row.delay?, row))).min_by_key(|row| row.0);
    match best {
        Some((with, row)) if with < delay => {
            format!("From the same state with `{}` it would have waited {}.\n", row.change, format_ns(with))
        }
        Some(_) => "None of the changes that were tried would have made it shorter.\n".to_string(),
        None => String::new(),
    }
}

/// A decision about the waiting task in words.
fn sentence(reason: Reason, task: &str, b: u32) -> String {
    let shown = |kind: IdKind, own: &str| match kind {
        IdKind::Task => own.to_string(),
        IdKind::Cpu | IdKind::Ns => b.to_string(),
        IdKind::None => String::new(),
    };
    let (kind_a, kind_b) = reason.ids();
    let other = format!("task {}", TaskId::new(b));
    reason.sentence().replace("{a}", &shown(kind_a, task)).replace("{b}", &shown(kind_b, &other))
}

impl Cause {
    /// Where it lies, in words.
    const fn place_name(self) -> &'static str {
        match self.place() {
            Place::Here => "here",
            Place::Elsewhere => "elsewhere",
        }
    }
}

/// What a balance came to, in words.
fn finding(miss: &Miss) -> String {
    let verdict = &miss.verdict;
    let (found, needed) = (verdict.found.to_string(), verdict.needed.to_string());
    let mut text = verdict.finding.sentence().replace("{found}", &found).replace("{needed}", &needed);
    if let Some(source) = verdict.source {
        text += &format!("; busiest queue: CPU {source}");
    }
    if let Some(refusal) = miss.refusal {
        text += &format!("; the waiting task stayed: {}", refusal.sentence());
    }
    text
}
