//! What a task does with the messages of a pipe. No record: it is not in the digest.

use fairground_stdx::{Instant, PipeId, TaskId};

/// What a reader does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageAct {
    /// It asks for a message: it is done with the one before.
    Asks,
    /// It has one.
    Has {
        /// The number of the message in its pipe, in the order in which they were written.
        number: u64,
        /// When it was written.
        written: Instant,
        /// Whether the reader slept until there was one.
        slept: bool,
    },
}

/// A task and a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageEvent {
    /// The pipe.
    pub pipe: PipeId,
    /// The task that reads.
    pub task: TaskId,
    /// What it does.
    pub act: MessageAct,
}
