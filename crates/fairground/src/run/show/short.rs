//! Tables that are cut to their worst rows.

use fairground_report::Table;

/// So many rows of tasks, CPUs and groups are shown.
const ROWS: usize = 15;
/// The tables that grow with the machine and the workload: the columns by which rows are the worst, and what a row is.
const LONG: [(&str, &[&str], &str); 4] = [
    ("tasks", &["wakeup_latency_max_ns", "wakeup_latency_p99_ns", "wait_max_ns"], "tasks"),
    ("groups", &["run_ns"], "groups"),
    ("quota", &["throttled_ns", "used_ns"], "groups"),
    ("cpus", &["busy_ns", "kernel_ns"], "CPUs"),
];
/// What begins the names of metrics that each task has.
const TASK_METRICS: &str = "tasks.";

/// The tables of a run as people read them: of many tasks, groups and CPUs those with the largest figures, largest first. The last
/// line of a table says how many more there are.
pub fn shortened(tables: Vec<Table>) -> Vec<Table> {
    let many_tasks = tables.iter().any(|table| table.name == "tasks" && table.rows().len() > ROWS);
    let short = |mut table: Table| {
        if let Some((_, by, what)) = LONG.iter().find(|row| row.0 == table.name) {
            let left_out = table.keep_largest(ROWS, by);
            if left_out > 0 {
                table.note(format!("{left_out} more {what}: --full"));
            }
        }
        if many_tasks && table.name == "metrics" {
            let left_out = table.keep(|row| !row[0].text.starts_with(TASK_METRICS));
            if left_out > 0 {
                table.note(format!("{left_out} more metrics, those of single tasks: --full"));
            }
        }
        table
    };
    tables.into_iter().map(short).collect()
}
