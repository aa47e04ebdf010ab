//! Beside the rows: the published table of search efficiency, the histogram as bpftrace prints it, where the time went.

use super::Done;
use super::case::{MAIN, PATCHED, Point, VANILLA};
use super::measured::Measured;
use super::rows::HIGHEST;
use fairground_metrics::Decimal;
use fairground_model::{CostClass, SpentOn, TimeSpent};
use fairground_report::searches::{bpftrace_histogram, efficiency_table};
use fairground_report::table::number;
use fairground_report::{Cell, Table, columns};

/// All of them, as far as their runs were made.
pub(super) fn all(done: &Done) -> Vec<Table> {
    let main: Vec<(&Point, &str, &Measured)> = done
        .0
        .iter()
        .filter(|(case, _)| case.reading == MAIN)
        .filter_map(|(case, runs)| Some((&case.point, case.profile, runs.first()?)))
        .collect();
    let mut tables = Vec::new();
    for (profile, kernel) in [(VANILLA, "vanilla"), (PATCHED, "patched")] {
        let rows = main
            .iter()
            .filter(|row| row.1 == profile)
            .map(|(point, _, run)| (point.case.as_str(), format!("{} {}", point.load, point.unit), run.sis));
        tables.push(efficiency_table(&format!("Searches for an idle CPU, {kernel}, first seed"), rows));
    }
    let highest = Point::new("netperf", "TCP_RR", HIGHEST, "thread");
    let sides = [VANILLA, PATCHED].map(|profile| main.iter().find(|row| *row.0 == highest && row.1 == profile).map(|row| row.2));
    if let [Some(vanilla), Some(patched)] = sides {
        tables.push(bpftrace_histogram("select_idle_cpu_us, netperf TCP_RR with 224 pairs, vanilla", &vanilla.times));
        tables.push(where_it_went(vanilla, patched));
    }
    tables
}

/// ns of CPU time per transaction.
fn per_transaction(run: &Measured, of: impl Fn(&TimeSpent) -> i128) -> i64 {
    let [before, after] = &run.spent;
    // `value` is thousandths of transactions per second, and the time is that of all CPUs.
    let length = i128::from(after.all.0 - before.all.0) / i128::from(run.cpus.max(1));
    let transactions = i128::from(run.value) * length / 1_000_000_000_000;
    ((of(after) - of(before)).checked_div(transactions)).unwrap_or(0) as i64
}

/// Where the time of all CPUs went with 224 pairs, per transaction, before and after the patch.
fn where_it_went(vanilla: &Measured, patched: &Measured) -> Table {
    let columns = columns![
        left "on", right "vanilla us" "vanilla_us", right "patched us" "patched_us", right "less by" "less_us",
        left "what",
    ];
    let mut table = Table::new("where_the_gain_comes_from", "CPU time of a transaction, netperf TCP_RR with 224 pairs", columns);
    let us = |ns: i64| {
        let rounded = (ns + ns.signum() * 5) / 10 * 10;
        Cell::new(format!("{:.2}", Decimal::thousandths(rounded).to_f64()), number(Decimal::thousandths(ns)))
    };
    let mut push = |on: &str, of: &dyn Fn(&TimeSpent) -> i128, what: &str| {
        let [before, after] = [vanilla, patched].map(|run| per_transaction(run, of));
        if (before, after) != (0, 0) {
            table.push(vec![on.into(), us(before), us(after), us(before - after), what.into()]);
        }
    };
    for &class in CostClass::ALL {
        push(class.key(), &|spent| spent.class(class).1, class.sentence());
    }
    let rest = |on: SpentOn| move |spent: &TimeSpent| spent.rows().iter().filter(|row| row.on == on).map(|row| row.ns).sum();
    push("tasks", &rest(SpentOn::Tasks), "What tasks compute by themselves");
    push("beyond_prices", &rest(SpentOn::Beyond), "Waits for other CPUs, and work beside a busy sibling");
    push("idle", &rest(SpentOn::Idle), "Nothing to do");
    push("all", &|spent| i128::from(spent.all.0), "Together: CPUs times length, per transaction");
    table
}
