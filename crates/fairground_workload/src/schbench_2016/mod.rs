//! `schbench-2016`: the scheduler benchmark of 2016 and 2017, whose workers spin by the clock and are woken in batches.

mod message;
mod shared;
mod worker;

use crate::build::marker;
use crate::param::{Param, Values};
use crate::post_wait::post;
use crate::table::{Percentile, Percentiles};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, Program, Start, TaskSet, TaskSpec, Value, Word};
use fairground_stdx::{Ns, TaskId};
use shared::{Flags, Shared, fixed};

/// What a thread has in the cache; a guess.
const WORKING_SET_KIB: u32 = 2;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "schbench-2016",
    sentence: "schbench of 2016 and 2017: workers spin by the clock, then message threads wake them in batches; how late do they run?",
    params: &[
        Param::count("message-threads", (1, 1024), "2", "The number of message threads.").short('m'),
        Param::count("threads", (1, 4096), "16", "Workers per message thread.").short('t'),
        Param::count("runtime", (1, 1_000_000), "30", "How long it runs, in seconds.").short('r'),
        Param::count(
            "sleeptime",
            (0, 1_000_000_000),
            "30000",
            "How long a message thread sleeps before it answers, in us; up to a quarter more.",
        )
        .short('s'),
        Param::count("cputime", (0, 1_000_000_000), "30000", "How long a worker spins, in us of the clock on the wall.")
            .short('c'),
        Param::count(
            "pipe",
            (0, 1 << 20),
            "0",
            "Bytes that threads write before each message; sleeptime and cputime are 0 then unless given.",
        )
        .short('p'),
        Param::count("rps", (0, 1_000_000_000), "0", "Requests per second, handed to the workers on a timer; 0 = off.")
            .short('R'),
    ],
    table: &[],
    percentiles: &[Percentiles {
        title: "Latency percentiles (usec)",
        unit: "usec",
        marker: "schbench_latency_us",
        rows: &[
            Percentile::new(50_000, "50.0000th"),
            Percentile::new(75_000, "75.0000th"),
            Percentile::new(90_000, "90.0000th"),
            Percentile::new(95_000, "95.0000th"),
            Percentile::starred(99_000, "99.0000th"),
            Percentile::new(99_500, "99.5000th"),
            Percentile::new(99_900, "99.9000th"),
        ],
        counts: false,
    }],
    duration: Some(duration),
    threads: None,
    build,
};

fn duration(values: &Values) -> Ns {
    let flags = Flags::read(values);
    // At its end each thread finishes what it is at; a second for being late.
    Ns::from_secs(values.count("runtime") + 1) + Ns::from_us(flags.spin_us + flags.sleep_us + flags.sleep_us / 4)
}

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let flags = Flags::read(values);
    if (1..4).contains(&flags.sleep_us) && flags.rps == 0 && flags.fill == Ns::ZERO {
        let hint = "It takes the remainder by a quarter of it, and a quarter of 3 is 0. Give 0, or 4 and more.";
        values.mistake(mistakes, "sleeptime", "the real program ends with a division by zero", hint);
        return TaskSet::default();
    }
    if flags.rps > 0 && flags.workers < 2 {
        let hint = "It wakes two thirds of its workers at a time, and of 1 these are 0. Give -t 2 and more.";
        values.mistake(mistakes, "threads", "with -R the real program ends with a division by zero", hint);
        return TaskSet::default();
    }
    let mut set = TaskSet::default();
    let latency = marker(&mut set, "schbench_latency_us", MarkerUnit::WholeUs);
    let stopping = set.words.push(0);
    let mut main = Program::default();
    let mut messages: Vec<Word> = Vec::new();
    for index in 0..values.count("message-threads") {
        let shared = Shared::new(&mut set, &flags, stopping, latency);
        messages.push(fixed(shared.futex, 0));
        let task = thread_group(&mut set, &flags, &shared, index);
        main.push(Instr::Fork { task });
    }
    main.push(Instr::Sleep { time: Ns::from_secs(values.count("runtime")) });
    main.push(Instr::Store { word: stopping.into(), value: Value::Const(1) });
    messages.into_iter().for_each(|futex| post(&mut main, futex, 0));
    main.push(Instr::WaitChildren);
    let program = set.programs.push(main);
    set.tasks.push(TaskSpec { measured: false, ..TaskSpec::new("schbench", program) });
    set
}

/// A message thread, which forks its workers. Returns the thread.
fn thread_group(set: &mut TaskSet, flags: &Flags, shared: &Shared, index: u64) -> TaskId {
    let mut children = Vec::new();
    for row in 1..=flags.workers {
        let program = set.programs.push(worker::program(flags, shared, row));
        let spec = TaskSpec::new(format!("worker{index}.{}", row - 1), program);
        children.push(set.tasks.push(TaskSpec { start: Start::Forked, working_set_kib: WORKING_SET_KIB, ..spec }));
    }
    let program = set.programs.push(message::program(flags, shared, &children));
    let spec = TaskSpec::new(format!("message{index}"), program);
    set.tasks.push(TaskSpec { start: Start::Forked, working_set_kib: WORKING_SET_KIB, ..spec })
}

#[cfg(test)]
mod tests;
