//! When a task in the kernel gives way.

use super::support::{kern, kernel, setup};
use crate::common::{Build, Log, MS, US, work};
use fairground_model::{CpuMax, Instr, Mode, TaskGroupSpec, TaskSet};
use fairground_stdx::{CpuId, Ns, TgId};

const MODELS: [&str; 4] = ["none", "voluntary", "full", "lazy"];

/// When the first task is taken off CPU 0 for a reschedule that the tick at 1 ms asks for. Its section in the kernel ends at
/// 3.3 ms.
fn leaves_at(body: &[Instr], preemption: &str, by_quota: bool) -> u64 {
    let mut set = TaskSet::default();
    let limit = CpuMax { quota: Some(Ns::from_ms(1)), period: Ns::from_ms(100), burst: Ns::ZERO };
    let group: Option<TgId> = by_quota.then(|| set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new("/a", None) }));
    let code = [body, &[work(50 * MS)]].concat();
    let first = set.pinned("first", 0, code);
    set.tasks[first].group = group;
    if !by_quota {
        set.pinned("second", 0, vec![work(50 * MS)]);
    }
    // A request of 1 ms is used up at the first tick; a quota of 1 ms too.
    let profile = kernel("v6.14", preemption).with_tunable("sched_base_slice_ns", "1ms").unwrap();
    let log = Log::of(setup(set, 1, profile, 20));
    log.stays_on(CpuId::new(0))[0].ns
}

fn section(mode: Mode) -> Vec<Instr> {
    let run = |ns| Instr::Run { work: Ns(ns), mode };
    let points = [Instr::CondResched, Instr::MightSleep];
    [&[Instr::Enter, run(2500 * US)], &points[..], &[run(800 * US), Instr::Leave]].concat()
}

/// Model: 12 T02
#[test]
fn each_preemption_model_switches_at_its_own_points() {
    let user = vec![work(3300 * US)];
    let nopreempt = vec![Instr::Enter, Instr::Run { work: Ns(3300 * US), mode: Mode::NoPreempt }, kern(100 * US), Instr::Leave];
    let irqoff = vec![Instr::Enter, Instr::Run { work: Ns(3300 * US), mode: Mode::IrqOff }, kern(100 * US), Instr::Leave];
    let us = |ns: u64| ns / US;
    for (model, kernel, held, off) in
        [("none", 2500, 3400, 3400), ("voluntary", 2500, 3400, 3400), ("full", 1000, 3300, 3300), ("lazy", 2000, 3300, 4000)]
    {
        assert_eq!(us(leaves_at(&user, model, false)), 1000, "user, {model}");
        assert_eq!(us(leaves_at(&section(Mode::Kernel), model, false)), kernel, "kernel, {model}");
        assert_eq!(us(leaves_at(&nopreempt, model, false)), held, "preemption disabled, {model}");
        // The tick itself comes at 3.3 ms; what it asks for lazily waits for the next one, or the way back.
        assert_eq!(us(leaves_at(&irqoff, model, false)), off.min(3400), "interrupts off, {model}");
    }
    assert_eq!(us(leaves_at(&section(Mode::Kernel), "lazy", true)), 1000, "what quota asks for is full");
}

/// Model: 12 T02
#[test]
fn might_sleep_is_a_point_with_voluntary_preemption_only() {
    let body = [Instr::Enter, kern(2500 * US), Instr::MightSleep, kern(800 * US), Instr::Leave];
    let at: Vec<u64> = MODELS.iter().map(|model| leaves_at(&body, model, false) / US).collect();
    assert_eq!(at, [3300, 2500, 1000, 2000]);
    let body = [Instr::Enter, kern(2500 * US), Instr::CondResched, kern(800 * US), Instr::Leave];
    let at: Vec<u64> = MODELS.iter().map(|model| leaves_at(&body, model, false) / US).collect();
    assert_eq!(at, [2500, 2500, 1000, 2000]);
}
