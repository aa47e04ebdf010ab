//! Threads of one core: each is slower while another one is busy.
//!
//! ```text
//! CPU 0   |== computes, alone ==|-- computes, at smt_percent of the speed --|== alone ==
//! CPU 1   idle                  | interrupt, task ...                       | idle
//! ```
//!
//! What a task computes is timed anew when a sibling wakes up or goes idle. A phase of the kernel costs what it does at its
//! beginning. A CPU is busy from the interrupt that ends its idle time on, the way out of its idle state included.

use crate::cpu::Doing;
use crate::simulation::Simulation;
use fairground_machine::CostModel;
use fairground_model::Prices;
use fairground_stdx::{CpuId, Ns};

/// The whole throughput.
const PERCENT: u32 = 100;

impl Simulation {
    /// The prices of `cpu` follow its speed.
    pub(crate) fn set_prices(&mut self, cpu: CpuId) {
        let alone = self.machine.costs.prices_for(&self.machine.cpus[cpu]);
        self.cpus[cpu].meter.set_prices(alone, CostModel::shared(alone, self.machine.smt_percent));
    }

    /// How long work takes on `cpu` as long as its siblings do what they do.
    pub(crate) fn work_lasts(&self, cpu: CpuId, work: Ns) -> Ns {
        self.machine.work_lasts(cpu, work, self.cpus[cpu].busy_siblings > 0)
    }

    /// How much work `cpu` did in the last `time`, in which its siblings did what they do.
    pub(crate) fn work_done(&self, cpu: CpuId, time: Ns) -> Ns {
        self.machine.work_done(cpu, time, self.cpus[cpu].busy_siblings > 0)
    }

    /// `cpu` ends its idle time.
    #[inline]
    pub(crate) fn core_is_entered(&mut self, cpu: CpuId) {
        if self.machine.smt_percent != PERCENT {
            self.disturb_siblings(cpu, |busy| busy + 1);
        }
    }

    /// `cpu` goes idle.
    #[inline]
    pub(crate) fn core_is_left(&mut self, cpu: CpuId) {
        if self.machine.smt_percent != PERCENT {
            self.disturb_siblings(cpu, |busy| busy - 1);
        }
    }

    fn disturb_siblings(&mut self, cpu: CpuId, change: impl Fn(u32) -> u32) {
        let mut siblings = self.view.cpus[cpu].smt;
        siblings.remove(cpu);
        for sibling in siblings.iter() {
            let before = self.cpus[sibling].busy_siblings;
            let busy = change(before);
            if (before > 0) == (busy > 0) {
                self.cpus[sibling].busy_siblings = busy;
                continue;
            }
            self.change_speed(sibling, |sim| {
                let row = &mut sim.cpus[sibling];
                row.busy_siblings = busy;
                row.meter.use_prices(if busy > 0 { Prices::Shared } else { Prices::Alone });
            });
        }
    }

    /// The speed of `cpu` changes: what its task has done so far goes by the old one, the rest by the new.
    pub(crate) fn change_speed(&mut self, cpu: CpuId, change: impl FnOnce(&mut Self)) {
        let computing = self.sched.rq(cpu).curr.filter(|_| self.cpus[cpu].doing == Doing::Compute);
        // Later than now while the CPU serves a tick, which takes its time whatever happens; the time of
        // the tick is already taken off the stretch. A task that has interrupts off holds them back itself.
        let holds = computing.is_some_and(|task| self.has_irqs_off(task));
        let from = if holds { self.now } else { self.queue.irqs_held_until(cpu).max(self.now) };
        if computing.is_some() {
            self.pause(cpu, from);
        }
        change(self);
        if let Some(task) = computing {
            self.compute(cpu, task, from);
        }
    }
}
