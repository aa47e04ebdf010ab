//! `periodic`: tasks that compute for a while, then sleep until their next period.

use crate::build::marker;
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, Mode, Program, TaskSet, TaskSpec};
use fairground_stdx::Ns;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "periodic",
    sentence: "Tasks that compute for a while in each period and sleep for the rest of it.",
    params: &[
        Param::time("run", "3ms", "Work per period, as time on the fastest CPU."),
        Param::time("period", "10ms", "From one wake-up to the next."),
        Param::time("jitter", "0ms", "The work of each period is drawn evenly from run - jitter to run + jitter."),
        Param::nices("nice", "0", "Nice values; the tasks take them in turn."),
        Param::cpus("cpus", "", "The CPUs that the tasks may use; all where none is given."),
        Param::count("tasks", (1, 32_768), "1", "The number of tasks."),
    ],
    table: &[
        Column { title: "jobs", unit: "", figure: Figure::Of("jobs", Aggregate::Sum), scale: (1, 1), decimals: 0 },
        Column::us("latency mean", "latency", Aggregate::Mean),
        Column::us("latency p99", "latency", Aggregate::PerMille(990)),
        Column::us("latency max", "latency", Aggregate::Max),
        Column::us("response max", "response", Aggregate::Max),
    ],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let (run, period, jitter) = (values.time("run"), values.time("period"), values.time("jitter"));
    if period == Ns::ZERO {
        values.mistake(mistakes, "period", "a period of 0 never lets time pass", "Give a length such as 10ms.");
    }
    if jitter > run {
        values.mistake(mistakes, "jitter", "the jitter is larger than the work", "Work cannot be negative: jitter <= run.");
    }
    let program = program(&mut set, run, jitter, period);
    let program = set.programs.push(program);
    let nices = values.nices("nice");
    for index in 0..values.count("tasks") as usize {
        let mut task = TaskSpec::new(format!("periodic{index:02}"), program);
        task.nice = nices[index % nices.len()];
        task.affinity = values.cpus("cpus");
        task.mm = index as u32;
        set.tasks.push(task);
    }
    set
}

/// Register 0 holds the instant at which the present job was due. A late task catches up.
fn program(set: &mut TaskSet, run: Ns, jitter: Ns, period: Ns) -> Program {
    let latency = marker(set, "latency", MarkerUnit::Ns);
    let response = marker(set, "response", MarkerUnit::Ns);
    let jobs = marker(set, "jobs", MarkerUnit::Count);
    let due = 0;
    let work = if jitter == Ns::ZERO {
        Instr::Run { work: run, mode: Mode::User }
    } else {
        Instr::RunBetween { low: run.saturating_sub(jitter), high: Ns(run.0.saturating_add(jitter.0)), mode: Mode::User }
    };
    Program::from(vec![
        Instr::Now { reg: due },
        Instr::MarkSince { marker: latency, reg: due },
        work,
        Instr::MarkSince { marker: response, reg: due },
        Instr::MarkValue { marker: jobs, value: 1 },
        Instr::Add { reg: due, time: period },
        Instr::SleepUntil { reg: due },
        Instr::Jump { to: 1 },
    ])
}

#[cfg(test)]
mod tests {
    use crate::{Args, build, testing};
    use expect_test::expect_file;
    use fairground_model::Step;

    #[test]
    fn golden() {
        let set = build("periodic", &Args::of(&[("tasks", "2"), ("jitter", "1ms"), ("nice", "0,-5"), ("cpus", "0-1")])).unwrap();
        expect_file!["golden/two-tasks.txt"].assert_eq(&testing::dump(&set));
    }

    #[test]
    fn wakes_on_its_own_grid() {
        let set = build("periodic", &Args::of(&[("run", "3ms"), ("period", "10ms")])).unwrap();
        let program = set.programs.iter().next().unwrap();
        let runs: Vec<u64> =
            testing::steps(program, 30).iter().filter(|row| matches!(row.1, Step::Run { .. })).map(|row| row.0).collect();
        assert_eq!(runs[..4], [0, 10_000_000, 20_000_000, 30_000_000]);
    }

    #[test]
    fn times_that_cannot_be() {
        let mistakes = build("periodic", &Args::of(&[("period", "0ms"), ("jitter", "5ms"), ("run", "3")])).unwrap_err();
        assert_eq!(mistakes.0.len(), 1, "values are read first: {mistakes}");
        let mistakes = build("periodic", &Args::of(&[("period", "0ms"), ("jitter", "5ms")])).unwrap_err();
        assert_eq!(mistakes.0.len(), 2);
    }
}
