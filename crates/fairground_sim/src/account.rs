//! Where the time of all CPUs goes, as the engine books it.

use crate::cpu::{Cpu, Doing};
use crate::queue::Slot;
use crate::simulation::Simulation;
use fairground_model::{Op, OpTime, Recorder, Section, TimeSpent};
use fairground_stdx::{CpuId, Instant, Ns};

const PSEC_PER_NSEC: u128 = 1000;

impl Simulation {
    /// Books what was counted as `section`. Returns until when it lasts; `None` if it cost nothing.
    #[inline(always)]
    pub(crate) fn spend(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, section: Section) -> Option<Instant> {
        let price = self.cpus[cpu].price();
        if price == Ns::ZERO {
            return None;
        }
        let took = self.lasts(cpu, price);
        let row = &mut self.cpus[cpu];
        row.book(section, self.now, took);
        row.doing = Doing::Kernel;
        self.show_section(rec, cpu, section, took);
        Some(self.now + took)
    }

    /// Where the time of all CPUs went up to now.
    ///
    /// Idle time and kernel time are what the engine booked, operations are counts times prices. The tasks have the rest of each
    /// CPU's time, and kernel time the rest of what operations explain.
    pub fn time_spent(&self) -> TimeSpent {
        let mut spent = TimeSpent {
            all: Ns(self.now().ns() * self.cpus.len() as u64),
            tasks: Ns::ZERO,
            idle: Ns::ZERO,
            ops: [OpTime::default(); Op::COUNT],
            beyond_ps: 0,
            cut_off_ps: 0,
        };
        for (cpu, row) in self.cpus.iter_enumerated() {
            let cut_off = row.booked_until.saturating_since(self.now());
            let booked = row.kernel_time.iter().map(|row| row.1.0).sum::<u64>() + self.waits_for(cpu).0;
            // What was counted and is paid with the next phase has not passed either.
            let unpaid_ps = u128::from(row.meter.so_far_ps() + row.carry_ps);
            let counted_ps = add_operations(&mut spent.ops, row);
            let passed_ps = u128::from(booked) * PSEC_PER_NSEC + unpaid_ps;
            spent.beyond_ps +=
                passed_ps.checked_sub(counted_ps).expect("invariant: what is counted is paid, or will be with the next phase");
            spent.cut_off_ps += u128::from(cut_off.0) * PSEC_PER_NSEC + unpaid_ps;
            let idle = row.idle_time + if row.doing == Doing::Idle { self.now().since(row.idle_since) } else { Ns::ZERO };
            spent.idle += idle;
            let others = u128::from(idle.0) + u128::from(booked) - u128::from(cut_off.0);
            let tasks = u64::try_from(others).ok().and_then(|others| self.now().ns().checked_sub(others));
            spent.tasks += Ns(tasks.expect("invariant: a CPU idles or is in the kernel for no longer than the run lasts"));
        }
        spent
    }

    /// How long `cpu` has waited for another one up to now, which is booked when the wait is over.
    fn waits_for(&self, cpu: CpuId) -> Ns {
        let row = &self.cpus[cpu];
        let parked = row.doing == Doing::Kernel && self.queue.get(cpu, Slot::Segment).is_none();
        match parked || self.locks.spins(cpu) {
            true => self.now().since(row.spins_since),
            false => Ns::ZERO,
        }
    }
}

/// Adds what a CPU counted; returns the time of it.
fn add_operations(ops: &mut [OpTime; Op::COUNT], row: &Cpu) -> u128 {
    let mut all_ps = 0;
    for (&op, time) in Op::ALL.iter().zip(ops) {
        let ps = u128::from(row.meter.spent_ps(op));
        time.count += row.meter.total(op);
        time.ps += ps;
        all_ps += ps;
    }
    all_ps
}
