//! All published experiments: a row each.

use crate::experiment::Experiment;
use crate::over::Over;
use crate::{align_vruntime, clock_pelt, incidents, regressions, runnable_propagation, sis_util, task_throttle};
use fairground_report::{ListRow, Table, list};
use fairground_scenario::Error;
use fairground_stdx::nearest;

/// All experiments that can be reproduced.
pub static EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "clock-pelt",
        sentence: "Scale invariance of load tracking (2018): times to a utilisation and to the top frequency; perf bench pipe, hackbench.",
        takes_hours: false,
        run: clock_pelt::run,
        over: Over::Nothing("its kernel is v4.20, and the oldest tree that builds is of 5.10"),
    },
    Experiment {
        name: "align-vruntime",
        sentence: "Vruntime aligned to the last entity (RFC of 2018): the longest waits of hogs on one CPU and of a press on 12.",
        takes_hours: false,
        run: align_vruntime::run,
        over: Over::Nothing(
            "its kernels are v4.20 and that with a patch that was never merged, and the oldest tree that builds is of 5.10",
        ),
    },
    Experiment {
        name: "runnable-propagation",
        sentence: "Runnable load of groups (2017): schbench in the root group, in a cgroup, and in a cgroup with the patch.",
        takes_hours: false,
        run: runnable_propagation::run,
        over: Over::Nothing("its kernel is v4.12, and the oldest tree that builds is of 5.10"),
    },
    Experiment {
        name: "sis-util",
        sentence: "SIS_UTIL (2022): searches for an idle CPU that cost more than they gain; netperf, tbench, hackbench, schbench.",
        takes_hours: true,
        run: sis_util::run,
        over: Over::Sides(&sis_util::OVER),
    },
    Experiment {
        name: "task-throttle",
        sentence: "Task-based throttling (2025): how long a timer hands out quota to 384 CPUs with 20,000 hogs in 2,202 groups.",
        takes_hours: false,
        run: task_throttle::run,
        over: Over::Sides(&task_throttle::OVER),
    },
    Experiment {
        name: "incidents",
        sentence: "Published incidents of CPU limits (2016 to 2025): slices that expire, bursts, an ingress, a collector, requests at 800m.",
        takes_hours: false,
        run: incidents::run,
        over: Over::Nothing(
            "its kernels are v4.12 to v6.12, most of them older than 5.10; `run` takes a tree for a file of scenarios/incidents",
        ),
    },
    Experiment {
        name: "rt-share",
        sentence: "RT_RUNTIME_SHARE off (5.10, 2020): an audio thread that needs a whole CPU stops for 50 ms of each second.",
        takes_hours: false,
        run: |options, control| regressions::run(&regressions::RT_SHARE, options, control),
        over: Over::Nothing("its first kernel is older than 5.10, of which the oldest tree is that builds"),
    },
    Experiment {
        name: "postgres-preempt",
        sentence: "Lazy preemption (7.0, 2026): PostgreSQL at half its rate on 96 CPUs, whose spin lock is preempted at exits of faults.",
        takes_hours: false,
        run: |options, control| regressions::run(&regressions::POSTGRES_PREEMPT, options, control),
        over: Over::Nothing("a tree has no user-space locks of the model"),
    },
    Experiment {
        name: "eevdf-databases",
        sentence: "EEVDF (6.6, 2023): MySQL under HammerDB loses 5 to 8 % on 16 CPUs, and what NO_PLACE_LAG and NO_RUN_TO_PARITY do.",
        takes_hours: false,
        run: |options, control| regressions::run(&regressions::EEVDF_DATABASES, options, control),
        over: Over::Nothing("its first kernel is v6.6, and no tree of that builds"),
    },
    Experiment {
        name: "pipe-delay-dequeue",
        sentence: "DELAY_DEQUEUE (6.12, 2024): stress-ng --pipe on a Raspberry Pi 5 loses a third to a half, a switch per message.",
        takes_hours: false,
        run: |options, control| regressions::run(&regressions::PIPE_DELAY_DEQUEUE, options, control),
        over: Over::Nothing("its first kernel is v6.6, and no tree of that builds"),
    },
    Experiment {
        name: "schbench-newidle",
        sentence: "Newidle balance without a floor (5.16, 2021): schbench loses requests to balances that nearly all fail; NI_RANDOM.",
        takes_hours: false,
        run: |options, control| regressions::run(&regressions::SCHBENCH_NEWIDLE, options, control),
        over: Over::Nothing("its first kernels are v6.6 and v6.14, and no trees of those build"),
    },
];

/// All of them as a table, with what each shows.
pub fn experiment_table() -> Table {
    let row = |row: &Experiment| ListRow { name: row.name.into(), sentence: row.sentence.into() };
    list::list_table("experiments", &EXPERIMENTS.iter().map(row).collect::<Vec<_>>())
}

/// The experiments that `name` stands for: one, or `all`.
pub fn find(name: &str) -> Result<Vec<&'static Experiment>, Error> {
    let found: Vec<&'static Experiment> = EXPERIMENTS.iter().filter(|row| name == "all" || row.name == name).collect();
    if found.is_empty() {
        let names = EXPERIMENTS.iter().map(|row| row.name).chain(["all"]);
        return Err(Error::one(
            "reproduce",
            format!("there is no experiment `{name}`"),
            nearest::hint(name, "Experiments", names),
        ));
    }
    Ok(found)
}
