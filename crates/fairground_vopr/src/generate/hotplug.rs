//! CPUs that go off line and come back in mid-run.

use crate::dice::Dice;
use fairground_model::{Change, TaskSet, TimedChange};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// Adds a few changes to some cases, or to one that must have them; one CPU at least stays on line.
pub(crate) fn hotplug(dice: &mut Dice, cpus: usize, duration: Ns, must: bool, set: &mut TaskSet) {
    if cpus >= 2 && (dice.once_in(3) || must) {
        some_hotplug(dice, cpus, duration, set);
    }
}

/// The same in each case that has two CPUs.
pub(super) fn some_hotplug(dice: &mut Dice, cpus: usize, duration: Ns, set: &mut TaskSet) {
    if cpus < 2 {
        return;
    }
    let mut times: Vec<u64> = (0..dice.between(1, 6)).map(|_| dice.between(0, duration.0 - 1)).collect();
    times.sort_unstable();
    let mut online = CpuMask::first_n(cpus);
    for at in times {
        let cpu = CpuId::new(dice.index(cpus) as u32);
        let comes = !online.contains(cpu);
        if comes {
            online.insert(cpu);
        } else if online.weight() > 1 {
            online.remove(cpu);
        } else {
            continue;
        }
        set.changes.push(TimedChange { at: Instant::from_ns(at), change: Change::Hotplug { cpu, online: comes } });
    }
    set.changes.sort_by_key(|timed| timed.at);
}
