//! HRTICK in the engine: turns end when the slice ends, and the tick has the rest. Every run is checked after every few
//! events.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, Stay, US, cpu, free_machine, hogs, priced_machine, sleep, work};
use fairground_machine::Machine;
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{Change, Instr, Mode, NullSink, Reason, TaskSet, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{QueueKind, Setup, Simulation};
use fairground_stdx::{CpuMask, Ns, TaskId};

const KERNELS: [&str; 6] = ["v4.12", "v5.19", "v6.1", "v6.6", "v6.12", "v6.18"];

/// A run with the kernel's own tunables and these switches.
fn with(machine: Machine, kernel: &str, switches: &[&str], tasks: TaskSet, duration: u64) -> Setup {
    let profile = switches.iter().fold(Profile::parse(kernel).unwrap(), |profile, text| profile.with_feature(text).unwrap());
    Setup { machine, profile, tasks, seed: 1, duration: Ns(duration), paranoid: true }
}

fn count(log: &Log, wanted: Reason) -> usize {
    let made = |row: &&(u64, _, TraceEvent)| matches!(row.2, TraceEvent::Decision(decision) if decision.reason == wanted);
    log.events.iter().filter(made).count()
}

fn lengths(log: &Log) -> Vec<u64> {
    log.stays().iter().map(|stay: &Stay| stay.ns).collect()
}

/// Three equal hogs on one CPU share 6 ms (CFS) or take 0.70 to 0.75 ms each (EEVDF); ticks are 4 ms apart.
#[test]
fn turns_end_with_the_slice_and_not_at_the_next_tick() {
    for kernel in KERNELS {
        let run = |switches: &[&str]| Log::of(with(free_machine(1, 250), kernel, switches, hogs(&[0; 3]), 400 * MS));
        let (off, on) = (run(&[]), run(&["HRTICK"]));
        assert_eq!(count(&off, Reason::TickHrtick), 0, "{kernel}");
        assert!(lengths(&off).iter().all(|ns| ns % (4 * MS) == 0), "{kernel}: {:?}", lengths(&off));
        let longest = if Profile::parse(kernel).unwrap().pick.is_eevdf() { 750 * US } else { 2 * MS };
        let ends = lengths(&on).iter().filter(|&&ns| ns <= longest).count();
        assert!(ends * 10 > lengths(&on).len() * 9, "{kernel}: {ends} of {} turns end early", lengths(&on).len());
        assert!(count(&on, Reason::TickHrtick) > 150, "{kernel}");
    }
}

/// Two hogs share 6 ms; the ticks of HZ 1000 lie within their slices.
#[test]
fn the_tick_asks_beside_an_armed_timer_only_with_double_tick() {
    let run = |switches: &[&str]| Log::of(with(free_machine(1, 1000), "v5.19", switches, hogs(&[0, 5]), 300 * MS));
    let asks = |log: &Log| count(log, Reason::TickWithinSlice) + count(log, Reason::TickNotAhead) + count(log, Reason::TickAhead);
    let (single, double) = (run(&["HRTICK"]), run(&["HRTICK", "DOUBLE_TICK"]));
    assert!(count(&single, Reason::TickLeftToHrtick) > 100);
    assert_eq!(count(&double, Reason::TickLeftToHrtick), 0);
    assert!(asks(&double) > asks(&single) + 100, "{} and {}", asks(&double), asks(&single));
    let off = run(&["DOUBLE_TICK"]);
    assert_eq!(off.digest, run(&[]).digest, "without HRTICK nothing is armed");
}

/// A hog alone has no turn that could end; a task that joins it from another CPU has its timer armed by an interrupt.
#[test]
fn the_timer_is_armed_when_a_second_task_comes() {
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        let pipe = set.pipe(1);
        set.pinned("hog", 0, vec![work(u64::MAX)]);
        set.pinned("late", 0, vec![Instr::Read { pipe, into: 0 }, work(20 * MS)]);
        set.pinned("waker", 1, vec![sleep(50 * MS), Instr::Write { pipe, value: None }, Instr::Exit]);
        let log = Log::of(with(free_machine(2, 100), kernel, &["HRTICK", "NO_WAKEUP_PREEMPTION"], set, 200 * MS));
        // Before that the two have begun together, and one has gone to sleep.
        let fired = |row: &&(u64, _, TraceEvent)| {
            row.0 > 40 * MS && matches!(row.2, TraceEvent::Decision(decision) if decision.reason == Reason::TickHrtick)
        };
        let first = log.events.iter().find(fired).unwrap().0;
        assert!((50 * MS + 10 * US..56 * MS).contains(&first), "{kernel}: first at {first}");
        let last = log.events.iter().rfind(fired).unwrap().0;
        assert!(last < 100 * MS, "{kernel}: alone again, but it fires at {last}");
    }
}

/// CPU 0 goes off line while a task of it is in the kernel, and cannot give way before 6 ms. Its timer rings there: CPU 1 has one task, and no
/// timer of its own.
#[test]
fn the_timer_of_a_cpu_that_is_being_left_rings_on_that_cpu() {
    for kernel in ["v6.12", "v7.2"] {
        let mut set = TaskSet::default();
        let in_kernel = Instr::Run { work: Ns(6 * MS), mode: Mode::Kernel };
        set.pinned("first", 0, vec![Instr::Enter, in_kernel, Instr::Leave, work(20 * MS)]);
        set.pinned("second", 0, vec![work(20 * MS)]);
        set.pinned("elsewhere", 1, vec![work(20 * MS)]);
        set.at(500 * US, Change::Hotplug { cpu: cpu(0), online: false });
        let mut setup = with(free_machine(2, 100), kernel, &["HRTICK"], set, 8 * MS);
        setup.profile = setup.profile.with_seam("preemption", "none").unwrap();
        let log = Log::of(setup);
        let fired = |row: &&(u64, _, TraceEvent)| {
            row.0 < 6 * MS && matches!(row.2, TraceEvent::Decision(decision) if decision.reason == Reason::TickHrtick)
        };
        let on: Vec<_> = log.events.iter().filter(fired).map(|row| row.1).collect();
        assert!(!on.is_empty() && on.iter().all(|&on| on == cpu(0)), "{kernel}: {on:?}");
    }
}

/// Sleepers, hogs and a pipe on three CPUs with changes of everything and CPUs that come and go.
fn restless() -> TaskSet {
    let mut set = hogs(&[0, 0, 5, -5]);
    let (ping, pong) = (set.pipe(1), set.pipe(2));
    let (write, read) = (|pipe| Instr::Write { pipe, value: None }, |pipe| Instr::Read { pipe, into: 0 });
    set.task("ping", vec![work(40 * US), write(ping), read(pong), Instr::Jump { to: 0 }]);
    set.task("pong", vec![read(ping), work(30 * US), write(pong), Instr::Jump { to: 0 }]);
    let sleepers: Vec<TaskId> = (0..8)
        .map(|row| set.task("sleeper", vec![work((400 + 130 * row) * US), sleep((250 + 77 * row) * US), Instr::Jump { to: 0 }]))
        .collect();
    for step in 0..90 {
        let (task, number) = (sleepers[step % sleepers.len()], step as u32);
        let change = match step % 5 {
            0 => Change::Nice { task, nice: (step % 11) as i8 - 5 },
            1 => Change::Affinity { task, cpus: CpuMask::first_n(1 + step % 3) },
            2 => Change::Hotplug { cpu: cpu(1 + number % 2), online: step % 10 == 7 },
            3 => Change::Feature(FeatWrite { feat: Feat::HRTICK, on: step % 4 != 0 }),
            _ => Change::Affinity { task, cpus: CpuMask::first_n(3) },
        };
        set.at(2_300 * US * (step as u64 + 1) + 13 * step as u64, change);
    }
    set
}

fn digest_of(queue: QueueKind, setup: Setup) -> u128 {
    let mut simulation = Simulation::with_queue(queue, setup).unwrap();
    simulation.run(&mut NullSink).unwrap();
    simulation.digest()
}

#[test]
fn all_invariants_hold_and_a_plain_heap_gives_the_same_run() {
    for kernel in KERNELS {
        for machine in [free_machine(3, 250), priced_machine(3, "xeon-spr")] {
            let setup = with(machine, kernel, &["HRTICK"], restless(), 240 * MS);
            assert_eq!(digest_of(QueueKind::Fast, setup.clone()), digest_of(QueueKind::Heap, setup), "{kernel}");
        }
    }
}
