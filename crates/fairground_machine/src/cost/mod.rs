//! What kernel paths cost: a price in picoseconds per counted operation, each with its source.
//!
//! A price is that of an otherwise idle CPU at full speed. CPU work slows down with the CPU's
//! capacity and frequency; what waits for memory, the wire or the sleeping CPU does not.

mod read;
mod scale;

pub(crate) use read::read_item;

use crate::machine::{CpuSpec, slowed};
use crate::suggest;
use crate::suggest::clip;
use fairground_model::{Meter, Mistakes, Op};

/// The largest price: above it a sum of prices on the slowest CPU might no longer fit 64 bits.
pub const MAX_PRICE_PS: u64 = 10_000_000_000;

/// The price list of a new machine.
const DEFAULT: &str = "xeon-spr";

/// The price lists that come with us, as files of the form that users write.
const PRESETS: [(&str, &str); 10] = [
    ("zero", include_str!("../prices/zero.toml")),
    ("icount", include_str!("../prices/icount.toml")),
    ("unit", include_str!("../prices/unit.toml")),
    ("xeon-spr", include_str!("../prices/xeon-spr.toml")),
    ("sis-util-box", include_str!("../prices/sis-util-box.toml")),
    ("task-throttle-box", include_str!("../prices/task-throttle-box.toml")),
    ("xeon-bdw", include_str!("../prices/xeon-bdw.toml")),
    ("a53", include_str!("../prices/a53.toml")),
    ("epyc", include_str!("../prices/epyc.toml")),
    ("kvm-guest", include_str!("../prices/kvm-guest.toml")),
];

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
    /// The price list `name`.
    pub fn preset(name: &str) -> Result<CostModel, Mistakes> {
        match PRESETS.iter().find(|(preset, _)| *preset == name) {
            Some((_, text)) => read::parse(text),
            None => {
                let names: Vec<&str> = CostModel::names().collect();
                Err(Mistakes::one(format!("unknown price list `{}`", clip(name)), suggest::hint(name, &names)))
            }
        }
    }
    /// The names of all price lists.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }
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

impl Default for CostModel {
    /// The prices of a current server, `xeon-spr`.
    fn default() -> CostModel {
        CostModel::preset(DEFAULT).expect("invariant: our own price lists are correct")
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
