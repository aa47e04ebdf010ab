//! `hog`: tasks that compute for ever.

use crate::build::endless;
use crate::param::{Param, Values};
use crate::workload::Workload;
use fairground_model::{Mistakes, TaskSet, TaskSpec};
use fairground_stdx::{CpuId, CpuMask};

/// What a hog has in the cache; a guess.
const WORKING_SET_KIB: u32 = 64;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "hog",
    sentence: "Tasks that compute for ever.",
    params: &[
        Param::count("tasks", (1, 32_768), "1", "The number of tasks."),
        Param::nices("nice", "0", "Nice values; the tasks take them in turn."),
        Param::cpus("cpus", "", "The CPUs that the tasks may use; all where none is given."),
        Param::switch("pin", "Binds each task to one CPU of --cpus, in turn."),
    ],
    table: &[],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let program = set.programs.push(endless());
    let cpus = values.cpus("cpus");
    let pinned: Vec<CpuId> = match cpus {
        Some(cpus) if values.switch("pin") => cpus.iter().collect(),
        None if values.switch("pin") => {
            values.mistake(mistakes, "pin", "`pin` has no CPUs to pin to", "Name them: --cpus 0-3 --pin.");
            Vec::new()
        }
        _ => Vec::new(),
    };
    let nices = values.nices("nice");
    for index in 0..values.count("tasks") as usize {
        let mut task = TaskSpec::new(format!("hog{index:02}"), program);
        task.nice = nices[index % nices.len()];
        task.affinity = if pinned.is_empty() { cpus } else { Some(CpuMask::only(pinned[index % pinned.len()])) };
        task.mm = index as u32;
        task.working_set_kib = WORKING_SET_KIB;
        set.tasks.push(task);
    }
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, build, testing};
    use expect_test::expect_file;

    #[test]
    fn golden() {
        let set = build("hog", &Args::of(&[("tasks", "2"), ("cpus", "0-1")])).unwrap();
        expect_file!["golden/two-tasks.txt"].assert_eq(&testing::dump(&set));
    }

    #[test]
    fn nice_values_and_cpus_go_round() {
        let set = build("hog", &Args::of(&[("tasks", "3"), ("nice", "0,5"), ("cpus", "1,3"), ("pin", "true")])).unwrap();
        let rows: Vec<String> =
            set.tasks.iter().map(|task| format!("{} {} {}", task.name, task.nice, task.affinity.unwrap())).collect();
        assert_eq!(rows, ["hog00 0 1", "hog01 5 3", "hog02 0 1"]);
    }

    #[test]
    fn pinning_needs_cpus() {
        assert!(build("hog", &Args::of(&[("pin", "true")])).unwrap_err().to_string().contains("--cpus"));
    }
}
