//! Random locks and tasks that take them. Every task takes them in the order of their rows, so none can wait for another in a circle.

use super::programs::{burst, some_nice};
use crate::dice::Dice;
use fairground_model::{Instr, LockKind, LockMode, LockSpec, Mode, Program, Start, TaskSet, TaskSpec};
use fairground_sched::Profile;
use fairground_stdx::{Id, Instant, LockId, Ns};

/// Adds locks and tasks that take them to some cases, and another preemption model. In some the tasks lie in groups of others.
pub(crate) fn locks(dice: &mut Dice, duration: Ns, profile: &mut Profile, set: &mut TaskSet) {
    if !dice.once_in(4) {
        return;
    }
    let preemption = dice.pick(&["none", "voluntary", "full", "lazy"]);
    if let Ok(changed) = profile.clone().with_seam("preemption", preemption) {
        *profile = changed;
    }
    // Those of user space come first: they are taken before the kernel is entered.
    let futexes = dice.index(3);
    for row in 0..futexes + dice.between(1, 3) as usize {
        set.locks.push(some_lock(dice, format!("lock{row}"), row < futexes));
    }
    let groups: Vec<_> =
        set.tasks.iter().filter(|task| !task.kthread && task.start != Start::Forked).map(|task| task.group).collect();
    for _ in 0..dice.between(2, 7) {
        let code = taker(dice, set, futexes);
        let program = set.programs.push(Program::from(code));
        let mut spec = TaskSpec::new(format!("task{}", set.tasks.len()), program);
        spec.start = Start::At(Instant::from_ns(dice.time(0, duration.0 / 2)));
        spec.nice = some_nice(dice);
        spec.timer_slack = Ns(dice.pick(&[0, 50_000]));
        if dice.once_in(2) && !groups.is_empty() {
            spec.group = dice.pick(&groups);
        }
        set.tasks.push(spec);
    }
}

fn some_lock(dice: &mut Dice, name: String, futex: bool) -> LockSpec {
    let rcu_sync = Ns(dice.pick(&[0, 100_000, 10_000_000]));
    let kind = match futex {
        true => LockKind::Futex,
        false => dice.pick(&[LockKind::Rwsem, LockKind::Rwsem, LockKind::Mutex, LockKind::PercpuRwsem { rcu_sync }]),
    };
    let mut spec = LockSpec::new(name, kind);
    spec.spin &= dice.once_in(2);
    spec.steal &= dice.once_in(2);
    spec
}

/// A loop that takes some locks, does something in each, and releases them in the opposite order.
fn taker(dice: &mut Dice, set: &TaskSet, futexes: usize) -> Vec<Instr> {
    let mut code = vec![burst(dice)];
    let mut held = Vec::new();
    for row in 0..futexes {
        if dice.once_in(2) {
            take(dice, set, row, &mut code, &mut held);
            code.push(Instr::Run { work: Ns(dice.time(1_000, 500_000)), mode: Mode::User });
        }
    }
    code.push(Instr::Enter);
    for row in futexes..set.locks.len() {
        if !dice.once_in(3) {
            take(dice, set, row, &mut code, &mut held);
            code.push(inside(dice));
        }
    }
    let of_kernel = held.iter().position(|lock: &LockId| lock.index() >= futexes).unwrap_or(held.len());
    code.extend(held[of_kernel..].iter().rev().map(|&lock| Instr::Unlock { lock }));
    code.push(Instr::Leave);
    code.extend(held[..of_kernel].iter().rev().map(|&lock| Instr::Unlock { lock }));
    code.push(Instr::Sleep { time: Ns(dice.time(0, 2_000_000)) });
    code.push(Instr::Jump { to: 0 });
    code
}

fn take(dice: &mut Dice, set: &TaskSet, row: usize, code: &mut Vec<Instr>, held: &mut Vec<LockId>) {
    let lock = LockId::from_index(row);
    let reads = set.locks[lock].kind.has_readers() && !dice.once_in(3);
    code.push(Instr::Lock { lock, mode: if reads { LockMode::Read } else { LockMode::Write } });
    held.push(lock);
}

/// Something that is done with a lock of the kernel.
fn inside(dice: &mut Dice) -> Instr {
    match dice.index(8) {
        0 => Instr::CondResched,
        1 => Instr::MightSleep,
        2 => Instr::Sleep { time: Ns(dice.time(0, 1_000_000)) },
        3 => Instr::Run { work: Ns(dice.time(1, 5_000)), mode: Mode::IrqOff },
        4 => Instr::Run { work: Ns(dice.time(1, 50_000)), mode: Mode::NoPreempt },
        _ => Instr::Run { work: Ns(dice.time(1, 500_000)), mode: Mode::Kernel },
    }
}
