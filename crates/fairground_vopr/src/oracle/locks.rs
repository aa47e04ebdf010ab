//! Locks: who writes is alone, who waits does so for somebody, and in the order of their rows nobody waits in a circle.

use crate::case::Case;
use fairground_model::{LockKind, LockMode, LockSpec};
use fairground_sched::TaskState;
use fairground_sim::Simulation;
use fairground_stdx::{IndexVec, LockId, Ns, TaskId};

/// For less than this, ns, a lock may be free while all who want it sleep: a wake-up is under way, or RCU.
const ON_ITS_WAY_NS: u64 = 100_000_000;

/// So long interrupts may keep one spinner after the other from his look, ns.
const INTERRUPTS_NS: u64 = 1_000_000;

/// What was seen of the locks before.
pub(super) struct Locks {
    specs: IndexVec<LockId, LockSpec>,
    /// So long a look waits for the turn of its CPU at most.
    round_of_turns: Ns,
    /// Since when each is free and wanted by sleepers only.
    idle_since: IndexVec<LockId, Option<u64>>,
    /// Since when each is free, and somebody spins for it on his CPU.
    spun_since: IndexVec<LockId, Option<u64>>,
    /// Who waited for each before this event, oldest first, and whether somebody read.
    before: IndexVec<LockId, Before>,
}

#[derive(Clone, Default)]
struct Before {
    queue: Vec<(TaskId, LockMode)>,
    holders: Vec<(TaskId, LockMode)>,
}

impl Locks {
    pub(super) fn new(case: &Case) -> Locks {
        let specs = &case.tasks.locks;
        Locks {
            specs: specs.clone(),
            round_of_turns: case.machine.round_of_turns,
            idle_since: IndexVec::filled(None, specs.len()),
            spun_since: IndexVec::filled(None, specs.len()),
            before: IndexVec::filled(Before::default(), specs.len()),
        }
    }

    pub(super) fn check(&mut self, simulation: &Simulation, at: u64) -> Result<(), String> {
        for lock in self.specs.ids() {
            self.check_holders(simulation, lock).map_err(|what| format!("at {at}: lock {lock}: {what}"))?;
            self.check_order(simulation, lock).map_err(|what| format!("at {at}: lock {lock}: {what}"))?;
            self.check_spinners(simulation, lock, at)?;
            if self.is_left_alone(simulation, lock) {
                let since = *self.idle_since[lock].get_or_insert(at);
                if at - since > ON_ITS_WAY_NS {
                    return Err(format!("at {at}: lock {lock} is free since {since}, and all who want it sleep"));
                }
            } else {
                self.idle_since[lock] = None;
            }
        }
        match simulation.deadlocks().first() {
            Some(deadlock) => Err(format!("at {at}: locks are taken in one order, but {deadlock:?}")),
            None => Ok(()),
        }
    }

    /// Whoever spins on his CPU looks at a free lock within a round, once his CPU has its turn. Interrupts may come before that, to one after
    /// the other.
    fn check_spinners(&mut self, simulation: &Simulation, lock: LockId, at: u64) -> Result<(), String> {
        let LockKind::Spin(spec) = self.specs[lock].kind else { return Ok(()) };
        let free = simulation.lock_holders(lock).next().is_none();
        if !free || !simulation.lock_waiters(lock).any(|waiter| simulation.spins_now(waiter.0)) {
            self.spun_since[lock] = None;
            return Ok(());
        }
        let since = *self.spun_since[lock].get_or_insert(at);
        match at - since > spec.round.0 + self.round_of_turns.0 + INTERRUPTS_NS {
            true => Err(format!("at {at}: lock {lock} is free since {since}, somebody spins for it and does not look")),
            false => Ok(()),
        }
    }

    fn check_holders(&self, simulation: &Simulation, lock: LockId) -> Result<(), String> {
        let holders: Vec<_> = simulation.lock_holders(lock).collect();
        let writes = holders.iter().any(|holder| holder.1 == LockMode::Write);
        if writes && holders.len() > 1 {
            return Err(format!("a writer is not alone: {holders:?}"));
        }
        let twice = (0..holders.len()).any(|row| holders[..row].iter().any(|other| other.0 == holders[row].0));
        if twice { Err(format!("held twice by one task: {holders:?}")) } else { Ok(()) }
    }

    /// Strictly first come, first served: of an rwsem nobody gets in who has not waited while somebody waits, and of those who
    /// wait no writer before the first in line.
    fn check_order(&mut self, simulation: &Simulation, lock: LockId) -> Result<(), String> {
        let spec = &self.specs[lock];
        let before = &mut self.before[lock];
        let holders: Vec<_> = simulation.lock_holders(lock).collect();
        if matches!(spec.kind, LockKind::Rwsem) && !spec.steal && !spec.spin {
            let new = |holder: &&(TaskId, LockMode)| !before.holders.contains(holder);
            for &(task, mode) in holders.iter().filter(new) {
                let place = before.queue.iter().position(|waiter| waiter.0 == task);
                let still_there =
                    before.queue.iter().filter(|waiter| simulation.lock_waiters(lock).any(|now| now == **waiter)).count();
                let overtakes = match (place, mode) {
                    (None, _) => still_there > 0 && still_there == before.queue.len(),
                    (Some(place), LockMode::Write) => {
                        place > 0 && simulation.lock_waiters(lock).any(|now| now == before.queue[0])
                    }
                    (Some(_), LockMode::Read) => false,
                };
                if overtakes {
                    return Err(format!("{task:?} gets in to {mode:?} before {:?}", before.queue));
                }
            }
        }
        before.holders.clear();
        before.holders.extend(holders);
        before.queue.clear();
        before.queue.extend(simulation.lock_waiters(lock));
        Ok(())
    }

    /// Whether nobody has a lock, and all who want it sleep.
    fn is_left_alone(&self, simulation: &Simulation, lock: LockId) -> bool {
        // Who sleeps between two tries for a spin lock is woken by his timer alone.
        if matches!(self.specs[lock].kind, LockKind::Spin(_)) || simulation.lock_holders(lock).next().is_some() {
            return false;
        }
        let sched = simulation.sched();
        let mut wanting =
            sched.task_ids().filter(|&task| simulation.lock_wait_of(task).is_some_and(|wait| wait.0 == lock)).peekable();
        let asleep = |task| matches!(sched.task(task).state, TaskState::Asleep | TaskState::Delayed | TaskState::OffCpuPending);
        wanting.peek().is_some() && wanting.all(asleep)
    }
}
