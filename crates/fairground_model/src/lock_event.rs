//! What a task does with a lock. No record: it is not in the digest.

use crate::lock::LockMode;
use fairground_stdx::{LockId, TaskId};

/// What a task begins with a lock, or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockAct {
    /// It must wait.
    Waits,
    /// It goes on with the lock. Who was let in while it slept, or was throttled, holds it before that.
    Holds,
    /// It has released it.
    Releases,
}

/// A task and a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockEvent {
    /// The lock.
    pub lock: LockId,
    /// The task.
    pub task: TaskId,
    /// To read, or to write.
    pub mode: LockMode,
    /// What it does.
    pub act: LockAct,
}
