//! EEVDF of a few CPUs as naive lists: slow, and written from the rules alone. The core must make the
//! same decisions at the same instants and give every task the same virtual time, to the nanosecond.
//!
//! It knows tasks that are pinned to one CPU at a time and run, sleep, yield, fork, end and change
//! their nice value; nice values and CPUs also change from outside. Ticks are exact and nothing has a
//! price. Virtual time counts from the queues' first minimum and does not wrap.

mod changes;
mod compare;
mod direct;
mod kernel;
mod machine;
mod queue;
mod random;
#[cfg(test)]
mod tests;
mod workload;

pub use compare::{Workload, compare, compare_workload};
pub use direct::{Call, Calls, compare_calls};
pub use machine::Reference;
pub use workload::{Act, Change, Habit, What};

use kernel::{KERNELS, Kernel, Switches, scaled};

/// What can be compared with the core's records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fact {
    /// A CPU changes hands.
    Switch {
        /// When.
        at: u64,
        /// Where.
        cpu: usize,
        /// Who leaves, `None` = idle.
        prev: Option<usize>,
        /// Who comes, `None` = idle.
        next: Option<usize>,
    },
    /// A task was charged.
    Ran {
        /// Who.
        task: usize,
        /// For how long.
        runtime: u64,
        /// Its virtual time afterwards.
        vruntime: i128,
    },
}

/// A kernel on a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    kernel: Kernel,
    has: Switches,
    cpus: usize,
    tick: u64,
    tick_offset: u64,
    base_slice: Option<u64>,
}

impl Setting {
    /// A kernel (`v6.6`, `v6.12`, `v6.14`, `v6.18`, or `v7.2` without HRTICK) with its own switches on a machine that ticks every
    /// `tick` ns; none for another kernel.
    pub fn new(kernel: &str, cpus: usize, tick: u64) -> Option<Setting> {
        let &(_, kernel, has) = KERNELS.iter().find(|row| row.0 == kernel)?;
        Some(Setting { kernel, has, cpus, tick, tick_offset: 0, base_slice: None })
    }

    /// The request of every task that has none of its own, in ns.
    fn slice(&self) -> u64 {
        self.base_slice.unwrap_or(scaled(self.kernel.base_slice, self.cpus as u32))
    }

    /// Turns a switch: `NAME` or `NO_NAME`.
    pub fn turn(&mut self, switch: &str) {
        self.has.turn(switch);
    }

    /// Another request for all tasks, in ns.
    pub fn set_base_slice(&mut self, slice: u64) {
        self.base_slice = Some(slice);
    }

    /// How much later each CPU ticks than the one before it, in ns.
    pub fn set_tick_offset(&mut self, offset: u64) {
        self.tick_offset = offset;
    }
}
