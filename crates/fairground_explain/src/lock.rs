//! What keeps a lock from a task that waits for it: the chain of waiters and holders, followed to its end.

use super::cause::Cause;
use super::parts::{Keeps, Who};
use fairground_sched::TaskState;
use fairground_sim::Simulation;
use fairground_stdx::TaskId;

/// So many locks are followed from one holder to the next.
const CHAIN_AT_MOST: u32 = 8;

/// Why `task` does not get its lock, and who keeps it; `None` if it waits for no lock, or nobody is before it any more.
pub(super) fn keeps_from(simulation: &Simulation, task: TaskId) -> Option<(Cause, Who)> {
    end_of_chain(simulation, task, CHAIN_AT_MOST)
}

/// Of several holders, such as readers, the one counts that will take longest: throttled, asleep, waiting, running.
fn end_of_chain(simulation: &Simulation, task: TaskId, left: u32) -> Option<(Cause, Who)> {
    let (_, before) = simulation.waits_for_lock(task)?;
    let states = before.into_iter().map(|holder| {
        let further = if left > 1 && waits(simulation, holder) { end_of_chain(simulation, holder, left - 1) } else { None };
        further.unwrap_or_else(|| of_holder(simulation, holder))
    });
    states.max_by_key(|(cause, _)| match cause {
        Cause::LockHolderThrottled => 3,
        Cause::LockHolderAsleep => 2,
        Cause::LockHolderPreempted => 1,
        _ => 0,
    })
}

/// Whether a holder waits for another lock itself, asleep or on its CPU.
fn waits(simulation: &Simulation, holder: TaskId) -> bool {
    let state = simulation.sched().task(holder).state;
    matches!(state, TaskState::Asleep | TaskState::Delayed | TaskState::OffCpuPending | TaskState::Running)
        && simulation.waits_for_lock(holder).is_some_and(|row| !row.1.is_empty())
}

fn of_holder(simulation: &Simulation, holder: TaskId) -> (Cause, Who) {
    let sched = simulation.sched();
    let row = sched.task(holder);
    let quota = || Keeps::Quota(sched.throttled_group(holder).or(row.group));
    if sched.waits_for_quota(holder) {
        return (Cause::LockHolderThrottled, Who::Holder(holder, quota()));
    }
    match row.state {
        TaskState::Running => (Cause::LockHeld, Who::Holder(holder, Keeps::Nothing)),
        TaskState::Queued | TaskState::Waking | TaskState::Migrating | TaskState::New => {
            let instead = sched.rq(row.cpu).curr.filter(|&instead| instead != holder);
            let keeps = instead.map_or(Keeps::Nothing, |instead| Keeps::Task(instead, simulation.gave_way(holder)));
            (Cause::LockHolderPreempted, Who::Holder(holder, keeps))
        }
        TaskState::Limbo => (Cause::LockHolderThrottled, Who::Holder(holder, quota())),
        TaskState::Asleep | TaskState::Delayed | TaskState::OffCpuPending | TaskState::Dead => {
            (Cause::LockHolderAsleep, Who::Holder(holder, Keeps::Nothing))
        }
    }
}
