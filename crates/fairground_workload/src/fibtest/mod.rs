//! `fibtest`: fast threads that compute, and slow ones that wake every 10 ms, each on a CPU of its own.

use crate::build::marker;
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, Mode, Program, Start, TaskSet, TaskSpec};
use fairground_stdx::{CpuId, CpuMask, Id, Ns};

/// The sleep of a slow thread (usleep).
const SLEEP: Ns = Ns::from_ms(10);
/// What a fast thread computes before it is noted.
const PIECE: Ns = Ns::from_us(100);

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fibtest",
    sentence: "Fast threads that compute, and slow ones that wake every 10 ms, each on a CPU of its own: do slices of quota expire?",
    params: &[
        Param::count("fast", (0, CpuMask::CAPACITY as u64), "1", "The number of fast threads.").short('f'),
        Param::count("threads", (1, CpuMask::CAPACITY as u64), "64", "The number of all threads, one per CPU.").short('t'),
        Param::count("seconds", (1, 100_000), "5", "How long it runs.").short('s'),
        Param::time("slow-work", "4us", "CPU time of a slow thread each time that it wakes."),
        Param::time("start-every", "20us", "What it takes to make a thread and set its affinity."),
    ],
    table: &[Column {
        title: "fast",
        unit: "ms",
        figure: Figure::Of("fast", Aggregate::Sum),
        scale: (PIECE.0, 1_000_000),
        decimals: 1,
    }],
    percentiles: &[],
    duration: Some(|values| Ns::from_secs(values.count("seconds"))),
    threads: None,
    build,
};

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let (fast, threads) = (values.count("fast"), values.count("threads"));
    if fast > threads {
        values.mistake(mistakes, "fast", "more fast threads than threads", "`threads` counts all of them.");
    }
    let mut set = TaskSet::default();
    let pieces = marker(&mut set, "fast", MarkerUnit::Count);
    let run = |work| Instr::Run { work, mode: Mode::User };
    let jump = Instr::Jump { to: 0 };
    let computes =
        set.programs.push(Program::from(vec![run(PIECE), Instr::MarkValue { marker: pieces, value: 1 }, jump.clone()]));
    let wakes = set.programs.push(Program::from(vec![run(values.time("slow-work")), Instr::Sleep { time: SLEEP }, jump]));
    let mut main = Program::default();
    for number in 0..threads {
        let (name, program) = if number < fast { ("fast", computes) } else { ("slow", wakes) };
        let affinity = Some(CpuMask::only(CpuId::from_index(number as usize)));
        let thread = set.tasks.push(TaskSpec { start: Start::Forked, affinity, ..TaskSpec::new(name, program) });
        main.push(run(values.time("start-every")));
        main.push(Instr::Fork { task: thread });
    }
    main.push(Instr::WaitChildren);
    let main = set.programs.push(main);
    set.tasks.push(TaskSpec { measured: false, ..TaskSpec::new("fibtest", main) });
    set
}

#[cfg(test)]
mod tests {
    use crate::{Args, args_of_flags, build, duration, testing};
    use expect_test::expect_file;
    use fairground_stdx::Ns;

    #[test]
    fn golden() {
        let flags: Vec<String> = ["-f", "1", "-t", "3"].map(String::from).to_vec();
        let set = build("fibtest", &args_of_flags("fibtest", &flags).unwrap()).unwrap();
        expect_file!["golden/one-fast-two-slow.txt"].assert_eq(&testing::dump(&set));
    }

    #[test]
    fn it_runs_as_long_as_it_says_and_has_no_more_fast_threads_than_threads() {
        assert_eq!(duration("fibtest", &Args::of(&[("seconds", "7")])), Some(Ns::from_secs(7)));
        assert_eq!(build("fibtest", &Args::of(&[("fast", "3"), ("threads", "2")])).unwrap_err().0.len(), 1);
    }
}
