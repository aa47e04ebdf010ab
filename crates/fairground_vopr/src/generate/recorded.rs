//! What machines of recordings have besides: CPUs that take turns, kernel threads.

use crate::dice::Dice;
use fairground_machine::Machine;
use fairground_model::TaskSet;
use fairground_stdx::{CpuId, CpuMask, Ns};

/// Lengths of a round: from shorter than a wake-up to longer than a burst of them.
const ROUNDS: [Ns; 3] = [Ns::from_us(10), Ns::from_us(100), Ns::from_us(1_000)];

/// Lets the CPUs of some machines take turns, and makes some tasks kernel threads, most of them bound to a CPU.
pub(crate) fn recorded(dice: &mut Dice, machine: &mut Machine, set: &mut TaskSet) {
    if dice.once_in(8) {
        machine.round_of_turns = dice.pick(&ROUNDS);
    }
    if !dice.once_in(4) {
        return;
    }
    for task in set.tasks.iter_mut() {
        task.kthread = dice.once_in(3);
        if task.kthread && !dice.once_in(3) {
            task.first_cpu = None;
            task.affinity = Some(CpuMask::only(CpuId::new(dice.index(machine.cpus.len()) as u32)));
        }
    }
}
