//! `press`: many processes that are all woken at once, again and again.

use crate::build::marker;
use crate::param::{Param, Values};
use crate::recorded::work;
use crate::table::{Aggregate, Column, Figure};
use crate::workload::Workload;
use fairground_model::{Instr, MarkerUnit, Mistakes, Mode, PipeSpec, Program, Start, TaskSet, TaskSpec};
use fairground_stdx::{CpuMask, Instant, MarkerId, Ns, PipeId};

/// Eight-byte time stamps that fit into a pipe of 16 pages.
const PIPE_MESSAGES: u32 = 16 * 4096 / 8;

/// From the end of the forking to the first round.
const LEAD: Ns = Ns::from_ms(100);

pub(crate) const WORKLOAD: Workload = Workload {
    name: "press",
    sentence: "Many processes, all woken at once in each round by one parent; how long waits the last one?",
    params: &[
        Param::cpus("cpus", "0-11", "The CPUs to which all processes are bound."),
        Param::count("processes", (1, 4096), "36", "The number of processes."),
        Param::time("every", "1s", "From one round to the next."),
        Param::time("work", "120ms", "CPU time of one process in a round."),
        Param::count("rounds", (0, 1_000_000_000), "0", "The number of rounds; 0 = until the run ends."),
        Param::switch("futex", "Processes wait on futexes and not on pipes: their wake-ups are not synchronous."),
    ],
    table: &[
        Column {
            title: "first run max",
            unit: "ms",
            figure: Figure::Of("first_run", Aggregate::Max),
            scale: (1, 1_000_000),
            decimals: 3,
        },
        Column {
            title: "first run mean",
            unit: "ms",
            figure: Figure::Of("first_run", Aggregate::Mean),
            scale: (1, 1_000_000),
            decimals: 3,
        },
        Column {
            title: "response max",
            unit: "ms",
            figure: Figure::Of("response", Aggregate::Max),
            scale: (1, 1_000_000),
            decimals: 3,
        },
        Column { title: "jobs", unit: "", figure: Figure::Of("jobs", Aggregate::Sum), scale: (1, 1), decimals: 0 },
    ],
    percentiles: &[],
    duration: None,
    threads: None,
    build,
};

fn build(values: &Values, mistakes: &mut Mistakes) -> TaskSet {
    let every = values.time("every");
    if every == Ns::ZERO {
        values.mistake(mistakes, "every", "rounds that follow one another at once never end", "Give a length such as 1s.");
    }
    press(&Press {
        processes: values.count("processes") as u32,
        affinity: values.cpus("cpus"),
        every,
        futex: values.switch("futex"),
        work: values.time("work"),
        by_clock: false,
        rounds: Some(values.count("rounds")).filter(|&rounds| rounds > 0),
        first_round: None,
    })
}

/// What a press consists of; also the recorded sets' `wl press`.
pub(crate) struct Press {
    pub(crate) processes: u32,
    pub(crate) affinity: Option<CpuMask>,
    pub(crate) every: Ns,
    /// Whether processes are woken by futexes and not by pipes.
    pub(crate) futex: bool,
    pub(crate) work: Ns,
    /// Whether a process ends its work by its own CPU clock, as the program of the recordings does; else it is on the CPU for that long.
    pub(crate) by_clock: bool,
    /// `None` = without end.
    pub(crate) rounds: Option<u64>,
    /// When the first round is; `None` = [`LEAD`] after the last fork.
    pub(crate) first_round: Option<Instant>,
}

/// The parent is the last task of the set and the only one that is there from the start.
pub(crate) fn press(press: &Press) -> TaskSet {
    let mut set = TaskSet::default();
    let markers = [("first_run", MarkerUnit::Ns), ("response", MarkerUnit::Ns), ("jobs", MarkerUnit::Count)];
    let markers = markers.map(|(name, unit)| marker(&mut set, name, unit));
    let mut parent = Program::default();
    if let Some(cpus) = press.affinity {
        parent.push(Instr::SetAffinity { cpus: Box::new(cpus) });
    }
    for index in 0..press.processes {
        let pipe = set.pipes.push(PipeSpec { sync: !press.futex, ..PipeSpec::new(PIPE_MESSAGES) });
        let program = set.programs.push(child(pipe, press, markers));
        let spec = TaskSpec::new(format!("press{index:02}"), program);
        let task = set.tasks.push(TaskSpec { start: Start::Forked, affinity: press.affinity, mm: index + 1, ..spec });
        parent.push(Instr::Fork { task });
    }
    let pipes: Vec<PipeId> = set.pipes.ids().collect();
    rounds(&mut parent, press, &pipes);
    let program = set.programs.push(parent);
    set.tasks.push(TaskSpec { measured: false, ..TaskSpec::new("press-main", program) });
    set
}

/// Register 0 holds the time of the present round, register 1 the stamp that goes to every process.
fn rounds(parent: &mut Program, press: &Press, pipes: &[PipeId]) {
    let (round, stamp) = (0, 1);
    match press.first_round {
        Some(at) => {
            parent.push(Instr::Set { reg: round, at });
        }
        None => {
            parent.push(Instr::Now { reg: round });
            parent.push(Instr::Add { reg: round, time: LEAD });
        }
    }
    let top = parent.push(Instr::SleepUntil { reg: round });
    let wake_all = |parent: &mut Program| {
        parent.push(Instr::Now { reg: stamp });
        pipes.iter().for_each(|&pipe| {
            parent.push(Instr::Write { pipe, value: Some(stamp) });
        });
    };
    wake_all(parent);
    parent.push(Instr::Add { reg: round, time: press.every });
    match press.rounds {
        None => {
            parent.push(Instr::Jump { to: top });
        }
        Some(times) => {
            parent.push(Instr::Repeat { counter: 0, times, to: top });
            // Closing a pipe wakes its reader; a last message does the same here.
            parent.push(Instr::SleepUntil { reg: round });
            wake_all(parent);
            parent.push(Instr::WaitChildren);
        }
    }
}

fn child(pipe: PipeId, press: &Press, [first_run, response, jobs]: [MarkerId; 3]) -> Program {
    let stamp = 0;
    let mut program = Program::default();
    program.push(Instr::Read { pipe, into: stamp });
    program.push(Instr::MarkSince { marker: first_run, reg: stamp });
    match press.by_clock {
        true => work(&mut program, press.work),
        false => {
            program.push(Instr::RunTime { time: press.work, mode: Mode::User });
        }
    }
    program.push(Instr::MarkSince { marker: response, reg: stamp });
    program.push(Instr::MarkValue { marker: jobs, value: 1 });
    match press.rounds {
        None => {
            program.push(Instr::Jump { to: 0 });
        }
        Some(times) => {
            program.push(Instr::Repeat { counter: 0, times, to: 0 });
            program.push(Instr::Read { pipe, into: stamp });
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use crate::{Args, build, testing};
    use expect_test::expect_file;
    use fairground_model::Step;

    #[test]
    fn golden() {
        let args = [("processes", "2"), ("cpus", "0-1"), ("rounds", "3")];
        let set = build("press", &Args::of(&args)).unwrap();
        testing::check(&set);
        expect_file!["golden/two-processes.txt"].assert_eq(&testing::dump(&set));
    }

    #[test]
    fn rounds_start_every_second() {
        let set = build("press", &Args::of(&[("processes", "1")])).unwrap();
        let parent = set.programs.iter().last().unwrap();
        let writes: Vec<u64> =
            testing::steps(parent, 12).iter().filter(|row| matches!(row.1, Step::Write { .. })).map(|row| row.0).collect();
        assert_eq!(writes[..3], [100_000_000, 1_100_000_000, 2_100_000_000]);
    }
}
