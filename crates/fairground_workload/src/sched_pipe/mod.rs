//! `sched_pipe`: perf bench sched pipe, two tasks that pass a message to and fro.

use crate::build::marker;
use crate::param::{Param, Values};
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, PipeSpec, Program, Start, TaskSet, TaskSpec};
use fairground_stdx::PipeId;

/// What a worker has in the cache: the page of the pipe; a guess.
const WORKING_SET_KIB: u32 = 4;

/// Four-byte messages that fit into a pipe: 16 pages of 4096 bytes, filled up by small writes.
const PIPE_MESSAGES: u32 = 16 * 4096 / 4;

/// perf's own number of round trips.
const LOOPS: &str = "1000000";

pub(crate) const WORKLOAD: Workload = Workload {
    name: "sched_pipe",
    sentence: "perf bench sched pipe: two tasks wake each other through two pipes.",
    params: &[
        Param::count("loop", (1, 1_000_000_000_000), LOOPS, "The number of round trips.").short('l'),
        Param::switch("threaded", "Two threads of one process instead of two processes.").short('T'),
    ],
    table: &[
        Column {
            title: "Total time",
            unit: "sec",
            figure: Figure::Of("total", Aggregate::Sum),
            scale: (1, 1_000_000_000),
            decimals: 3,
        },
        Column { title: "usecs/op", unit: "", figure: Figure::Ratio("total", "ops"), scale: (1, 1000), decimals: 6 },
        Column { title: "ops/sec", unit: "", figure: Figure::Ratio("ops", "total"), scale: (1_000_000_000, 1), decimals: 0 },
    ],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

fn build(values: &Values, _mistakes: &mut Mistakes) -> TaskSet {
    let mut set = TaskSet::default();
    let loops = values.count("loop");
    let there = set.pipes.push(PipeSpec::new(PIPE_MESSAGES));
    let back = set.pipes.push(PipeSpec::new(PIPE_MESSAGES));
    let reads_first = Program::from(round_trips(Instr::Read { pipe: there, into: 1 }, write(back), 0, loops));
    let writes_first = |at| round_trips(write(there), Instr::Read { pipe: back, into: 1 }, at, loops);
    if values.switch("threaded") {
        let worker0 = set.programs.push(reads_first);
        let worker1 = set.programs.push(Program::from(writes_first(0)));
        let worker = |name: &str, program| TaskSpec {
            start: Start::Forked,
            working_set_kib: WORKING_SET_KIB,
            ..TaskSpec::new(name, program)
        };
        let workers = [set.tasks.push(worker("sched-pipe/0", worker0)), set.tasks.push(worker("sched-pipe/1", worker1))];
        let mut main = Program::from(vec![Instr::Now { reg: 0 }]);
        main.code.extend(workers.map(|task| Instr::Fork { task }));
        finish(&mut set, main, loops, false);
    } else {
        let child = set.programs.push(reads_first);
        let child =
            TaskSpec { start: Start::Forked, working_set_kib: WORKING_SET_KIB, mm: 1, ..TaskSpec::new("sched-pipe/0", child) };
        let child = set.tasks.push(child);
        let mut parent = Program::from(vec![Instr::Now { reg: 0 }, Instr::Fork { task: child }]);
        let here = parent.here();
        parent.code.extend(writes_first(here));
        finish(&mut set, parent, loops, true);
    }
    set
}

fn write(pipe: PipeId) -> Instr {
    Instr::Write { pipe, value: None }
}

fn round_trips(first: Instr, second: Instr, at: u32, loops: u64) -> Vec<Instr> {
    vec![first, second, Instr::Repeat { counter: 0, times: loops, to: at }]
}

/// The task that was there from the start waits for the workers and reports, as perf does.
fn finish(set: &mut TaskSet, mut main: Program, loops: u64, works: bool) {
    let total = marker(set, "total", MarkerUnit::Ns);
    let ops = marker(set, "ops", MarkerUnit::Count);
    main.push(Instr::WaitChildren);
    main.push(Instr::MarkSince { marker: total, reg: 0 });
    main.push(Instr::MarkValue { marker: ops, value: loops });
    let program = set.programs.push(main);
    let name = if works { "sched-pipe/1" } else { "sched-pipe" };
    let working_set_kib = if works { WORKING_SET_KIB } else { 0 };
    set.tasks.push(TaskSpec { working_set_kib, ..TaskSpec::new(name, program) });
}

#[cfg(test)]
mod tests {
    use crate::{args_of_flags, build, testing};
    use expect_test::expect_file;

    fn set(flags: &[&str]) -> fairground_model::TaskSet {
        let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
        let set = build("sched_pipe", &args_of_flags("sched_pipe", &flags).unwrap()).unwrap();
        testing::check(&set);
        set
    }

    #[test]
    fn golden_processes_and_threads() {
        expect_file!["golden/processes.txt"].assert_eq(&testing::dump(&set(&["-l", "1000"])));
        expect_file!["golden/threads.txt"].assert_eq(&testing::dump(&set(&["-T", "--loop=1000"])));
    }

    #[test]
    fn flags_are_those_of_perf() {
        assert_eq!(set(&["-l1000"]), set(&["--loop", "1000"]));
        assert_eq!(set(&[]), set(&["-l", "1000000"]));
        assert_ne!(set(&["--threaded"]), set(&[]));
    }
}
