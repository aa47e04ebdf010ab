//! `tasks.csv`: the tasks of a recorded experiment.

use crate::import::{ImportStats, for_each_line};

/// One row of `tasks.csv`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedTask {
    /// Process id.
    pub pid: u32,
    /// Command name.
    pub name: String,
    /// Kernel priority.
    pub prio: i32,
    /// Whether it belongs to the workload; the others are kernel threads and helpers.
    pub workload: bool,
}

/// Reads `tasks.csv`; what could not be read is noted in the stats.
pub fn read_tasks(tasks_csv: &[u8]) -> (Vec<RecordedTask>, ImportStats) {
    let mut stats = ImportStats::new(super::NAME);
    let mut tasks = Vec::new();
    for_each_line(
        tasks_csv,
        &mut stats,
        |stats| stats,
        |stats, number, text| {
            if text.trim().is_empty() || text.starts_with("pid,") {
                return;
            }
            match row(text) {
                Some(task) => tasks.push(task),
                None => stats.skip(number, "a line of tasks.csv that is not `pid,name,prio,workload` was left out"),
            }
        },
    );
    (tasks, stats)
}

/// `pid,name,prio,workload`; a name may hold commas.
fn row(text: &str) -> Option<RecordedTask> {
    let (pid, rest) = text.split_once(',')?;
    let (rest, workload) = rest.rsplit_once(',')?;
    let (name, prio) = rest.rsplit_once(',')?;
    let workload = match workload.trim() {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    Some(RecordedTask { pid: pid.parse().ok()?, name: name.to_string(), prio: prio.parse().ok()?, workload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_commas_and_bad_rows_are_noted() {
        let (tasks, stats) = read_tasks(b"pid,name,prio,workload\n7,a,b,120,1\n8,c,-1,0\nx,y\n9,d,120,2\n");
        let expected = |pid, name: &str, prio, workload| RecordedTask { pid, name: name.into(), prio, workload };
        assert_eq!(tasks, [expected(7, "a,b", 120, true), expected(8, "c", -1, false)]);
        assert_eq!(stats.skipped, 2);
    }
}
