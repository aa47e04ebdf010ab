//! What the tasks of a comparison do.

use fairground_model::Policy;

/// One act of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Runs for so many ns.
    Run(u64),
    /// Sleeps for so many ns.
    Sleep(u64),
    /// Gives the CPU away.
    Yield,
    /// Sets its own nice value.
    Nice(i8),
    /// Asks for a slice of its own, ns, or for that of all.
    Slice(Option<u64>),
    /// Starts another task, whose `start` is none.
    Fork(usize),
}

/// A task: it acts, then goes round for ever, or ends if there is nothing to go round in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Habit {
    /// Its nice value at first.
    pub nice: i8,
    /// Its policy.
    pub policy: Policy,
    /// Its own slice at first, ns, if it has one.
    pub slice: Option<u64>,
    /// The one CPU that it may use at first.
    pub cpu: usize,
    /// When somebody outside starts it; none if another task does.
    pub start: Option<u64>,
    /// What it does once.
    pub once: Vec<Act>,
    /// What it does again and again.
    pub rounds: Vec<Act>,
}

impl Habit {
    /// A task of nice 0 on the first CPU that runs for ever from the beginning.
    pub fn hog() -> Habit {
        Habit {
            nice: 0,
            policy: Policy::Normal,
            slice: None,
            cpu: 0,
            start: Some(0),
            once: Vec::new(),
            rounds: vec![Act::Run(u64::MAX)],
        }
    }

    /// The act with that number.
    pub(super) fn act(&self, number: usize) -> Option<Act> {
        let round = || number.checked_sub(self.once.len())?.checked_rem(self.rounds.len()).map(|row| self.rounds[row]);
        self.once.get(number).copied().or_else(round)
    }
}

/// What happens to a task from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Its nice value changes.
    Nice(i8),
    /// It gets a slice of its own, ns, or that of all.
    Slice(Option<u64>),
    /// It must go to another CPU.
    Move(usize),
}

/// A change from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// When.
    pub at: u64,
    /// To whom.
    pub task: usize,
    /// What.
    pub what: What,
}
