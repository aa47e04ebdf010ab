//! Locks whose holder is out of quota: the variants of section 8.

use crate::common::{Build, MS, US, work};
use crate::support::{fifo, for_ever, kern, kernel, read, setup, syscall, unlock, write};
use fairground_model::{CpuMax, Instr, LockKind, NullSink, TaskGroupSpec, TaskSet, TimerMode};
use fairground_sim::{HolderIs, LockReport, Simulation};
use fairground_stdx::{Instant, Ns, TgId};

fn limited(set: &mut TaskSet) -> TgId {
    let limit = CpuMax { quota: Some(Ns::from_ms(20)), period: Ns::from_ms(100), burst: Ns::ZERO };
    set.groups.push(TaskGroupSpec { limit, ..TaskGroupSpec::new("/a", None) })
}

/// A task that does `body` at `first`, and again `period` later, or at once if it took longer.
fn every(first: u64, period: u64, mode: TimerMode, body: &[Instr]) -> Vec<Instr> {
    let begin = [Instr::Set { reg: 7, at: Instant::from_ns(first) }, Instr::SleepUntil { reg: 7 }];
    let again = [Instr::TimerWait { reg: 7, period: Ns(period), mode }, Instr::Jump { to: 2 }];
    [&begin, body, &again].concat()
}

/// Variant P: a reader of limited CPU, a writer and another reader, each on a CPU of its own.
fn variant_p(user: u64, section: u64, preemption: &str) -> LockReport {
    let mut set = TaskSet::default();
    let lock = fifo(&mut set, "sem", LockKind::Rwsem);
    let group = limited(&mut set);
    let body = syscall(&[read(lock), kern(section), unlock(lock)]);
    let holder = set.pinned("H", 0, for_ever([vec![work(user)], body].concat()));
    set.tasks[holder].group = Some(group);
    let body = syscall(&[write(lock), kern(100 * US), unlock(lock)]);
    // Arrivals do not wait for each other: two tasks take turns, as no wait is longer than 100 ms.
    set.pinned("W", 1, every(50 * MS, 100 * MS, TimerMode::Absolute, &body));
    set.pinned("W", 1, every(100 * MS, 100 * MS, TimerMode::Absolute, &body));
    let body = syscall(&[read(lock), kern(50 * US), unlock(lock)]);
    set.pinned("R", 2, every(0, MS, TimerMode::Relative, &body));
    let mut simulation = Simulation::new(setup(set, 3, kernel("v6.12", preemption), 2000)).unwrap();
    simulation.run(&mut NullSink).unwrap();
    simulation.lock_reports().remove(0)
}

/// Hostage holds; in us the longest hold; how many waits to write, their mean and the longest; the longest wait to read.
fn figures(report: &LockReport) -> [u64; 6] {
    let (writes, reads) = (&report.writes.times, &report.reads.times);
    let us = |ns| ns / US;
    [report.hostage_holds, us(report.holds.max()), writes.count(), us(writes.mean()), us(writes.max()), us(reads.max())]
}

#[test]
fn spec_12_t08_variant_p_with_queues_that_are_throttled() {
    assert_eq!(figures(&variant_p(900 * US, 2200 * US, "full")), [14, 82_200, 39, 18_802, 52_100, 51_800]);
    assert_eq!(figures(&variant_p(1000 * US, 2000 * US, "full")), [13, 82_000, 38, 18_156, 52_000, 51_950]);
    assert_eq!(figures(&variant_p(2900 * US, 100 * US, "full")), [0, 100, 39, 0, 0, 100]);
    // All time of those 14 holds but their own 2.2 ms is that of a throttled queue: waits of 50 ms in each.
    assert_eq!(variant_p(900 * US, 2200 * US, "full").hostage_time, Ns(14 * 50 * MS));
}

/// What quota asks for is a full request: lazy preemption delays it no more than full preemption.
#[test]
fn spec_12_t08_variant_p_is_the_same_with_lazy_preemption() {
    assert_eq!(figures(&variant_p(900 * US, 2200 * US, "lazy")), figures(&variant_p(900 * US, 2200 * US, "full")));
}

#[test]
fn spec_12_t09_without_preemption_in_the_kernel_no_hold_is_longer_than_its_section() {
    for (user, section) in [(900, 2200), (1000, 2000), (2900, 100)] {
        for preemption in ["none", "voluntary"] {
            let report = variant_p(user * US, section * US, preemption);
            assert_eq!(figures(&report), [0, section, 39, 0, 0, 100], "{user}/{section} {preemption}");
        }
    }
}

#[test]
fn spec_12_t12_waits_of_writers_are_those_for_a_throttled_holder() {
    let waits = variant_p(900 * US, 2200 * US, "full").writes;
    let (all, throttled) = (waits.times.sum(), u128::from(waits.while_holder[HolderIs::Throttled as usize].0));
    assert!(throttled * 100 >= all * 95, "{throttled} of {all}");
    assert_eq!(waits.while_holder.iter().map(|time| u128::from(time.0)).sum::<u128>(), all);
}
