//! The locks of run queues: who comes to one that is held spins, and gets it in the order of arrival.
//!
//! ```text
//! CPU 0   |= change =|  the lock of X is held for as long as the core's call costs, from the change on
//! CPU 1   |~ spins ~~~~~~~~|= change =|
//! CPU 2   |~ spins ~~~~~~~~~~~~~~~~~~~~~~~~~~|= change =|
//!                    |-----|          |------|   a handover each: lock_handoff
//! ```
//!
//! A phase makes its change at its beginning and pays afterwards. Under the lock is what the core's call for that change
//! costs, but for the price of getting the lock; what the phase costs besides (an idle state that is left, say) is not.
//! A CPU has one lock at a time, and who has one waits for nothing: nobody can wait for ever.
//!
//! Where handovers are free there are no locks, nor where CPUs take turns.

use crate::cpu::{Doing, Then};
use crate::kernel::Next;
use crate::queue::Slot;
use crate::simulation::Simulation;
use fairground_machine::Machine;
use fairground_model::{Op, Recorder, Section};
use fairground_sched::{Ctx, Sched, rq_lock_op};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns};

/// The lock of a run queue.
#[derive(Clone, Debug)]
struct RqLock {
    /// Who has it or had it last, and until when.
    holder: CpuId,
    free_at: Instant,
    /// Who spins, in the order of arrival. When the first gets it is settled as soon as the holder's time is.
    first: Option<CpuId>,
    last: Option<CpuId>,
    /// Who was handed it, and has not begun with what it wanted it for.
    granted: Option<CpuId>,
}

/// A CPU that spins, or spun last.
#[derive(Clone, Debug)]
struct Spin {
    /// For this lock.
    rq: CpuId,
    /// What follows.
    then: Then,
    /// Who comes after it.
    next: Option<CpuId>,
    spins: bool,
}

/// All run-queue locks of a machine; none where handovers are free.
#[derive(Clone, Debug, Default)]
pub(crate) struct Locks {
    rows: IndexVec<CpuId, RqLock>,
    spins: IndexVec<CpuId, Spin>,
    package: IndexVec<CpuId, u32>,
    handoff: Ns,
    handoff_xsocket: Ns,
}

impl Locks {
    pub(crate) fn new(machine: &Machine) -> Locks {
        let price = |op| Ns(machine.costs.price_ps(op) / 1000);
        let (handoff, handoff_xsocket) = (price(Op::LockHandoff), price(Op::LockHandoffSocket));
        if machine.round_of_turns > Ns::ZERO || handoff.max(handoff_xsocket) == Ns::ZERO {
            return Locks::default();
        }
        let free = |holder| RqLock { holder, free_at: Instant::ZERO, first: None, last: None, granted: None };
        let idle = |rq| Spin { rq, then: Then::Resume, next: None, spins: false };
        Locks {
            rows: machine.cpus.ids().map(free).collect(),
            spins: machine.cpus.ids().map(idle).collect(),
            package: machine.cpus.iter().map(|cpu| cpu.package).collect(),
            handoff,
            handoff_xsocket,
        }
    }

    /// Whether there are locks at all.
    #[inline]
    pub(crate) fn exist(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Whether `cpu` was just handed the lock of `rq`.
    pub(crate) fn is_granted(&self, cpu: CpuId, rq: CpuId) -> bool {
        self.rows.get(rq).is_some_and(|lock| lock.granted == Some(cpu))
    }

    /// Whether `cpu` spins.
    pub(crate) fn spins(&self, cpu: CpuId) -> bool {
        self.spins.get(cpu).is_some_and(|spin| spin.spins)
    }

    /// Whether `cpu` need not spin for the lock of `rq`.
    #[inline]
    pub(crate) fn is_free_for(&self, cpu: CpuId, rq: CpuId, now: Instant) -> bool {
        !self.exist() || self.is_free(rq, now) || self.is_granted(cpu, rq)
    }

    #[inline]
    fn is_free(&self, rq: CpuId, now: Instant) -> bool {
        let lock = &self.rows[rq];
        lock.free_at <= now && lock.first.is_none()
    }

    /// What a handover from one CPU to another is called.
    fn handoff_op(&self, from: CpuId, to: CpuId) -> Op {
        if self.package[from] == self.package[to] { Op::LockHandoff } else { Op::LockHandoffSocket }
    }

    /// When the first of those who spin gets the lock of `rq`.
    fn handed_at(&self, rq: CpuId, to: CpuId) -> Instant {
        let lock = &self.rows[rq];
        lock.free_at
            + match self.handoff_op(lock.holder, to) {
                Op::LockHandoffSocket => self.handoff_xsocket,
                _ => self.handoff,
            }
    }

    /// `cpu` begins to spin for the lock of `rq`. Returns when it gets it, if that is settled.
    fn queue(&mut self, cpu: CpuId, rq: CpuId, then: Then) -> Option<Instant> {
        self.spins[cpu] = Spin { rq, then, next: None, spins: true };
        match self.rows[rq].last.replace(cpu) {
            Some(before) => {
                self.spins[before].next = Some(cpu);
                None
            }
            None => {
                self.rows[rq].first = Some(cpu);
                Some(self.handed_at(rq, cpu))
            }
        }
    }

    /// The first of those who spin has got its lock. Returns what that was, and which kind of handover.
    fn grant(&mut self, cpu: CpuId, now: Instant) -> (CpuId, Op) {
        let spin = &mut self.spins[cpu];
        spin.spins = false;
        let (rq, next) = (spin.rq, spin.next);
        let lock = &mut self.rows[rq];
        assert!(lock.first == Some(cpu), "invariant: locks are handed over in the order of arrival");
        lock.first = next;
        if next.is_none() {
            lock.last = None;
        }
        let from = std::mem::replace(&mut lock.holder, cpu);
        (lock.free_at, lock.granted) = (now, Some(cpu));
        (rq, self.handoff_op(from, cpu))
    }

    /// `cpu` has the lock of `rq` for so long, longer if it has it already. Returns who gets it next, and when, if somebody
    /// spins.
    #[inline(always)]
    fn hold(&mut self, cpu: CpuId, rq: CpuId, now: Instant, time: Ns) -> Option<(CpuId, Instant)> {
        let lock = &mut self.rows[rq];
        let from = if lock.holder == cpu { lock.free_at.max(now) } else { now };
        (lock.holder, lock.free_at, lock.granted) = (cpu, from + time, None);
        let next = lock.first?;
        Some((next, self.handed_at(rq, next)))
    }
}

impl Simulation {
    /// `cpu` needs the lock of `rq` for its next phase. Returns what it does instead where somebody has it: it pays what
    /// was counted so far as `section`, or spins with interrupts off; in both cases `then` follows.
    #[inline]
    pub(crate) fn lock(&mut self, cpu: CpuId, rq: CpuId, section: Section, then: Then) -> Option<Next> {
        if self.locks.is_free_for(cpu, rq, self.now) {
            return None;
        }
        Some(self.spin(cpu, rq, section, then))
    }

    #[cold]
    fn spin(&mut self, cpu: CpuId, rq: CpuId, section: Section, then: Then) -> Next {
        if self.cpus[cpu].meter.so_far_ns() > 0 {
            return self.pay(cpu, section, then);
        }
        let gets_it = self.locks.queue(cpu, rq, then);
        let row = &mut self.cpus[cpu];
        (row.doing, row.then, row.spins_since) = (Doing::Kernel, Then::Locked, self.now);
        match gets_it {
            Some(at) => self.queue.busy(cpu, at),
            None => {
                self.queue.set(cpu, Slot::Segment, None);
                self.queue.hold_irqs(cpu, Instant::MAX);
            }
        }
        Next::Left
    }

    /// Calls the core for a change of `rq`, whose lock `cpu` has for as long as the call costs.
    #[inline]
    pub(crate) fn core_locked<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        rq: CpuId,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        if !self.locks.exist() {
            return self.core(rec, cpu, call);
        }
        // Where CPUs take turns there are no locks.
        self.call_core_locked(rec, cpu, rq, rq_lock_op(&self.view, cpu, rq), call)
    }

    /// The same by the turns of the CPU as they are set, where getting that lock is counted as `getting`.
    #[inline(always)]
    pub(crate) fn call_core_locked<R>(
        &mut self,
        rec: &mut Recorder<'_>,
        cpu: CpuId,
        rq: CpuId,
        getting: Op,
        call: impl FnOnce(&mut Sched, &mut Ctx<'_, '_>) -> R,
    ) -> R {
        if !self.locks.exist() {
            return self.call_core(rec, cpu, call);
        }
        let cost = |sim: &Self| {
            let meter = &sim.cpus[cpu].meter;
            (meter.so_far_ps(), meter.counted(getting))
        };
        let before = cost(self);
        let result = self.call_core(rec, cpu, call);
        let after = cost(self);
        let got = if after.1 != before.1 { self.cpus[cpu].meter.price_ps(getting) } else { 0 };
        self.hold_lock(cpu, rq, Ns((after.0 - before.0).saturating_sub(got) / 1000));
        result
    }

    #[inline(always)]
    pub(crate) fn hold_lock(&mut self, cpu: CpuId, rq: CpuId, time: Ns) {
        if let Some((next, at)) = self.locks.hold(cpu, rq, self.now, time) {
            self.queue.busy(next, at);
        }
    }

    /// The lock for which `cpu` spun is its own: it goes on with what it wanted it for. Its wait is booked, but not shown
    /// as a section: when it began nobody knew how long it would be.
    #[inline(never)]
    pub(crate) fn locked(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) -> Next {
        let (rq, handover) = self.locks.grant(cpu, self.now);
        let spin = &self.locks.spins[cpu];
        let row = &mut self.cpus[cpu];
        row.then = spin.then;
        let took = self.now.since(row.spins_since);
        row.book(Section::LockWait, row.spins_since, took);
        row.meter.settle(handover, 1, took);
        let next = self.phase_apart(rec, cpu);
        // Meanwhile there may be nothing left to be done under it.
        if self.locks.is_granted(cpu, rq) {
            self.hold_lock(cpu, rq, Ns::ZERO);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Ns = Ns(350);

    fn locks(name: &str) -> Locks {
        let mut machine = Machine::preset(name).unwrap();
        machine.costs = fairground_machine::CostModel::preset("xeon-spr").unwrap();
        Locks::new(&machine)
    }

    /// Three CPUs ask at 0 and hold for 350 ns: the third waits 2 · 350 + 2 · 140 ns and for the line, 110 ns.
    ///
    /// Model: 09 T07
    #[test]
    fn the_third_cpu_at_a_lock_waits_for_two_holds_two_handovers_and_the_line() {
        let [a, b, c, rq] = [0, 1, 2, 3].map(CpuId::new);
        let (mut locks, start) = (locks("smp-4"), Instant::ZERO);
        let remote = Machine::preset("llc112").unwrap().costs.price_ps(Op::LockRemote) / 1000;
        assert!(locks.is_free(rq, start));
        assert_eq!(locks.hold(a, rq, start, HOLD), None);
        assert!(!locks.is_free(rq, start));
        assert_eq!(locks.queue(b, rq, Then::Resume), Some(start + HOLD + Ns(140)));
        assert_eq!(locks.queue(c, rq, Then::Resume), None);

        let second = start + Ns(490);
        assert_eq!(locks.grant(b, second), (rq, Op::LockHandoff));
        assert!(locks.is_granted(b, rq) && !locks.is_free(rq, second));
        let third = locks.hold(b, rq, second, HOLD);
        assert_eq!(third, Some((c, start + Ns(2 * 350 + 2 * 140))));
        assert_eq!(2 * 350 + 2 * 140 + remote, 1_090);

        assert_eq!(locks.grant(c, start + Ns(980)), (rq, Op::LockHandoff));
        assert_eq!(locks.hold(c, rq, start + Ns(980), HOLD), None);
        assert!(!locks.is_free(rq, start + Ns(1_329)) && locks.is_free(rq, start + Ns(1_330)));
    }

    #[test]
    fn a_handover_to_another_socket_takes_longer() {
        let [a, b] = [0, 56].map(CpuId::new);
        let mut locks = locks("spr-2x56");
        assert_eq!(locks.hold(a, a, Instant::ZERO, HOLD), None);
        assert_eq!(locks.queue(b, a, Then::Resume), Some(Instant::ZERO + HOLD + Ns(350)));
        assert_eq!(locks.grant(b, Instant::ZERO + Ns(700)), (a, Op::LockHandoffSocket));
    }

    #[test]
    fn where_handovers_are_free_or_cpus_take_turns_there_are_no_locks() {
        let mut machine = Machine::preset("smp-4").unwrap();
        assert!(Locks::new(&machine).exist());
        machine.round_of_turns = Ns::from_us(100);
        assert!(!Locks::new(&machine).exist());
        machine.round_of_turns = Ns::ZERO;
        for (name, exist) in [("zero", false), ("icount", false), ("xeon-bdw", true)] {
            machine.costs = fairground_machine::CostModel::preset(name).unwrap();
            assert_eq!(Locks::new(&machine).exist(), exist, "{name}");
        }
    }
}
