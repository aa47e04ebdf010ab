//! Who waits for whom: chains of waiters and holders, and cycles, which are deadlocks.

use super::object::Klock;
use fairground_model::LockMode;
use fairground_stdx::{IndexVec, Instant, LockId, TaskId};

/// Longest chain that is followed.
pub(super) const MAX_DEPTH: usize = 8;

/// Tasks that wait for one another for ever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deadlock {
    /// When the last of them began to wait.
    pub at: Instant,
    /// Each task with the lock that it waits for, which the next one holds or stands before it for; the first holds the last one's.
    pub waits: Vec<(TaskId, LockId)>,
}

/// The wait graph.
pub(super) struct Graph<'a> {
    pub(super) locks: &'a IndexVec<LockId, Klock>,
    /// The lock that each task waits for, and how.
    pub(super) waits: &'a IndexVec<TaskId, Option<(LockId, LockMode)>>,
}

impl Graph<'_> {
    /// Follows the chains that begin with `first`. Returns the length of the longest, and the first cycle that comes back to it.
    pub(super) fn follow(&self, first: TaskId) -> (u32, Option<Vec<(TaskId, LockId)>>) {
        let mut path = Vec::with_capacity(MAX_DEPTH);
        let mut cycle = None;
        let longest = self.walk(first, first, &mut path, &mut cycle);
        (longest, cycle)
    }

    fn walk(
        &self,
        task: TaskId,
        first: TaskId,
        path: &mut Vec<(TaskId, LockId)>,
        cycle: &mut Option<Vec<(TaskId, LockId)>>,
    ) -> u32 {
        let Some((lock, mode)) = self.waits[task] else { return 0 };
        // Who was let in and has not gone on yet waits for nothing but its CPU.
        if self.locks[lock].is_held_by(task) || path.len() == MAX_DEPTH || path.iter().any(|step| step.0 == task) {
            return 0;
        }
        path.push((task, lock));
        let mut longest = 0;
        for other in self.ahead(task, lock, mode) {
            if other == first && cycle.is_none() {
                *cycle = Some(path.clone());
            }
            longest = longest.max(self.walk(other, first, path, cycle));
        }
        path.pop();
        longest + 1
    }

    /// Whom a task waits for: all holders; a reader also for a writer at the head of the queue, who closes the lock.
    pub(super) fn ahead(&self, task: TaskId, lock: LockId, mode: LockMode) -> impl Iterator<Item = TaskId> + '_ {
        let lock = &self.locks[lock];
        let first = lock.queue.front().filter(|first| mode == LockMode::Read && first.mode == LockMode::Write);
        let closing = lock.closing.map(|closing| closing.task).filter(|&closing| closing != task);
        lock.holders.iter().map(|holder| holder.task).chain(first.map(|first| first.task)).chain(closing)
    }
}
