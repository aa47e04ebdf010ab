//! The table of CPU cgroups of a run.

use crate::run::RunOutcome;
use fairground_model::{Change, Instr, TaskSet};
use fairground_report::run::share_cell;
use fairground_report::units::fixed;
use fairground_report::{Cell, Column, Table};
use fairground_scenario::shares_to_nice;
use fairground_sched::profile::Profile;
use fairground_stdx::{IndexVec, Ns, TgId};

/// Whether a task may change its group in the run.
fn has_moves(set: &TaskSet) -> bool {
    let by_step = set.programs.iter().flat_map(|program| &program.code).any(|instr| matches!(instr, Instr::SetGroup { .. }));
    by_step || set.changes.iter().any(|row| matches!(row.change, Change::Group { .. }))
}

/// One row per group: its weight at the start and the CPU time of the tasks that started in it or below. A task's time counts where
/// it started, also after it moved: a move is no trace event, so that statistics do not see it. The weight is what the group's files
/// show on such a kernel.
pub(crate) fn group_table(outcome: &RunOutcome, profile: &Profile) -> Table {
    let columns = vec![
        Column::left("group", "group"),
        Column::right("cpu.weight", "cpu_weight"),
        Column::right("nice", "cpu_weight_nice"),
        Column::right("tasks", "tasks"),
        Column::right("run ms", "run_ns"),
        Column::right("%cpu", "cpu_pct"),
        Column::right("% of all", "share_pct"),
    ];
    let mut table = Table::new("groups", "Groups, by where tasks started", columns);
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
            Cell::new(fixed(runtime.0, 1_000_000, 3), runtime.0),
            share_cell(runtime, outcome.report.length),
            share_cell(runtime, all),
        ]);
    }
    if has_moves(set) {
        table.note("tasks change groups in this run: all of a task's time counts where it started");
    }
    table
}
