//! Random tasks that spin for locks of user space, run into page faults, and count marks and parts.

use super::programs::{burst, some_nice};
use crate::dice::Dice;
use fairground_model::{
    Arithmetic, Instr, LockKind, LockMode, LockSpec, MarkerSpec, MarkerUnit, Mode, PageSize, PoolSpec, Program, SpinSpec, Start,
    TaskSet, TaskSpec, Value,
};
use fairground_sched::Profile;
use fairground_stdx::{Id, Instant, LockId, MarkerId, Ns, PartId, PoolId};

/// Adds spin locks, pools and tasks that use them to some cases. No such task takes another lock, and all take these in the order of
/// their rows.
pub(crate) fn memory(dice: &mut Dice, profile: &Profile, duration: Ns, set: &mut TaskSet) {
    if !dice.once_in(4) {
        return;
    }
    let first = set.locks.len();
    for row in 0..dice.between(1, 2) {
        set.locks.push(LockSpec::new(format!("spin{row}"), LockKind::Spin(habits(dice))));
    }
    for row in 0..dice.between(1, 2) {
        let page = dice.pick(&[PageSize::K4, PageSize::K4, PageSize::M2, PageSize::G1]);
        let (entries, entry_bytes) = (dice.time(1, 100_000), dice.pick(&[1, 64, 8192]));
        set.pools.push(PoolSpec { name: format!("pool{row}"), entries, entry_bytes, page });
    }
    // A scenario file has no other measurements than marks.
    let mark =
        set.markers.is_empty().then(|| set.markers.push(MarkerSpec { name: "marks.round".into(), unit: MarkerUnit::Event }));
    set.parts.push("held".into());
    let spaces = dice.between(1, 4);
    for _ in 0..dice.between(2, 8) {
        let asks = profile.slice_extension.is_there() && dice.once_in(2);
        let code = spinner(dice, set, (first, asks), mark);
        let program = set.programs.push(Program::from(code));
        let mut spec = TaskSpec::new(format!("task{}", set.tasks.len()), program);
        spec.start = Start::At(Instant::from_ns(dice.time(0, duration.0 / 2)));
        spec.nice = some_nice(dice);
        spec.mm = dice.between(0, spaces) as u32;
        spec.timer_slack = Ns(dice.pick(&[0, 50_000]));
        set.tasks.push(spec);
    }
}

fn habits(dice: &mut Dice) -> SpinSpec {
    let (low, first) = (dice.time(1, 1000) as u32, dice.time(1_000, 2_000_000));
    SpinSpec {
        round: Ns(dice.pick(&[1, 50, 50, 1000, 7777])),
        rounds: (low, low + dice.pick(&[0, 0, 990])),
        sleep: (!dice.once_in(4)).then(|| (Ns(first), Ns(first.saturating_mul(dice.between(1, 50))))),
    }
}

/// A loop with some locks, in each of which something is touched.
fn spinner(dice: &mut Dice, set: &TaskSet, (first, asks): (usize, bool), mark: Option<MarkerId>) -> Vec<Instr> {
    // A file names no part and no mark but those of steps.
    let mut code = vec![Instr::Part { part: Some(PartId::new(0)) }, burst(dice), Instr::Part { part: None }];
    let mut held = Vec::new();
    code.extend(asks.then_some(Instr::SliceExt { request: true }));
    for row in first..set.locks.len() {
        if !dice.once_in(3) {
            let lock = LockId::from_index(row);
            code.extend([Instr::Lock { lock, mode: LockMode::Write }, Instr::Part { part: Some(PartId::new(0)) }]);
            held.push(lock);
            code.push(Instr::Run { work: Ns(dice.time(50, 50_000)), mode: Mode::User });
            code.push(inside(dice, set));
        }
    }
    code.extend(held.into_iter().rev().map(|lock| Instr::Unlock { lock }));
    code.extend(asks.then_some(Instr::SliceExt { request: false }));
    code.push(Instr::Calculate { reg: 1, by: Arithmetic::Plus, value: Value::Const(dice.time(1, 500)) });
    code.extend(mark.map(|marker| Instr::MarkValue { marker, value: 1 }));
    if dice.once_in(2) {
        code.push(Instr::Sleep { time: Ns(dice.time(0, 2_000_000)) });
    }
    code.push(Instr::Jump { to: 0 });
    code
}

/// What is done with a spin lock held.
fn inside(dice: &mut Dice, set: &TaskSet) -> Instr {
    let low = dice.time(0, 20_000);
    match dice.index(6) {
        0 => Instr::PageFault { low: Ns(low), high: Ns(low) },
        1 => Instr::PageFault { low: Ns(low), high: Ns(low + dice.time(1, 5_000)) },
        2 => Instr::Yield,
        3 => Instr::Touch {
            pool: PoolId::from_index(dice.index(set.pools.len())),
            entry: Value::Const(dice.time(0, 1000)),
            write: true,
        },
        _ => Instr::Touch { pool: PoolId::from_index(dice.index(set.pools.len())), entry: Value::Reg(1), write: dice.once_in(2) },
    }
}
