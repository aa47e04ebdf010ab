//! Spin locks of user space: who looks when, how long before a sleep, and what a holder without a CPU costs.

use super::support::{for_ever, kernel, setup, stopped};
use crate::common::{Build, Log, MS, US, free_machine, sleep, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, LockKind, LockMode, LockSpec, NullSink, Op, Policy, RtPriority, SpinSpec, TaskSet};
use fairground_sim::{LockReport, Misuse, Setup, Simulation, Stopped};
use fairground_stdx::{CpuId, Instant, LockId, MarkerId, Ns, TaskId};

const LOCK: LockId = LockId::new(0);
const TAKE: Instr = Instr::Lock { lock: LOCK, mode: LockMode::Write };
const RELEASE: Instr = Instr::Unlock { lock: LOCK };
const GOT: Instr = Instr::MarkValue { marker: MarkerId::new(0), value: 1 };

fn spec(round: u64, rounds: (u32, u32), sleep: Option<(u64, u64)>) -> SpinSpec {
    SpinSpec { round: Ns(round), rounds, sleep: sleep.map(|(first, longest)| (Ns(first), Ns(longest))) }
}

fn set(spec: SpinSpec) -> TaskSet {
    let mut set = TaskSet::default();
    set.marker("got");
    set.locks.push(LockSpec::new("spin", LockKind::Spin(spec)));
    set
}

fn holds(ns: u64) -> Vec<Instr> {
    vec![TAKE, GOT, work(ns), RELEASE]
}

fn after(ns: u64, code: Vec<Instr>) -> Vec<Instr> {
    [vec![work(ns)], code].concat()
}

fn ran(set: TaskSet, machine: Machine, ms: u64) -> (Log, Simulation) {
    let setup = Setup { machine, ..setup(set, 1, kernel("v6.12", "full"), ms) };
    let mut simulation = Simulation::new(setup.clone()).unwrap();
    simulation.run(&mut NullSink).unwrap();
    (Log::of(setup), simulation)
}

fn run(set: TaskSet, cpus: usize, ms: u64) -> (Log, LockReport, Simulation) {
    let (log, simulation) = ran(set, free_machine(cpus, 1000), ms);
    (log, simulation.lock_reports()[0].clone(), simulation)
}

fn got(log: &Log, task: TaskId) -> Vec<u64> {
    log.marks(task, MarkerId::new(0)).iter().map(|row| row.0).collect()
}

#[test]
fn who_spins_gets_the_lock_at_its_first_look_after_the_release() {
    let mut set = set(spec(50, (100, 100), None));
    set.pinned("holder", 0, holds(1000));
    let spinner = set.pinned("spinner", 1, after(10, holds(5)));
    // It looks at 10, 60, 110 and so on.
    let (log, report, _) = run(set, 2, 1);
    assert_eq!(got(&log, spinner), [1010]);
    assert_eq!((report.spin.spun, report.spin.sleeps), (Ns(1000), 0));
    assert_eq!((report.holds.count(), report.writes.contended, report.writes.times.max()), (2, 1, 1000));
}

/// Model: 12 T18
///
/// Looks of two spinners: 10 + 100 k and 60 + 100 k. The release is at 1,020, so the second looks first; then the first, as it spins on.
#[test]
fn the_next_look_decides_not_the_order_of_arrival() {
    let mut set = set(spec(100, (1000, 1000), None));
    set.pinned("holder", 0, holds(1020));
    let first = set.pinned("first", 1, after(10, holds(500)));
    let second = set.pinned("second", 2, after(60, holds(500)));
    let (log, report, _) = run(set, 3, 1);
    assert_eq!((got(&log, second), got(&log, first)), (vec![1060], vec![1610]));
    assert_eq!(report.spin.spun, Ns(1000 + 1600));
}

/// Model: 12 T19
///
/// The first spinner is to look at 1,500,990. A timer brings it off its CPU 890 ns before that, so the second one looks first, at 1,500,999.
#[test]
fn who_is_interrupted_before_its_look_is_overtaken() {
    let mut set = set(spec(1000, (100_000, 100_000), None));
    set.pinned("holder", 0, holds(1_500_000));
    let first = set.pinned("first", 1, after(990, holds(500)));
    let second = set.pinned("second", 2, after(1999, holds(500)));
    let at = Instant::from_ns(1_500_100);
    let beside = set.pinned("beside", 1, vec![Instr::Set { reg: 0, at }, Instr::SleepUntil { reg: 0 }, work(10 * US)]);
    set.tasks[beside].policy = Policy::Fifo(RtPriority::new(1).unwrap());
    let (log, _, _) = run(set, 3, 10);
    assert_eq!(got(&log, second), [1_500_999]);
    assert_eq!(got(&log, first), [1_510_990]);
}

#[test]
fn after_its_rounds_it_sleeps_ever_longer_and_looks_as_it_wakes_up() {
    let mut set = set(spec(50, (4, 4), Some((100 * US, 10 * MS))));
    set.pinned("holder", 0, holds(3 * MS));
    let spinner = set.pinned("spinner", 1, holds(5));
    let (log, report, _) = run(set, 2, 50);
    let sleeps = report.spin.sleeps;
    // 100 us, then between once and twice the one before: five sleeps reach 3.1 ms at most, thirty make 3 ms at least.
    assert!((5..=30).contains(&sleeps), "{sleeps}");
    assert_eq!(report.spin.spun, Ns(200 * sleeps));
    let at = got(&log, spinner)[0];
    assert!((3 * MS..9 * MS).contains(&at), "{at}");
    let stays = log.stays_on(CpuId::new(1));
    let gaps: Vec<u64> = stays.windows(2).map(|pair| pair[1].from - pair[0].from - pair[0].ns).collect();
    assert_eq!(gaps[0], 100 * US);
    assert!(gaps.windows(2).all(|pair| (pair[0]..=2 * pair[0]).contains(&pair[1])), "{gaps:?}");
    assert!(gaps.windows(2).any(|pair| pair[1] > pair[0]), "{gaps:?}");
}

/// The first wait takes 50 rounds of 100 and ends without a sleep: 200 are allowed from then on. The second takes 150.
#[test]
fn a_wait_without_a_sleep_teaches_to_spin_longer() {
    let sleeps = |rounds| {
        let mut set = set(spec(US, rounds, Some((MS, MS))));
        set.pinned("holder", 0, [holds(50 * US), after(100 * US, holds(150 * US))].concat());
        set.pinned("spinner", 1, [holds(5), after(101 * US, holds(5))].concat());
        run(set, 2, 50).1.spin.sleeps
    };
    assert_eq!(sleeps((10, 1000)), 0);
    assert_eq!(sleeps((100, 100)), 1);
    assert_eq!(sleeps((10, 140)), 1, "not beyond the most");
}

/// Model: 12 T20
///
/// The holder shares its CPU with a hog, and is taken off it in the middle of its hold.
#[test]
fn a_holder_without_a_cpu_keeps_the_others_spinning() {
    let mut set = set(spec(50, (100, 100), None));
    set.pinned("hog", 0, vec![work(u64::MAX)]);
    set.pinned("holder", 0, for_ever(holds(20 * MS)));
    let spinner = set.pinned("spinner", 1, after(20 * MS, holds(5)));
    let (_, report, simulation) = run(set, 2, 60);
    let preempted = report.preempted_holds;
    assert!(preempted >= 1, "{preempted}");
    let waits = report.spin.holder_waits;
    assert!(waits >= Ns::from_ms(3) && waits <= report.spin.spun, "{waits} of {}", report.spin.spun);
    assert_eq!(waits, report.writes.while_holder[1], "one spins");
    assert_eq!(simulation.spun_by(spinner), report.spin.spun);
}

#[test]
fn who_spins_makes_the_hold_of_others_longer_if_that_has_a_price() {
    let hold = |price_ns: u64| {
        let mut set = set(spec(50, (100, 100), None));
        set.pinned("a", 0, holds(1000));
        for cpu in 1..4 {
            set.pinned("b", cpu, after(100, holds(1000)));
        }
        let mut machine = free_machine(4, 1000);
        machine.costs = CostModel::preset("zero").unwrap();
        machine.costs.prices_ps[Op::TasContend as usize] = price_ns * 1000;
        ran(set, machine, 1).1.lock_reports()[0].holds.max()
    };
    // The second holder finds two spinning beside it.
    assert_eq!([hold(0), hold(30)], [1000, 1060]);
}

#[test]
fn a_lock_that_is_not_given_back_is_told_with_its_holder_and_who_waits() {
    let mut set = set(SpinSpec::POSTGRES);
    let holder = set.pinned("holder", 0, vec![TAKE, sleep(10_000 * MS), RELEASE]);
    let waiters = [1, 2].map(|cpu| set.pinned("spinner", cpu, after(u64::from(cpu) * MS, holds(5))));
    let (_, _, simulation) = run(set, 3, 200);
    let told = simulation.held_up();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].holder, Some((holder, Instant::ZERO)));
    assert_eq!((told[0].waiters.as_slice(), told[0].since), (&waiters[..], Instant::from_ns(MS)));
    let mut short = self::set(SpinSpec::POSTGRES);
    short.pinned("holder", 0, vec![TAKE, sleep(10_000 * MS), RELEASE]);
    short.pinned("spinner", 1, holds(5));
    assert!(run(short, 2, 99).2.held_up().is_empty());
}

#[test]
fn it_is_taken_in_user_mode_and_given_back_before_the_end() {
    for (code, expected) in [
        (vec![Instr::Enter, TAKE], Misuse::SpinsInKernel),
        (vec![TAKE, TAKE], Misuse::TakesTwice),
        (vec![TAKE], Misuse::EndsWithLock),
        (vec![RELEASE], Misuse::NotHeld),
    ] {
        let mut set = set(SpinSpec::POSTGRES);
        set.task("a", code);
        let Stopped::Misuse { what, .. } = stopped(set) else { panic!("no misuse") };
        assert_eq!(what, expected);
    }
    let wrong = Simulation::new(setup(set(spec(0, (1, 1), None)), 1, kernel("v6.12", "full"), 1)).err().unwrap();
    assert!(wrong.to_string().contains("lock `spin`: a round of 0"), "{wrong}");
}

/// Two spin beside the holder as it releases the lock: the line comes to it behind both. One of them is off its CPU then, if a task of
/// another class came there at 500 ns.
#[test]
fn who_is_off_its_cpu_does_not_keep_the_line() {
    let released = |displaced: bool| {
        let mut set = set(spec(50, (100_000, 100_000), None));
        let holder = set.pinned("holder", 0, vec![TAKE, work(1000), RELEASE, GOT]);
        for cpu in 1..3 {
            set.pinned("spinner", cpu, after(100, holds(10)));
        }
        if displaced {
            let at = Instant::from_ns(500);
            let beside = set.pinned("beside", 1, vec![Instr::Set { reg: 0, at }, Instr::SleepUntil { reg: 0 }, work(MS)]);
            set.tasks[beside].policy = Policy::Fifo(RtPriority::new(1).unwrap());
        }
        let mut machine = free_machine(3, 1000);
        machine.costs.prices_ps[Op::TasContend as usize] = 30_000;
        got(&ran(set, machine, 1).0, holder)
    };
    assert_eq!([released(false), released(true)], [[1060], [1030]]);
}

/// Spinners of one lock, each with 200 rounds of 50 ns before a sleep, which a holder keeps.
fn rounds_of(spinners: u32, line_ps: u64) -> (u64, u64) {
    let mut set = set(spec(50, (200, 200), Some((100 * MS, 100 * MS))));
    set.pinned("holder", 0, holds(50 * MS));
    for cpu in 1..=spinners {
        set.pinned("spinner", cpu, after(1000, vec![TAKE, work(5), RELEASE]));
    }
    let mut machine = free_machine(spinners as usize + 1, 1000);
    machine.costs.prices_ps[Op::TasContend as usize] = line_ps;
    let (_, simulation) = ran(set, machine, 40);
    let report = simulation.lock_reports()[0].clone();
    (report.spin.spun.0, report.spin.sleeps)
}

/// Model: 12 T24
///
/// A look needs the line of the lock, behind all others who spin. Alone: 200 rounds of 50 ns. The first of eight begins its batches of 16 with
/// 0 others and then with 7; the others see 1 to 7 as they begin.
#[test]
fn rounds_last_longer_the_more_spin() {
    assert_eq!([rounds_of(1, 0), rounds_of(1, 30_000)], [(200 * 50, 1); 2]);
    assert_eq!(rounds_of(8, 0), (8 * 200 * 50, 8));
    let (spun, sleeps) = rounds_of(8, 30_000);
    let at_most = 8 * 200 * (50 + 7 * 30);
    assert_eq!(sleeps, 8);
    assert!((at_most * 8 / 10..at_most).contains(&spun), "{spun} of {at_most} ns");
}
