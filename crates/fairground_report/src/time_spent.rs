//! Where the simulated time of a run went: by class of cost for people, by operation for programs.

use crate::columns;
use crate::table::{Cell, Table, number};
use crate::units::{fixed, format_count, format_ns};
use fairground_metrics::Decimal;
use fairground_model::{CostClass, SpentOn, SpentRow, TimeSpent};
use fairground_stdx::Ns;

/// By class. What took no time is left out.
pub fn time_spent_table(spent: &TimeSpent) -> Table {
    let columns = columns![left "on", right "count", right "time" "time_ns", right "% of all CPUs" "share_pct", left "what"];
    let mut table = Table::new("time_spent", "Where the simulated time went", columns);
    let mut push = |row: SpentRow, (key, what): (&str, &str)| {
        if row.ns != 0 {
            table.push(vec![key.into(), count_cell(&row), time_cell(row.ns), share_cell(row.ns, spent), what.into()]);
        }
    };
    let rows = spent.rows();
    let (first, rest): (Vec<_>, Vec<_>) = rows.iter().partition(|row| matches!(row.on, SpentOn::Tasks | SpentOn::Idle));
    first.iter().for_each(|row| push(*row, name(row.on)));
    for &class in CostClass::ALL {
        let (count, ns) = spent.class(class);
        // Any of its operations stands for it: a class has counts.
        let on = class.ops().next().map_or(SpentOn::Beyond, SpentOn::Op);
        push(SpentRow { on, count, ns }, (class.key(), class.sentence()));
    }
    rest.iter().filter(|row| row.class().is_none()).for_each(|row| push(*row, name(row.on)));
    table.note(format!("together {}: that of all CPUs", format_ns(spent.all)));
    table
}

/// By operation, for documents: every row, also of what took no time.
pub fn time_by_op_table(spent: &TimeSpent) -> Table {
    let columns = columns![left "op", left "class", right "count", right "time" "time_ns", right "% of all CPUs" "share_pct"];
    let mut table = Table::new("time_by_op", "Where the simulated time went, by operation", columns);
    for row in spent.rows() {
        let class = row.class().map_or("", CostClass::key);
        table.push(vec![name(row.on).0.into(), class.into(), count_cell(&row), time_cell(row.ns), share_cell(row.ns, spent)]);
    }
    table
}

/// What a row stands for: its key and a sentence.
const fn name(on: SpentOn) -> (&'static str, &'static str) {
    match on {
        SpentOn::Tasks => ("tasks", "What tasks compute, kernel threads among them"),
        SpentOn::Idle => ("idle", "CPUs with nothing to do"),
        SpentOn::Op(op) => (op.key(), op.sentence()),
        SpentOn::Beyond => ("beyond_prices", "Kernel time beyond the prices: waits for another CPU, work that is slowed down"),
        SpentOn::CutOff => ("cut_off", "What was under way when the run ended"),
    }
}

fn count_cell(row: &SpentRow) -> Cell {
    if row.class().is_some() { Cell::new(format_count(row.count), row.count) } else { Cell::empty() }
}

fn time_cell(ns: i128) -> Cell {
    let length = Ns(u64::try_from(ns.unsigned_abs()).unwrap_or(u64::MAX));
    let sign = if ns < 0 { "-" } else { "" };
    Cell::new(format!("{sign}{}", format_ns(length)), i64::try_from(ns).unwrap_or(i64::MAX))
}

/// In percent of the time of all CPUs, three digits.
pub fn share_cell(ns: i128, spent: &TimeSpent) -> Cell {
    let thousandths = ns.unsigned_abs() * 100_000 / u128::from(spent.all.0.max(1));
    let thousandths = u64::try_from(thousandths).unwrap_or(u64::MAX);
    let sign = if ns < 0 && thousandths > 0 { "-" } else { "" };
    let text = format!("{sign}{}", fixed(thousandths, 1000, 3));
    Cell::new(text.clone(), number(Decimal::parse(&text).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::{Op, OpTime};

    fn spent() -> TimeSpent {
        let mut ops = [OpTime::default(); Op::COUNT];
        ops[Op::Enqueue as usize] = OpTime { count: 1_000, ps: 150_000_000 };
        ops[Op::Dequeue as usize] = OpTime { count: 1_000, ps: 50_000_000 };
        TimeSpent { all: Ns(2_000_000), tasks: Ns(1_500_000), idle: Ns(300_100), ops, beyond_ps: 0, cut_off_ps: 100_000 }
    }

    #[test]
    fn classes_are_shown_with_their_shares() {
        expect_test::expect![[r#"
            Where the simulated time went
            on       count       time  % of all CPUs  what
            -------  -----  ---------  -------------  ---------------------------------------------------------------
            tasks             1.50 ms         75.000  What tasks compute, kernel threads among them
            idle            300.10 us         15.005  CPUs with nothing to do
            enqueue  2 000  200.00 us         10.000  Enqueue and dequeue with load tracking, on all levels of groups
            cut_off           -100 ns         -0.005  What was under way when the run ended
            together 2.00 ms: that of all CPUs
        "#]]
        .assert_eq(&time_spent_table(&spent()).to_string());
    }

    #[test]
    fn every_operation_stands_in_the_other_table() {
        let table = time_by_op_table(&spent());
        assert_eq!(table.rows().len(), Op::COUNT + 4);
        let sum: i64 = table.to_json()["rows"].as_array().unwrap().iter().map(|row| row["time_ns"].as_i64().unwrap()).sum();
        assert_eq!(sum, 2_000_000);
    }
}
