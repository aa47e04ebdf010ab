//! `management`: what runs on a machine beside the experiment, so that it is mostly idle but not completely.

use crate::param::{Param, Values};
use crate::workload::Workload;
use fairground_model::{Instr, Mistakes, Mode, Program, Start, TaskSet, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// From one run of a CPU's kernel thread to its next.
const HOUSEKEEPING_EVERY: Ns = Ns::from_ms(100);
/// How long a kernel thread runs.
const HOUSEKEEPING_RUN: Ns = Ns::from_us(50);
/// `scale` is in percent.
const WHOLE: u64 = 100;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "management",
    sentence: "Background load: tasks that run and sleep at random, and a kernel thread of each CPU that runs now and then.",
    params: &[
        Param::count("tasks", (0, 4096), "8", "The number of tasks that run and sleep at random."),
        Param::time("sleep", "20ms", "The mean of their sleeps."),
        Param::time("run", "500us", "The mean of their runs at scale 100."),
        Param::count(
            "kthreads",
            (0, CpuMask::CAPACITY as u64),
            "0",
            "CPUs, counted from 0, whose kernel thread runs 50 us each 100 ms.",
        ),
        Param::count(
            "scale",
            (1, 10_000),
            "100",
            "How much of that load, in percent: the lengths of all runs are multiplied by it.",
        ),
    ],
    table: &[],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let (tasks, kthreads) = (values.count("tasks"), values.count("kthreads"));
    if tasks + kthreads == 0 {
        values.mistake(mistakes, "tasks", "a load without tasks and kernel threads", "Give at least one of either.");
    }
    let scale = values.count("scale");
    let scaled = |time: Ns| Ns((u128::from(time.0) * u128::from(scale) / u128::from(WHOLE)) as u64);
    let run = scaled(values.time("run"));
    if tasks > 0 && run == Ns::ZERO {
        values.mistake(mistakes, "run", "runs of no length", "Give a length such as 500us.");
    }
    let mut set = TaskSet::default();
    let code = vec![
        Instr::SleepExponential { mean: values.time("sleep") },
        Instr::RunExponential { mean: run, mode: Mode::User },
        Instr::Jump { to: 0 },
    ];
    let program = set.programs.push(Program::from(code));
    for row in 0..tasks {
        set.tasks.push(TaskSpec { mm: row as u32, ..TaskSpec::new(format!("management{row}"), program) });
    }
    let code = vec![
        Instr::Run { work: scaled(HOUSEKEEPING_RUN), mode: Mode::Kernel },
        Instr::Sleep { time: HOUSEKEEPING_EVERY },
        Instr::Jump { to: 0 },
    ];
    let program = set.programs.push(Program::from(code));
    for row in 0..kthreads {
        // Spread evenly: on a real machine they were started at different times.
        let start = Start::At(Instant::ZERO + Ns(HOUSEKEEPING_EVERY.0 * row / kthreads));
        let cpu = CpuId::new(row as u32);
        let spec = TaskSpec::new(format!("kworker/{row}"), program);
        set.tasks.push(TaskSpec {
            affinity: Some(CpuMask::only(cpu)),
            first_cpu: Some(cpu),
            kthread: true,
            measured: false,
            start,
            ..spec
        });
    }
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, build, testing};
    use expect_test::expect_file;
    use fairground_model::{Program, Step};

    fn set(args: &[(&str, &str)]) -> fairground_model::TaskSet {
        let set = build("management", &Args::of(args)).unwrap();
        testing::check(&set);
        set
    }

    #[test]
    fn golden() {
        expect_file!["golden/two-and-two.txt"].assert_eq(&testing::dump(&set(&[
            ("tasks", "2"),
            ("kthreads", "2"),
            ("scale", "50"),
        ])));
    }

    /// Run time per time of a program that has a CPU for itself, in millionths.
    fn share(program: &Program) -> u64 {
        let steps = testing::steps(program, 60_000);
        let ran: u64 = steps.iter().map(|row| if let Step::Run { work, .. } = row.1 { work.0 } else { 0 }).sum();
        ran * 1_000 / (steps.last().unwrap().0 / 1_000)
    }

    #[test]
    fn the_load_is_as_large_as_it_says() {
        // 0.5 of 20.5 ms; half of it 0.25 of 20.25 ms; 50 us of 100.05 ms.
        let share_of = |scale| share(set(&[("kthreads", "1"), ("scale", scale)]).programs.iter().next().unwrap());
        assert!(share_of("100").abs_diff(24_390) < 500, "{}", share_of("100"));
        assert!(share_of("50").abs_diff(12_346) < 250, "{}", share_of("50"));
        assert_eq!(share(set(&[("kthreads", "1")]).programs.iter().last().unwrap()) / 10, 49);
    }

    #[test]
    fn nothing_is_refused() {
        assert!(build("management", &Args::of(&[("tasks", "0")])).is_err());
        assert!(build("management", &Args::of(&[("run", "1ns"), ("scale", "1")])).is_err());
    }
}
