//! Scheduling domains as plain lists of CPU numbers: slow, written from the rules alone, and held against the
//! ones that the core builds.
//!
//! One era is one row of `Era`; a machine is a table with a row per CPU. Nothing is shared between CPUs:
//! every CPU's chain is built from the machine anew, by going over all CPUs at every level.

mod chain;
mod compare;

pub use compare::compare;

use chain::{Domain, chain_of};
use fairground_machine::Machine;
use fairground_model::version::{KernelVersion, v};
use std::collections::BTreeSet;

/// CPUs in order of their numbers.
pub(super) type Cpus = Vec<usize>;

/// The rules that differ between kernels.
#[derive(Clone, Copy, Debug)]
struct Era {
    base: KernelVersion,
}

impl Era {
    fn since(self, major: u8, minor: u8) -> bool {
        self.base >= v(major, minor)
    }
    /// Every domain asks for spreading, from v4.19 on; before that only SMT and the node do.
    fn prefers_siblings_everywhere(self) -> bool {
        self.since(4, 20)
    }
    fn has_clusters(self) -> bool {
        self.since(5, 16)
    }
    fn marks_clusters(self) -> bool {
        self.since(6, 7)
    }
    /// An imbalance of 17 % counts instead of 25, and busy CPUs balance twice as often.
    fn balances_eagerly(self) -> bool {
        self.since(5, 10)
    }
    /// Domains that may not balance have a flag of their own.
    fn has_load_balance_flag(self) -> bool {
        !self.since(5, 7)
    }
    fn shares_smt_capacity(self) -> bool {
        !self.since(5, 0)
    }
    fn knows_full_asymmetry(self) -> bool {
        self.since(5, 15)
    }
    fn groups_count_cores(self) -> bool {
        self.since(6, 6)
    }
    fn allows_numa_imbalance(self) -> bool {
        self.since(5, 18)
    }
    /// How many CPUs of a node that is one cache may be out of balance, as a shift of its weight.
    fn one_cache_shift(self) -> u32 {
        if self.since(6, 0) { 3 } else { 2 }
    }
}

/// The flags of a domain by their names in debugfs.
pub(super) type Flags = BTreeSet<&'static str>;

/// The full capacity of each CPU as balance counts it.
fn capacities(machine: &Machine, era: Era) -> Vec<u64> {
    /// What a core of several threads is worth in all: 15 % more than one CPU.
    const SMT_GAIN: u64 = 1178;
    let threads = |core: u32| machine.cpus.iter().filter(|cpu| cpu.core == core).count() as u64;
    let capacity = |cpu: &fairground_machine::CpuSpec| match threads(cpu.core) {
        2.. if era.shares_smt_capacity() => SMT_GAIN / threads(cpu.core),
        _ => u64::from(cpu.capacity),
    };
    machine.cpus.iter().map(capacity).collect()
}
