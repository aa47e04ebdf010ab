//! The tables of what a run has besides tasks and CPUs: groups, quotas, locks, frequencies.

use crate::run::RunOutcome;
use fairground_model::cgroup::shares_to_nice;
use fairground_model::{Change, GovernorKind, Instr, LockKind, TaskSet};
use fairground_report::run::share_cell;
use fairground_report::units::{fixed, format_ns};
use fairground_report::{Cell, Table, columns};
use fairground_scenario::metrics::{LOCK_MODES, LockOutcome, QuotaRow};
use fairground_sched::FreqReport;
use fairground_sched::profile::Profile;
use fairground_sim::{HolderIs, LockReport, LockWaits};
use fairground_stdx::{IndexVec, Ns, TgId};

/// Whether a task may change its group in the run.
fn has_moves(set: &TaskSet) -> bool {
    let by_step = set.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::SetGroup { .. }));
    by_step || set.changes.iter().any(|row| matches!(row.change, Change::Group { .. }))
}

/// One row per group: its weight at the start and the CPU time of the tasks that started in it or below. A task's time counts where
/// it started, also after it moved: a move is no trace event, so that statistics do not see it. The weight is what the group's files
/// show on such a kernel.
pub(super) fn group_table(outcome: &RunOutcome, profile: &Profile) -> Table {
    let columns = columns![
        left "group", right "cpu.weight" "cpu_weight", right "nice" "cpu_weight_nice", right "tasks",
        right "run ms" "run_ns", right "%cpu" "cpu_pct", right "% of all" "share_pct",
    ];
    let mut table = Table::new("groups", "Groups, by where tasks started", columns);
    table.grows("groups", &["run_ns"]);
    let set = &outcome.tasks;
    let starts = set.first_groups();
    let mut rows: IndexVec<TgId, (u64, Ns)> = set.groups.iter().map(|_| (0, Ns::ZERO)).collect();
    let mut all = Ns::ZERO;
    for task in &outcome.report.tasks {
        all += task.runtime;
        let mut group = starts.get(task.task).copied().flatten();
        while let Some(id) = group {
            rows[id] = (rows[id].0 + 1, rows[id].1 + task.runtime);
            group = set.groups[id].parent;
        }
    }
    for (id, &(tasks, runtime)) in rows.iter_enumerated() {
        let group = &set.groups[id];
        let [weight, nice] = match group.idle {
            true => [Cell::from("idle"), Cell::from("idle")],
            false => [Cell::from(profile.shown_weight.of(group.shares)), Cell::from(i32::from(shares_to_nice(group.shares)))],
        };
        table.push(vec![
            group.name.clone().into(),
            weight,
            nice,
            tasks.into(),
            Cell::ms(runtime.0),
            share_cell(runtime, outcome.report.length),
            share_cell(runtime, all),
        ]);
    }
    if has_moves(set) {
        table.note("tasks change groups in this run: all of a task's time counts where it started");
    }
    table
}

/// One row per group with a quota: what cpu.max and cpu.stat show of it at the end of a run.
pub(super) fn quota_table(rows: &[QuotaRow]) -> Table {
    let columns = columns![
        left "group", right "cpu.max us" "cpu_max_us", right "burst us" "cpu_max_burst_us", right "used ms" "used_ns",
        right "periods" "nr_periods", right "throttled" "nr_throttled", right "%" "throttled_pct",
        right "throttled ms" "throttled_ns", spare right "bursts" "nr_bursts", spare right "burst ms" "burst_ns",
        spare right "debt ms" "debt_ns_max",
    ];
    let mut table = Table::new("quota", "Quota (cpu.max, cpu.stat)", columns);
    table.grows("groups", &["throttled_ns", "used_ns"]);
    for QuotaRow { group, limit, stats, used } in rows {
        let if_counted = |ns: Ns| if used.is_some() { Cell::ms(ns.0) } else { Cell::none() };
        let percent = (stats.nr_throttled * 10_000).checked_div(stats.nr_periods).unwrap_or(0);
        table.push(vec![
            group.clone().into(),
            limit.to_string().into(),
            (limit.burst.0 / 1000).into(),
            used.map_or_else(Cell::none, |used| Cell::ms(used.0)),
            stats.nr_periods.into(),
            stats.nr_throttled.into(),
            Cell::fixed(percent, 100, 1),
            Cell::ms(stats.throttled_time.0),
            stats.nr_burst.into(),
            Cell::ms(stats.burst_time.0),
            if_counted(stats.debt_max),
        ]);
    }
    table.note("throttled ms: all CPUs together, without intervals that are open at the end");
    table
        .note("debt ms: most that was run beyond the quota when a period ended, all CPUs together; it is paid from the next one");
    table
}

/// How long locks were held; how long they were waited for, and what their holders did meanwhile; what was spent on spinning.
pub(super) fn lock_tables(outcome: &LockOutcome) -> Vec<Table> {
    let mut holds = hold_table(&outcome.locks);
    for deadlock in &outcome.deadlocks {
        holds.note(deadlock);
    }
    for held_up in &outcome.held_up {
        holds.note(held_up);
    }
    let spins = outcome.locks.iter().any(|lock| matches!(lock.kind, LockKind::Spin(_)));
    let spin = Some(spin_table(&outcome.locks)).filter(|_| spins);
    [Some(holds), Some(wait_table(&outcome.locks)), spin].into_iter().flatten().collect()
}

/// The spin locks of user space.
fn spin_table(locks: &[LockReport]) -> Table {
    let columns = columns![
        left "lock", right "holds", right "contended", right "spun ms" "spun_ns", right "sleeps",
        right "max wait ms" "wait_ns_max", right "preempted" "preempted_holds", right "holder waits ms" "holder_waits_ns",
    ];
    let mut table = Table::new("spin_locks", "Spin locks", columns);
    table.grows("locks", &["spun_ns", "holder_waits_ns"]);
    for lock in locks.iter().filter(|lock| matches!(lock.kind, LockKind::Spin(_))) {
        table.push(vec![
            lock.name.clone().into(),
            lock.holds.count().into(),
            lock.writes.contended.into(),
            Cell::ms(lock.spin.spun.0),
            lock.spin.sleeps.into(),
            Cell::ms(lock.writes.times.max()),
            lock.preempted_holds.into(),
            Cell::ms(lock.spin.holder_waits.0),
        ]);
    }
    table.note("spun: CPU time of those who spun; preempted: holds in which the holder was off its CPU, though it could run; holder waits: for how long it was so while others spun");
    table
}

fn hold_table(locks: &[LockReport]) -> Table {
    let columns = columns![
        left "lock", left "kind", right "holds", right "mean ms" "hold_ns_mean", right "max ms" "hold_ns_max",
        right "throttled" "throttled_holds", right "others wait ms" "throttled_hold_wait_ns",
        right "chain" "longest_chain", right "hung" "hung_tasks",
    ];
    let mut table = Table::new("locks", "Locks", columns);
    table.grows("locks", &["throttled_hold_wait_ns", "hold_ns_max"]);
    for lock in locks {
        table.push(vec![
            lock.name.clone().into(),
            lock.kind.name().into(),
            lock.holds.count().into(),
            Cell::ms(lock.holds.mean()),
            Cell::ms(lock.holds.max()),
            lock.throttled_holds.into(),
            Cell::ms(lock.throttled_hold_wait.0),
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
    let columns = columns![
        left "lock", left "to" "mode", right "waits", right "contended", right "mean ms" "wait_ns_mean",
        right "p99 ms" "wait_ns_p99", right "max ms" "wait_ns_max", spare right "running ms" "holder_running_ns",
        spare right "waiting ms" "holder_waiting_ns", spare right "asleep ms" "holder_asleep_ns",
        right "throttled ms" "holder_throttled_ns",
    ];
    let mut table = Table::new("lock_waits", "Waits for locks", columns);
    table.grows("rows", &["wait_ns_max", "wait_ns_p99"]);
    for (lock, (mode, name)) in locks.iter().flat_map(|lock| LOCK_MODES.map(|mode| (lock, mode))) {
        let LockWaits { times, contended, while_holder } = lock.waits(mode);
        if times.count() == 0 && *contended == 0 {
            continue;
        }
        let mut row: Vec<Cell> = vec![lock.name.clone().into(), name.into(), times.count().into(), (*contended).into()];
        row.extend([times.mean(), times.quantile(990), times.max()].map(Cell::ms));
        row.extend(HolderIs::ALL.map(|is| Cell::ms(while_holder[is as usize].0)));
        table.push(row);
    }
    table.note("running to throttled: time of all waits by what the holder did that was furthest from releasing the lock");
    table
}

/// How long each policy ran at each operating point, if any frequency is governed or has changed.
pub(super) fn freq_table(reports: &[FreqReport]) -> Option<Table> {
    let shown = |report: &&FreqReport| report.governor != GovernorKind::Fixed || report.changes > 0;
    reports.iter().find(shown)?;
    let columns = columns![
        left "CPUs" "cpus", left "governor", right "kHz" "khz", right "time" "time_ns", right "%" "percent",
        right "changes",
    ];
    let mut table = Table::new("frequencies", "", columns);
    for report in reports.iter().filter(shown) {
        let all: u64 = report.time.iter().map(|row| row.1.0).sum();
        for (opp, time) in &report.time {
            // In hundredths of a percent, rounded down.
            let share = (u128::from(time.0) * 10_000).checked_div(u128::from(all)).unwrap_or(0) as u64;
            table.push(vec![
                report.cpus.to_string().into(),
                report.governor.name().into(),
                Cell::new(opp.khz.to_string(), opp.khz),
                Cell::new(format_ns(*time), time.0),
                Cell::new(fixed(share, 100, 2), share as f64 / 100.0),
                Cell::new(report.changes.to_string(), report.changes),
            ]);
        }
    }
    Some(table)
}
