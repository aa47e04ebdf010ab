//! What a task has in the cache of its core, and what it fetches again when it is switched in.
//!
//! ```text
//! refill  = min(working set, cache) · price of a KiB · missing
//! missing = 1 - 2^(-other / cache)   on the core where it was, other = KiB that other tasks have touched there since
//!           1                        on another one
//! ```
//!
//! Until it is refilled the task computes nothing of its own: it runs, interrupts are on, and it can be preempted.

use crate::simulation::Simulation;
use fairground_machine::Machine;
use fairground_model::{Op, Section};
use fairground_stdx::{CpuId, IndexVec, Ns, TaskId};

/// One, where shares are in units of 2^-16.
const ONE: u64 = 1 << 16;
/// 2^16 · 2^(-i / 64), rounded to the nearest.
const POWERS: [u32; 65] = [
    65536, 64830, 64132, 63441, 62757, 62081, 61413, 60751, 60097, 59449, 58809, 58176, 57549, 56929, 56316, 55709, 55109, 54515,
    53928, 53347, 52773, 52204, 51642, 51085, 50535, 49991, 49452, 48920, 48393, 47871, 47356, 46846, 46341, 45842, 45348, 44859,
    44376, 43898, 43425, 42958, 42495, 42037, 41584, 41136, 40693, 40255, 39821, 39392, 38968, 38548, 38133, 37722, 37316, 36914,
    36516, 36123, 35734, 35349, 34968, 34591, 34219, 33850, 33486, 33125, 32768,
];

/// The share of a working set that is gone when others have touched so many KiB, in units of 2^-16: between two rows of
/// the table it goes straight.
fn missing(other_kib: u64, cache_kib: u32) -> u64 {
    let exponent = (other_kib << 16) / u64::from(cache_kib.max(1));
    let (halvings, row, rest) = (exponent >> 16, (exponent >> 10 & 63) as usize, exponent & 1023);
    let (here, next) = (u64::from(POWERS[row]), u64::from(POWERS[row + 1]));
    let kept = here - (((here - next) * rest) >> 10);
    ONE - if halvings < 16 { kept >> halvings } else { 0 }
}

/// Where a task was when it left its CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    cpu: CpuId,
    /// KiB touched on its core by then.
    touched_kib: u64,
}

/// The caches of the cores; none where refills are free.
#[derive(Clone, Debug, Default)]
pub(crate) struct Caches {
    /// The first CPU of each CPU's core.
    core: IndexVec<CpuId, CpuId>,
    /// By that CPU: KiB that tasks have touched on the core so far.
    touched_kib: IndexVec<CpuId, u64>,
}

impl Caches {
    pub(crate) fn new(machine: &Machine) -> Caches {
        let refills = [Op::CacheRefill, Op::CacheRefillLlc, Op::CacheRefillSocket];
        if refills.into_iter().all(|op| machine.costs.price_ps(op) == 0) {
            return Caches::default();
        }
        let view = machine.view();
        let core = machine.cpus.ids().map(|cpu| view.cpus[cpu].smt.first().unwrap_or(cpu)).collect();
        Caches { core, touched_kib: machine.cpus.iter().map(|_| 0).collect() }
    }

    fn exist(&self) -> bool {
        !self.core.is_empty()
    }
}

/// Where what a task has in the cache of one CPU's core comes from on another CPU.
fn refill_op(machine: &Machine, from: CpuId, to: CpuId) -> Op {
    let (from, to) = (&machine.cpus[from], &machine.cpus[to]);
    match () {
        () if from.llc == to.llc => Op::CacheRefill,
        () if from.package == to.package => Op::CacheRefillLlc,
        () => Op::CacheRefillSocket,
    }
}

impl Simulation {
    /// `task` leaves `cpu`: from now on others may take its place in the cache.
    #[inline]
    pub(crate) fn leave_cache(&mut self, cpu: CpuId, task: TaskId) {
        if self.caches.exist() {
            let touched_kib = self.caches.touched_kib[self.caches.core[cpu]];
            self.tasks[task].left = Some(Left { cpu, touched_kib });
        }
    }

    /// `task` is on `cpu`: if it has just come it must fetch what is missing. A new task has nothing to fetch.
    #[inline]
    pub(crate) fn enter_cache(&mut self, cpu: CpuId, task: TaskId) {
        if self.caches.exist()
            && let Some(left) = self.tasks[task].left.take()
        {
            self.refill(cpu, task, left);
        }
    }

    fn refill(&mut self, cpu: CpuId, task: TaskId, left: Left) {
        let cache_kib = self.machine.core_cache_kib;
        let kib = u64::from(self.tasks[task].working_set_kib.min(cache_kib));
        let core = self.caches.core[cpu];
        let touched = &mut self.caches.touched_kib[core];
        let here = self.caches.core[left.cpu] == core;
        let missing = if here { missing(*touched - left.touched_kib, cache_kib) } else { ONE };
        *touched += kib;
        let op = refill_op(&self.machine, left.cpu, cpu);
        let row = &mut self.cpus[cpu];
        row.meter.settle(op, (kib * missing + ONE / 2) / ONE, Ns::ZERO);
        let refill = Ns(kib * row.meter.price_ps(op) / 1000 * missing / ONE);
        // What it had not refilled yet is missing too, wherever that was.
        let task = &mut self.tasks[task];
        task.refill = if here { task.refill + refill } else { refill };
        task.refill_op = op;
    }

    /// The current task of `cpu` has refilled the cache for so long, or to the end.
    pub(crate) fn refilled(&mut self, cpu: CpuId, task: TaskId, ran: Ns) {
        let (row, task) = (&mut self.cpus[cpu], &mut self.tasks[task]);
        let ran = ran.min(task.refill);
        task.refill -= ran;
        row.book(Section::CacheRefill, row.computes_from, ran);
        row.meter.settle(task.refill_op, 0, ran);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six square roots of 1/2 give the 64th, and its powers the table; in units of 2^-60.
    #[test]
    fn the_table_is_made_of_powers_of_the_64th_root() {
        let root = (0..6).fold(1u128 << 59, |value, _| (value << 60).isqrt());
        let mut power = 1u128 << 60;
        for entry in POWERS {
            assert_eq!((power + (1 << 43)) >> 44, u128::from(entry));
            power = (power * root) >> 60;
        }
    }

    #[test]
    fn half_of_it_is_gone_when_others_have_touched_as_much_as_the_cache_holds() {
        assert_eq!([0, 1024, 2048, 4096].map(|other| missing(other, 2048)), [0, ONE - 46_341, ONE / 2, ONE * 3 / 4]);
        assert_eq!([2048 * 16, 2048 * 5000].map(|other| missing(other, 2048)), [ONE, ONE]);
        // 1 - 2^(-4/2048) = 0.00135, which is 88.7 of 65536; straight lines are a little below.
        assert_eq!(missing(4, 2048), 88);
    }

    #[test]
    fn what_is_missing_comes_from_the_nearest_place() {
        let op = |name, from, to| refill_op(&Machine::preset(name).unwrap(), CpuId::new(from), CpuId::new(to));
        assert_eq!(
            [op("spr-2x56", 0, 112), op("spr-2x56", 0, 1), op("spr-2x56", 0, 56)],
            [Op::CacheRefill, Op::CacheRefill, Op::CacheRefillSocket]
        );
        assert_eq!([op("epyc-9654-2s", 0, 8), op("epyc-9654-2s", 0, 96)], [Op::CacheRefillLlc, Op::CacheRefillSocket]);
    }
}
