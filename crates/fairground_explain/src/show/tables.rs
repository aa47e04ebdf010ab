//! The tables of an answer.

use super::{finding, met, seconds, short, who};
use crate::one::LEAST_PCT;
use crate::verdicts::Miss;
use crate::{Aggregate, Cause, Explained, Explanation, Names, Pairs, Part};
use fairground_metrics::Decimal;
use fairground_report::units::format_ns;
use fairground_report::{Cell, Column, Table, columns};
use fairground_stdx::{Instant, Ns};
use serde_json::{Value, json};

/// So many rows of balances are shown.
const BALANCES_SHOWN: usize = 20;
/// So many parts are shown, the longest. Of more, the sums by cause are shown too.
const PARTS_SHOWN: usize = 40;
/// So many stretches are shown.
const STRETCHES_SHOWN: usize = 24;

/// All tables that have rows: the parts, idle CPUs, balances, what changes would have made of it, and all wake-ups of
/// a percentile.
pub fn tables(explanation: &Explanation) -> Vec<Table> {
    let (one, names) = (&explanation.one, &explanation.names);
    let mut tables = vec![
        by_cause(one),
        parts(one, names),
        stretches(one, names),
        pool(explanation),
        idle(one),
        balances(one),
        outcomes(explanation),
    ];
    tables.extend(explanation.aggregate.as_ref().map(aggregate));
    tables.retain(|table| !table.rows().is_empty());
    tables
}

fn share(part: Ns, whole: Ns) -> Cell {
    Decimal::ratio(part.0 * 1000 / whole.0.max(1), 10).into()
}

/// The sums by cause, where there are more parts than are shown.
fn by_cause(one: &Explained) -> Table {
    let columns = columns![left "cause", right "time" "time_ns", right "%" "share_pct", right "parts", right "stretches"];
    let mut table = Table::new("causes", "what the time went to, by cause", columns);
    let rows = one.parts.rows();
    let mut causes: Vec<Cause> = Cause::ALL.iter().copied().filter(|&cause| one.parts.of(cause) > Ns::ZERO).collect();
    causes.sort_by_key(|&cause| std::cmp::Reverse(one.parts.of(cause)));
    for cause in causes.into_iter().filter(|_| rows.len() > PARTS_SHOWN) {
        let alike = || rows.iter().filter(|part| part.cause == cause);
        let stretches = alike().map(|part| u64::from(part.stretches)).sum::<u64>();
        let (time, parts) = (one.parts.of(cause), alike().count() as u64);
        table.push(vec![
            cause.slug().into(),
            Cell::ns(time),
            share(time, one.parts.total()),
            Cell::count(parts),
            Cell::count(stretches),
        ]);
    }
    table
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
    let mut rows: Vec<&Part> = one.parts.rows().iter().collect();
    if rows.len() > PARTS_SHOWN {
        rows.sort_by_key(|part| std::cmp::Reverse(part.time));
    }
    for part in rows.iter().take(PARTS_SHOWN) {
        let (cause, who, cpu) = (part.cause.slug(), who(part.who, names), u64::from(part.cpu.get()));
        let stretches = u64::from(part.stretches);
        let mut row = vec![cause.into(), who.into(), cpu.into(), Cell::ns(part.time), share(part.time, whole), stretches.into()];
        if names.has_groups() {
            row.push(part.meeting.map_or_else(Cell::empty, |meeting| met(&meeting, names).into()));
        }
        table.push(row);
    }
    let hidden: u64 = rows.iter().skip(PARTS_SHOWN).map(|part| part.time.0).sum();
    if hidden > 0 {
        table.note(format!(
            "the longest {PARTS_SHOWN}; {} more have {} together",
            rows.len() - PARTS_SHOWN,
            format_ns(Ns(hidden))
        ));
    }
    table.note(format!("sum {}: each nanosecond is in one part", format_ns(whole)));
    table
}

/// The same in order of time. One stretch says no more than its part.
fn stretches(one: &Explained, names: &Names) -> Table {
    let columns = columns![
        right "after" "after_ns", right "at s" "from_ns", right "for" "time_ns", left "state" "cause", left "who" "who",
        right "cpu",
    ];
    let mut table = Table::new("stretches", "in order of time", columns);
    let stretches = one.parts.stretches();
    if stretches.len() < 2 {
        return table;
    }
    for stretch in stretches.iter().take(STRETCHES_SHOWN) {
        let part = &one.parts.rows()[stretch.part];
        table.push(vec![
            Cell::ns(stretch.from.since(one.delay.from)),
            at(stretch.from),
            Cell::ns(stretch.to.since(stretch.from)),
            part.cause.slug().into(),
            who(part.who, names).into(),
            u64::from(part.cpu.get()).into(),
        ]);
    }
    if stretches.len() > STRETCHES_SHOWN {
        table.note(format!("and {} more", stretches.len() - STRETCHES_SHOWN));
    }
    table
}

/// An instant of the run.
fn at(at: Instant) -> Cell {
    Cell::new(seconds(at), at.ns())
}

/// Who used the pool up.
fn pool(explanation: &Explanation) -> Table {
    let mut table =
        Table::new("pool", "who used the quota up", columns![left "task", right "ran" "ran_ns", right "%" "share_pct"]);
    let Some(pool) = &explanation.pool else { return table };
    let all = Ns(pool.used.iter().map(|row| row.1.0).sum());
    for (task, ran) in pool.used.iter().take(10) {
        table.push(vec![explanation.names.shown(*task).into(), Cell::ns(*ran), share(*ran, all)]);
    }
    if pool.used.len() > 10 {
        table.note(format!("and {} more", pool.used.len() - 10));
    }
    table
}

fn idle(one: &Explained) -> Table {
    let columns = columns![
        right "cpu", left "allowed", left "same cache" "same_cache", right "idle after" "first_ns",
        right "idle for" "total_ns",
    ];
    let mut table = Table::new("idle_cpus", "CPUs that stood idle meanwhile", columns);
    for row in &one.idle {
        let first = Cell::ns(row.first.saturating_since(one.delay.from));
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
        let after = Cell::ns(miss.at.saturating_since(one.delay.from));
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

/// Changes that save something worth it; all that were asked for.
fn outcomes(explanation: &Explanation) -> Table {
    let mut columns = columns![
        left "change", right "delay" "delay_ns", right "saved" "saved_ns", right "whole run" "whole_ns",
    ];
    let asked = explanation.proof.suspects.is_empty();
    let shown: Vec<_> = explanation.proof.outcomes.iter().filter(|row| asked || explanation.helps(row)).collect();
    let has_pairs = shown.iter().any(|row| row.pairs.is_some());
    if has_pairs {
        columns.push(Column::right("other seeds", "other_seeds"));
    }
    let mut table = Table::new("what_if", "with one thing changed", columns);
    let before = explanation.one.delay.length();
    for row in shown {
        let (delay, saved) = match row.delay {
            Some(delay) if delay <= before => (Cell::ns(delay), Cell::ns(before - delay)),
            Some(delay) => (Cell::ns(delay), Cell::new("longer", -((delay - before).0 as i64))),
            None if row.whole.is_some() => (Cell::empty(), Cell::empty()),
            None => (Cell::new("did not run", Value::Null), Cell::empty()),
        };
        let whole = row.whole.map_or_else(Cell::empty, Cell::ns);
        let mut cells = vec![Cell::new(short(&row.change), row.change.as_str()), delay, saved, whole];
        let pairs = |Pairs { hold, of }| Cell::new(format!("{hold} of {of}"), json!({ "hold": hold, "of": of }));
        cells.extend(has_pairs.then(|| row.pairs.map_or_else(Cell::empty, pairs)));
        table.push(cells);
    }
    if !table.rows().is_empty() {
        table.note(
            "delay: from the state before its last sleep; whole run: the delay of the same rank in a run that begins with it",
        );
        if has_pairs {
            table.note("other seeds: in how many of their pairs of runs the delay of the same rank is shorter with it");
        }
    }
    let hidden = explanation.proof.outcomes.len() - table.rows().len();
    if hidden > 0 && !table.rows().is_empty() {
        table.note(format!("{hidden} other changes save less than {LEAST_PCT} %"));
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
