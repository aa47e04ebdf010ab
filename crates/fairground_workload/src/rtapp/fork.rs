//! `fork`: a thread starts a thread of another object. Here each thread that is forked is a task of its own from the beginning.

use super::event::{Event, ForkUse};
use super::task::Thread;
use fairground_model::{Instr, Mistakes, Start, TaskSet};
use fairground_stdx::TaskId;
use std::collections::VecDeque;

/// Most threads that forks may make.
const MAX_FORKED: u32 = 10_000;

/// How many threads there are of each object.
pub(super) struct Births {
    /// Those that start by themselves and those that are forked.
    pub(super) users: Vec<u32>,
}

fn uses(thread: &Thread) -> impl Iterator<Item = &ForkUse> {
    thread.phases.iter().flat_map(|phase| &phase.events).filter_map(|event| match event {
        Event::Fork(fork) => Some(fork),
        _ => None,
    })
}

/// Whether a thread forks others.
pub(super) fn forks(thread: &Thread) -> bool {
    uses(thread).next().is_some()
}

/// Whether another one of `threads` forks a thread of this object.
pub(super) fn is_forked(thread: &Thread, threads: &[Thread]) -> bool {
    threads.iter().flat_map(uses).any(|fork| fork.thread == thread.name)
}

/// Counts the threads of each object. A fork that is repeated is refused: each thread is a task that is born once.
pub(super) fn births(threads: &[Thread], mistakes: &mut Mistakes) -> Births {
    let mut users: Vec<u32> = threads.iter().map(|thread| thread.instances).collect();
    let before = mistakes.0.len();
    for thread in threads {
        let repeated = thread.repeat != Some(1) && forks(thread);
        let phases = thread.phases.iter().filter(|phase| repeated || phase.repeat != Some(1));
        for event in phases.flat_map(|phase| &phase.events) {
            if let Event::Fork(fork) = event {
                let hint = "Give the thread and its phase `\"loop\" : 1`, and write one `fork` for each thread.";
                let message = "a `fork` that is repeated is not modelled yet (needs threads that are made more than once)";
                mistakes.at(fork.span.clone(), message, hint);
            }
        }
        for fork in uses(thread).filter(|fork| !threads.iter().any(|other| other.name == fork.thread)) {
            let hint = "Name a thread object of `tasks`; with `\"instance\" : 0` it starts only so.";
            mistakes.at(fork.span.clone(), format!("there is no thread `{}` to fork", fork.thread), hint);
        }
    }
    if mistakes.0.len() > before {
        return Births { users };
    }
    let mut born: VecDeque<(usize, u32)> = users.iter().copied().enumerate().filter(|row| row.1 > 0).collect();
    let mut forked = 0u32;
    while let Some((row, count)) = born.pop_front() {
        for fork in uses(&threads[row]) {
            forked = forked.saturating_add(count);
            if forked > MAX_FORKED {
                let hint = "A thread that forks itself, or one that forks it, would do so for ever.";
                mistakes.at(fork.span.clone(), format!("forks make more than {MAX_FORKED} threads"), hint);
                return Births { users };
            }
            for (child, _) in threads.iter().enumerate().filter(|other| other.1.name == fork.thread) {
                users[child] += count;
                born.push_back((child, count));
            }
        }
    }
    Births { users }
}

/// The tasks of each thread object.
#[derive(Default)]
pub(super) struct Forks {
    all: Vec<(usize, TaskId)>,
    unborn: Vec<(usize, TaskId)>,
}

impl Forks {
    /// A task of a thread object.
    pub(super) fn add(&mut self, thread: usize, start: Start, task: TaskId) {
        self.all.push((thread, task));
        if start == Start::Forked {
            self.unborn.push((thread, task));
        }
    }

    /// Gives each `fork` the next task of its object.
    pub(super) fn join(self, threads: &[Thread], set: &mut TaskSet) {
        let mut unborn = self.unborn.into_iter().collect::<VecDeque<_>>();
        for (row, task) in self.all {
            let mut names = uses(&threads[row]).map(|fork| &fork.thread);
            let program = set.tasks[task].program;
            for instr in &mut set.programs[program].code {
                let Instr::Fork { task: child } = instr else { continue };
                let name = names.next();
                let place = unborn.iter().position(|row| Some(&threads[row.0].name) == name);
                if let Some((_, next)) = place.and_then(|place| unborn.remove(place)) {
                    *child = next;
                }
            }
        }
    }
}
