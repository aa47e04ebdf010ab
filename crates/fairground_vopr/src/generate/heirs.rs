//! Tasks that sleep while their CPU goes off line and comes back: their timers ring on the CPU that has inherited them, where others idle.

use super::programs::hog;
use crate::dice::Dice;
use fairground_model::{Change, Instr, Mode, Program, Start, TaskSet, TaskSpec, TimedChange};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// Adds such tasks to some systems of several CPUs, and one that takes the CPU as it is back. Whether it did.
pub(crate) fn heirs(dice: &mut Dice, cpus: usize, duration: Ns, set: &mut TaskSet) -> bool {
    if cpus < 2 || !dice.once_in(16) {
        return false;
    }
    let cpu = CpuId::new(dice.index(cpus) as u32);
    let leaves = dice.between(duration.0 / 8, duration.0 / 2);
    let comes = leaves + dice.between(10_000, duration.0 / 8);
    for (at, online) in [(leaves, false), (comes, true)] {
        set.changes.push(TimedChange { at: Instant::from_ns(at), change: Change::Hotplug { cpu, online } });
    }
    set.changes.sort_by_key(|timed| timed.at);
    for _ in 0..dice.between(1, 4) {
        let (work, time) = (Ns(dice.time(1_000, 100_000)), Ns(dice.time(100_000, duration.0 / 2)));
        let code = vec![Instr::Run { work, mode: Mode::User }, Instr::Sleep { time }, Instr::Jump { to: 0 }];
        let spec = task(set, code, dice.time(0, leaves));
        set.tasks.push(TaskSpec { first_cpu: Some(cpu), ..spec });
    }
    let spec = task(set, hog(), comes + dice.time(0, 100_000));
    set.tasks.push(TaskSpec { affinity: Some(CpuMask::only(cpu)), ..spec });
    true
}

fn task(set: &mut TaskSet, code: Vec<Instr>, start: u64) -> TaskSpec {
    let program = set.programs.push(Program { code: code.into() });
    let mut spec = TaskSpec::new(format!("task{}", set.tasks.len()), program);
    spec.start = Start::At(Instant::from_ns(start));
    spec
}
