//! The tables of locks: how long they were held and waited for, and what their holders did meanwhile.

use fairground_model::LockKind;
use fairground_report::units::fixed;
use fairground_report::{Cell, Column, Table};
use fairground_scenario::metrics::{LOCK_MODES, LockOutcome};
use fairground_sim::{HolderIs, LockReport, LockWaits};

/// Two tables, of holds and of waits.
pub(crate) fn lock_tables(outcome: &LockOutcome) -> [Table; 2] {
    let mut holds = hold_table(&outcome.locks);
    for deadlock in &outcome.deadlocks {
        holds.note(deadlock);
    }
    [holds, wait_table(&outcome.locks)]
}

fn hold_table(locks: &[LockReport]) -> Table {
    let columns = vec![
        Column::left("lock", "lock"),
        Column::left("kind", "kind"),
        Column::right("holds", "holds"),
        Column::right("mean ms", "hold_ns_mean"),
        Column::right("max ms", "hold_ns_max"),
        Column::right("throttled", "throttled_holds"),
        Column::right("others wait ms", "throttled_hold_wait_ns"),
        Column::right("chain", "longest_chain"),
        Column::right("hung", "hung_tasks"),
    ];
    let mut table = Table::new("locks", "Locks", columns);
    for lock in locks {
        table.push(vec![
            lock.name.clone().into(),
            lock.kind.name().into(),
            lock.holds.count().into(),
            ms(lock.holds.mean()),
            ms(lock.holds.max()),
            lock.throttled_holds.into(),
            ms(lock.throttled_hold_wait.0),
            u64::from(lock.longest_chain).into(),
            lock.hung_tasks.into(),
        ]);
    }
    table.note("throttled: holds in which the holder was off its CPU because its group was throttled; others wait: for how long tasks outside that group waited then");
    if locks.iter().any(|lock| lock.kind == LockKind::Futex && lock.throttled_holds > 0) {
        table.note("a futex is held in user mode: throttling on the return to user mode does not spare those who wait for it");
    }
    table
}

fn wait_table(locks: &[LockReport]) -> Table {
    let columns = vec![
        Column::left("lock", "lock"),
        Column::left("to", "mode"),
        Column::right("waits", "waits"),
        Column::right("contended", "contended"),
        Column::right("mean ms", "wait_ns_mean"),
        Column::right("p99 ms", "wait_ns_p99"),
        Column::right("max ms", "wait_ns_max"),
        Column::right("running ms", "holder_running_ns"),
        Column::right("waiting ms", "holder_waiting_ns"),
        Column::right("asleep ms", "holder_asleep_ns"),
        Column::right("throttled ms", "holder_throttled_ns"),
    ];
    let mut table = Table::new("lock_waits", "Waits for locks", columns);
    for (lock, (mode, name)) in locks.iter().flat_map(|lock| LOCK_MODES.map(|mode| (lock, mode))) {
        let LockWaits { times, contended, while_holder } = lock.waits(mode);
        if times.count() == 0 && *contended == 0 {
            continue;
        }
        let mut row: Vec<Cell> = vec![lock.name.clone().into(), name.into(), times.count().into(), (*contended).into()];
        row.extend([times.mean(), times.quantile(990), times.max()].map(ms));
        row.extend(HolderIs::ALL.map(|is| ms(while_holder[is as usize].0)));
        table.push(row);
    }
    table.note("running to throttled: time of all waits by what the holder did that was furthest from releasing the lock");
    table
}

fn ms(ns: u64) -> Cell {
    Cell::new(fixed(ns, 1_000_000, 3), ns)
}
