//! Random programs. Every loop computes for at least a microsecond, so that time passes in it.

use crate::dice::Dice;
use fairground_model::{Arithmetic, Instr, Mode, Policy, Test, TimerMode, Value};
use fairground_stdx::{CpuId, CpuMask, Ns, PipeId, WordId};

/// A random, not empty set of CPUs of a machine.
pub(super) fn some_cpus(dice: &mut Dice, cpus: usize) -> CpuMask {
    let mut mask = CpuMask::only(CpuId::new(dice.index(cpus) as u32));
    for cpu in (0..cpus as u32).map(CpuId::new) {
        if dice.once_in(2) {
            mask.insert(cpu);
        }
    }
    mask
}

pub(super) fn some_nice(dice: &mut Dice) -> i8 {
    dice.pick(&[0, 0, 0, 1, 5, -5, 10, 19, -20])
}

pub(super) fn some_policy(dice: &mut Dice) -> Policy {
    dice.pick(&[Policy::Normal, Policy::Normal, Policy::Normal, Policy::Batch, Policy::Idle])
}

/// A slice that a task asks for, perhaps one that it may not have, or that of all.
pub(super) fn some_slice(dice: &mut Dice) -> Option<Ns> {
    (!dice.once_in(4)).then(|| Ns(dice.time(1, 200_000_000)))
}

pub(super) fn burst(dice: &mut Dice) -> Instr {
    let most = if dice.once_in(10) { 100_000_000 } else { 2_000_000 };
    let (low, mode) = (dice.time(1_000, most), dice.pick(&[Mode::User, Mode::User, Mode::Kernel]));
    match dice.index(5) {
        4 => Instr::RunExponential { mean: Ns(low), mode: Mode::User },
        0 => Instr::RunTime { time: Ns(low), mode },
        1 => Instr::RunBetween { low: Ns(low), high: Ns(low + dice.time(1, 3_000_000)), mode },
        _ => Instr::Run { work: Ns(low), mode },
    }
}

fn nap(dice: &mut Dice) -> Instr {
    let most = if dice.once_in(10) { 200_000_000 } else { 5_000_000 };
    let low = dice.time(0, most);
    if dice.once_in(4) {
        return Instr::SleepExponential { mean: Ns(low) };
    }
    match dice.once_in(2) {
        true => Instr::Sleep { time: Ns(low) },
        false => Instr::SleepBetween { low: Ns(low), high: Ns(low + dice.time(1, 3_000_000)) },
    }
}

pub(super) fn hog() -> Vec<Instr> {
    vec![Instr::Run { work: Ns(u64::MAX), mode: Mode::User }]
}

pub(super) fn sleeper(dice: &mut Dice) -> Vec<Instr> {
    vec![burst(dice), nap(dice), Instr::Jump { to: 0 }]
}

pub(super) fn periodic(dice: &mut Dice) -> Vec<Instr> {
    let mode = dice.pick(&[TimerMode::Relative, TimerMode::Absolute]);
    let period = Ns(dice.time(10_000, 10_000_000));
    vec![Instr::Now { reg: 0 }, burst(dice), Instr::TimerWait { reg: 0, period, mode }, Instr::Jump { to: 1 }]
}

/// Wakes on a fixed grid, as all its siblings do, and runs for the same time.
pub(super) fn rhythm(dice: &mut Dice) -> Vec<Instr> {
    let period = Ns(dice.time(100_000, 10_000_000));
    let work = Ns(dice.time(1_000, period.0));
    let wait = Instr::TimerWait { reg: 0, period, mode: TimerMode::Absolute };
    vec![Instr::Now { reg: 0 }, Instr::Run { work, mode: Mode::User }, wait, Instr::Jump { to: 1 }]
}

/// One of a ring of tasks that hand a message on.
pub(super) fn link(dice: &mut Dice, from: PipeId, to: PipeId, first: bool) -> Vec<Instr> {
    let (read, write) = (Instr::Read { pipe: from, into: 0 }, Instr::Write { pipe: to, value: None });
    let mut code = if first { vec![write, read] } else { vec![read, write] };
    code.extend([burst(dice), Instr::Jump { to: 0 }]);
    code
}

/// One of several tasks that compute under a lock, whoever waits asleep or going round.
pub(super) fn locker(dice: &mut Dice, lock: WordId, asleep: bool) -> Vec<Instr> {
    let word = lock.into();
    let wait = if asleep { Instr::FutexWait { word, value: Value::Const(1) } } else { Instr::Spin { word, value: 1 } };
    vec![
        burst(dice),
        Instr::Load { word, into: 0 },
        Instr::JumpIf { reg: 0, is: Test::Equal, value: Value::Const(0), to: 5 },
        wait,
        Instr::Jump { to: 1 },
        Instr::Store { word, value: Value::Const(1) },
        burst(dice),
        Instr::Store { word, value: Value::Const(0) },
        Instr::FutexWake { word, count: dice.between(0, 3) as u32 },
        if dice.once_in(2) { nap(dice) } else { burst(dice) },
        Instr::Jump { to: 0 },
    ]
}

/// Something that is done to a shared word. Who jumps goes to the beginning, where time passes.
fn touch(dice: &mut Dice, words: usize) -> Instr {
    let word = WordId::new(dice.index(words) as u32).into();
    let small = dice.between(0, 2);
    let value = if dice.once_in(2) { Value::Const(small) } else { Value::Reg(1) };
    match dice.index(8) {
        0 => Instr::Load { word, into: 1 },
        1 | 2 => Instr::Store { word, value },
        3 => Instr::Spin { word, value: small },
        4 => Instr::FutexWait { word, value: Value::Const(small) },
        5 => Instr::FutexWake { word, count: small as u32 },
        6 => Instr::JumpIf { reg: 1, is: dice.pick(&[Test::Equal, Test::AtMost]), value, to: 0 },
        _ => match dice.index(4) {
            0 => Instr::GetCpu { into: 1 },
            1 => Instr::TimeOfDay { reg: 1 },
            2 => Instr::Let { reg: 1, value },
            _ => {
                let by = dice.pick(&[Arithmetic::Plus, Arithmetic::Minus, Arithmetic::Times, Arithmetic::Over]);
                Instr::Calculate { reg: 1, by, value }
            }
        },
    }
}

/// Anything in any order, in one or two nested loops; may well end or wait for ever.
pub(super) fn anything(dice: &mut Dice, pipes: usize, words: usize, cpus: usize, own_slices: bool) -> Vec<Instr> {
    let mut code = vec![burst(dice)];
    for _ in 0..dice.between(1, 8) {
        let next = match dice.index(12) {
            10 | 11 if words > 0 => touch(dice, words),
            0..3 => burst(dice),
            3 | 4 => nap(dice),
            5 if dice.once_in(3) => Instr::Exec,
            5 => Instr::Yield,
            6 if pipes > 0 => Instr::Write { pipe: PipeId::new(dice.index(pipes) as u32), value: None },
            7 if pipes > 0 => Instr::Read { pipe: PipeId::new(dice.index(pipes) as u32), into: 1 },
            8 => own_setting(dice, cpus, own_slices),
            _ => Instr::Repeat { counter: dice.index(4) as u8, times: dice.between(1, 5), to: 0 },
        };
        code.push(next);
    }
    if !dice.once_in(4) {
        code.push(Instr::Jump { to: 0 });
    }
    code
}

fn own_setting(dice: &mut Dice, cpus: usize, own_slices: bool) -> Instr {
    match dice.index(5) {
        4 if own_slices => Instr::SetSlice { slice: some_slice(dice) },
        0 => Instr::SetNice { nice: some_nice(dice) },
        1 => Instr::SetPolicy { policy: some_policy(dice) },
        2 => Instr::SetAffinity { cpus: Box::new(some_cpus(dice, cpus)) },
        _ => Instr::SetTimerSlack { slack: Ns(dice.pick(&[0, 1, 50_000, 1_000_000])) },
    }
}
