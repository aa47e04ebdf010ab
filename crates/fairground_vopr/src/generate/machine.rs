//! Small machines of every shape that the scheduler can tell apart.

use crate::dice::Dice;
use fairground_machine::machine::{TICK_RATES, tick_of};
use fairground_machine::{CostModel, Machine};
use fairground_stdx::Ns;

pub(crate) fn machine(dice: &mut Dice) -> Machine {
    let cpus = dice.between(1, 6);
    let mut machine = Machine::preset(&format!("smp-{cpus}")).expect("invariant: smp-N is a preset");
    topology(dice, &mut machine);
    machine.hz = dice.pick(&TICK_RATES);
    machine.tick = tick_of(machine.hz);
    machine.tick_jitter = Ns(dice.pick(&[0, 0, 1, 10_000, 300_000]));
    machine.tick_jitter_seed = dice.once_in(2).then(|| dice.between(0, 1 << 20) as u32);
    machine.tick_offset = dice.pick(&[Ns(0), Ns(0), Ns(777), machine.skewed_tick_offset()]);
    machine.irq_time_accounting = dice.once_in(2);
    machine.nohz_idle = !dice.once_in(4);
    let prices = dice.pick(&["zero", "unit", "xeon-spr"]);
    machine.costs = CostModel::preset(prices).expect("invariant: a price list that comes with us");
    machine
}

/// SMT pairs, or CPUs of different capacity; one last-level cache or two.
fn topology(dice: &mut Dice, machine: &mut Machine) {
    let (smt, two_caches, unequal) = (dice.once_in(3), dice.once_in(3), dice.once_in(3));
    let half = machine.cpus.len() as u32 / 2;
    for (row, cpu) in machine.cpus.iter_mut().enumerate() {
        if smt {
            cpu.core = row as u32 / 2;
        } else if unequal {
            cpu.capacity = dice.pick(&[1024, 1024, 512, 446, 1]);
        }
        if two_caches {
            cpu.llc = u32::from(cpu.core * if smt { 2 } else { 1 } >= half);
        }
        cpu.freq_capacity = dice.pick(&[1024, 1024, 1024, 700, 100]);
    }
}
