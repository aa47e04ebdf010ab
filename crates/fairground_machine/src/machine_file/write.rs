//! From a machine to the text of a machine file.

use super::{cpus, settings, shape};
use crate::keys;
use crate::machine::{Machine, tick_of};
use crate::regular::default_distances;
use fairground_stdx::IndexVec;

/// The machine file that reads back as `machine`: the regular form if it is regular, else one table per CPU.
pub fn write(machine: &Machine) -> String {
    let without = without(machine);
    let write = |keys| keys::write(keys, machine, &without);
    match shape::of(&machine.cpus) {
        Some(shape) => write(settings::TITLE) + &shape::write(&shape) + &write(settings::SPEEDS) + &write(settings::SETTINGS),
        None => write(settings::TITLE) + &write(settings::SETTINGS) + &cpus::write(&machine.cpus),
    }
}

/// What a file gives that has these CPUs and this `hz`, and no other key.
fn without(machine: &Machine) -> Machine {
    let nodes = machine.cpus.iter().map(|cpu| cpu.node as usize + 1).max().unwrap_or(1);
    Machine { tick: tick_of(machine.hz), ..Machine::new("", IndexVec::new(), default_distances(nodes)) }
}
