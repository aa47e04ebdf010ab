//! The workloads of the recorded sets: reads a set's `workload.txt` and does what its `wl` program did.

mod groups;
mod housekeeping;
mod msg;
mod options;
mod programs;
mod script;
mod starts;
#[cfg(test)]
mod tests;
mod unroll;

use fairground_model::features::FeatWrite;
use fairground_model::{Instr, Mistakes, PipeSpec, Program, TaskSet, TaskSpec};
use fairground_stdx::{Instant, PipeId};
pub use housekeeping::{Housekeeping, housekeeping};
use msg::MSG_LEAD;
use options::Command;
pub(crate) use programs::work;
use programs::{EXEC, LEAD, Launch, PRESS_LEAD, RAMP_REST, RAMP_SLEEP};
use script::{Act, Script};
pub use starts::Starts;
pub use unroll::unrolled;

/// The workload of one recorded experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedWorkload {
    /// The tasks. Those that the record's figures are about are the measured ones; they carry the
    /// record's names, and each name belongs to one task.
    pub tasks: TaskSet,
    /// Scheduler features to set before the start, as debugfs spells them.
    pub features: Vec<FeatWrite>,
    /// The time over which the record's figures are taken: that of the first `wl`.
    pub window: (Instant, Instant),
}

/// Reads a `workload.txt`. All mistakes are found, each with its place.
pub fn parse(text: &str) -> Result<RecordedWorkload, Mistakes> {
    parse_from(text, None)
}

/// As [`parse`], with the instants at which tasks begin, where the record tells them.
pub fn parse_from(text: &str, starts: Option<&Starts>) -> Result<RecordedWorkload, Mistakes> {
    let mut mistakes = Mistakes::default();
    let script = script::read(text, &mut mistakes);
    let count: u64 = script.acts.iter().map(processes).sum();
    if count > MAX_PROCESSES {
        mistakes
            .whole(format!("{count} processes are too many"), format!("Linux itself has room for {MAX_PROCESSES} by default."));
        return Err(mistakes);
    }
    let tasks = tasks(&script, starts);
    let mut names: Vec<&str> = tasks.tasks.iter().filter(|task| task.measured).map(|task| task.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        mistakes.whole(format!("two tasks are called `{}`", twice[0]), "Figures are given by name: each task needs its own.");
    }
    let first = script.acts.iter().find_map(|act| match act {
        Act::Launch { command, .. } => Some(window(command, starts.map(|starts| starts.window))),
        Act::Wait => None,
    });
    mistakes.or(RecordedWorkload { tasks, features: script.features, window: first.unwrap_or_default() })
}

/// Linux's default limit on process ids.
const MAX_PROCESSES: u64 = 32_768;

fn processes(act: &Act) -> u64 {
    match act {
        Act::Launch { command: Command::Hog { tasks, .. }, .. } => tasks.len() as u64 + 1,
        Act::Launch { command: Command::Periodic { tasks, .. }, .. } => tasks.len() as u64 + 1,
        Act::Launch { command: Command::Press { n, .. }, .. } => u64::from(*n) + 1,
        Act::Launch { command: Command::Msg(msg), .. } => u64::from(msg.messages) * (1 + u64::from(msg.workers)) + 1,
        Act::Launch { command: Command::Ramp { .. }, .. } => 1,
        Act::Wait => 0,
    }
}

fn window(command: &Command, start: Option<Instant>) -> (Instant, Instant) {
    let (lead, length) = match command {
        Command::Hog { dur, .. } | Command::Periodic { dur, .. } => (EXEC + LEAD, *dur),
        Command::Press { period, rounds, .. } => (PRESS_LEAD, fairground_stdx::Ns(period.0.saturating_mul(*rounds))),
        Command::Msg(msg) => (EXEC + MSG_LEAD, msg.dur),
        Command::Ramp { dur, .. } => (EXEC + RAMP_SLEEP, *dur + RAMP_REST),
    };
    let start = start.unwrap_or(Instant::ZERO + lead);
    (start, Instant::from_ns(start.ns().saturating_add(length.0)))
}

/// Several `wl` at once need nobody who starts them. As soon as one begins after another has
/// ended, there is a shell that waits in between.
fn tasks(script: &Script, starts: Option<&Starts>) -> TaskSet {
    let acts = &script.acts;
    let blocks = |act: &Act| !matches!(act, Act::Launch { background: true, .. });
    let first_stop = acts.iter().position(blocks).unwrap_or(acts.len());
    let later = acts.iter().skip(first_stop + 1).any(|act| matches!(act, Act::Launch { .. }));
    let mut set = TaskSet { groups: script.made.groups.clone(), ..TaskSet::default() };
    if later {
        with_shell(&mut set, acts)
    } else {
        at_once(&mut set, acts, starts)
    }
    set
}

fn at_once(set: &mut TaskSet, acts: &[Act], starts: Option<&Starts>) {
    for act in acts {
        if let Act::Launch { command, .. } = act {
            let start = starts.map(|starts| starts.of(command));
            let (mut wl, first) = programs::build(command, Launch::AtZero(start), &set.groups);
            wl.tasks[first].first_cpu = starts.and_then(|starts| starts.cpu_of(command));
            set.append(wl);
        }
    }
}

fn with_shell(set: &mut TaskSet, acts: &[Act]) {
    let mut shell = Program::default();
    for act in acts {
        match act {
            Act::Wait => {
                shell.push(Instr::WaitChildren);
            }
            Act::Launch { command, background } => {
                let (wl, first) = programs::build(command, Launch::ByShell, &set.groups);
                let first = fairground_stdx::TaskId::new(set.append(wl) + first.get());
                shell.push(Instr::Fork { task: first });
                if !background {
                    let done: PipeId = set.pipes.push(PipeSpec::new(1));
                    let program = set.tasks[first].program;
                    set.programs[program].push(Instr::Write { pipe: done, value: None });
                    shell.push(Instr::Read { pipe: done, into: 0 });
                }
            }
        }
    }
    let program = set.programs.push(shell);
    let mm = set.tasks.iter().map(|task| task.mm + 1).max().unwrap_or(0);
    set.tasks.push(TaskSpec { measured: false, mm, ..TaskSpec::new("sh", program) });
}
