//! A price list, and what it comes to on a CPU.

use crate::cpu::{CpuSpec, slowed};
use fairground_model::{Meter, Op};

/// The largest price: above it a sum of prices on the slowest CPU might no longer fit 64 bits.
pub const MAX_PRICE_PS: u64 = 10_000_000_000;

/// A price list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostModel {
    /// The preset that it is, or that it was made from.
    pub name: String,
    /// What it stands for, in one line.
    pub description: String,
    /// Price of each operation in picoseconds at full speed, in the order of [`Op::ALL`].
    pub prices_ps: [u64; Op::COUNT],
    /// Where each price comes from; starts with `guess` if it is one.
    pub sources: [String; Op::COUNT],
}

impl CostModel {
    /// Price of `op` in picoseconds at full speed.
    pub fn price_ps(&self, op: Op) -> u64 {
        self.prices_ps[op as usize]
    }
    /// Where the price of `op` comes from.
    pub fn source(&self, op: Op) -> &str {
        &self.sources[op as usize]
    }
    /// Whether nobody has measured the price of `op`.
    pub fn is_guess(&self, op: Op) -> bool {
        self.source(op).starts_with("guess")
    }
    /// The prices on `cpu`, in picoseconds.
    pub fn prices_for(&self, cpu: &CpuSpec) -> [u64; Op::COUNT] {
        let mut prices = self.prices_ps;
        for &op in Op::ALL.iter().filter(|op| op.is_cpu_work()) {
            prices[op as usize] = cpu.at_speed(prices[op as usize]);
        }
        prices
    }
    /// A meter that counts with the prices of `cpu`.
    pub fn meter(&self, cpu: &CpuSpec) -> Meter {
        Meter::new(self.prices_for(cpu))
    }
    /// Prices as they are beside a busy thread of the same core, which leaves `smt_percent` of the throughput.
    pub fn shared(mut prices_ps: [u64; Op::COUNT], smt_percent: u32) -> [u64; Op::COUNT] {
        for &op in Op::ALL.iter().filter(|op| op.is_cpu_work()) {
            prices_ps[op as usize] = slowed(prices_ps[op as usize], smt_percent);
        }
        prices_ps
    }
}

/// The operations of one hop of a pipe ping-pong whose two tasks share a CPU: write, wake the other,
/// go back and read, find nothing, sleep, switch. The `kvm-guest` prices are fitted to a
/// measured time of this sum.
pub const PIPE_HOP: [(Op, u64); 9] = [
    (Op::Syscall, 2),
    (Op::PipeOp, 2),
    (Op::TtwuBase, 1),
    (Op::Enqueue, 1),
    (Op::RecvBlock, 1),
    (Op::Dequeue, 1),
    (Op::PickSwitch, 1),
    (Op::MmSwitch, 1),
    (Op::LockFree, 2),
];
