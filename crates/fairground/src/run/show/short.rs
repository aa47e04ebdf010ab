//! What is left out of the named numbers where tasks are many.

use fairground_report::{Table, table::ROWS};

/// What begins the names of metrics that each task has.
const TASK_METRICS: &str = "tasks.";

/// The tables of a run as people read them: of many tasks the metrics of single ones are left out.
pub fn shortened(mut tables: Vec<Table>) -> Vec<Table> {
    let many_tasks = tables.iter().any(|table| table.name == "tasks" && table.rows().len() > ROWS);
    for table in tables.iter_mut().filter(|table| many_tasks && table.name == "metrics") {
        let left_out = table.keep(|row| !row[0].text.starts_with(TASK_METRICS));
        if left_out > 0 {
            table.note(format!("{left_out} more metrics, those of single tasks: --full"));
        }
    }
    tables
}
