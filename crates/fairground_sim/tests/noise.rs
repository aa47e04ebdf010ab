//! Interrupts of devices and time that a host steals: who loses it, and what the clocks say.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::{Build, MS, cpu, free_machine, profile, repeat, sleep, work};
use fairground_model::{Gap, Instr, MarkerSpec, MarkerUnit, NoiseKind, NoiseSpec, NullSink, Section, Sink, TaskSet, TraceEvent};
use fairground_sim::{Ending, QueueKind, Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

const KERNELS: [&str; 5] = ["v4.12", "v5.1", "v5.19", "v6.12", "v6.18"];

fn noise(kind: NoiseKind, every_us: u64, length_us: u64) -> NoiseSpec {
    let every = Ns::from_us(every_us);
    NoiseSpec {
        kind,
        cpus: Some(CpuMask::only(cpu(0))),
        start: Instant::ZERO,
        gap: Gap::Between(every, every),
        length: (Ns::from_us(length_us), Ns::from_us(length_us)),
    }
}

fn setup(set: TaskSet, name: &str, accounting: bool, ms: u64) -> Setup {
    let mut machine = free_machine(2, 1000);
    machine.irq_time_accounting = accounting;
    Setup { machine, profile: profile(name), tasks: set, seed: 1, duration: Ns::from_ms(ms), paranoid: true }
}

/// Run times by task, and exits.
#[derive(Default)]
struct Log {
    runtime: [u64; 4],
    exits: Vec<u64>,
    marks: Vec<u64>,
}

impl Sink for Log {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedStatRuntime { task, runtime, .. } => self.runtime[task.get() as usize] += runtime.0,
            TraceEvent::SchedProcessExit { .. } => self.exits.push(at.ns() / 1000),
            TraceEvent::Marker { value, .. } => self.marks.push(value),
            _ => {}
        }
    }
}

fn run(setup: Setup) -> (Log, Simulation, Ending) {
    let mut simulation = Simulation::new(setup).unwrap();
    let mut log = Log::default();
    let end = simulation.run(&mut log).unwrap();
    (log, simulation, end.ending)
}

/// 100 ms of work, and 0.1 ms of each ms gone: 111 ms, in which 110 of them came. Run time is what the clock of tasks says.
#[test]
fn interrupts_take_time_and_are_accounted_or_not() {
    for name in KERNELS {
        for (kind, accounting, expected) in [
            (NoiseKind::Interrupt, true, 100_000..=100_000),
            (NoiseKind::Interrupt, false, 111_000..=111_000),
            (NoiseKind::Stolen { told: true }, false, 100_000..=100_000),
            (NoiseKind::Stolen { told: false }, true, 111_000..=111_000),
        ] {
            let mut set = TaskSet::default();
            set.pinned("works", 0, vec![work(100 * MS)]);
            set.noise.push(noise(kind, 1000, 100));
            let (log, simulation, _) = run(setup(set, name, accounting, 500));
            assert_eq!(log.exits, [111_000], "{name} {kind:?}");
            assert!(expected.contains(&(log.runtime[0] / 1000)), "{name} {kind:?} {accounting}: {}", log.runtime[0]);
            let section = if kind == NoiseKind::Interrupt { Section::DeviceInterrupt } else { Section::Stolen };
            let row = simulation.kernel_time(cpu(0)).find(|row| row.0 == section).unwrap();
            assert_eq!((row.1, row.2), (110, Ns::from_us(11_000)), "{name} {kind:?}");
            assert!(simulation.kernel_time(cpu(1)).all(|row| row.0 != section || row.1 == 0));
        }
    }
}

/// A CPU that serves interrupts for half of its time has half of its capacity left for fair tasks.
#[test]
fn both_take_off_capacity() {
    for name in KERNELS {
        for kind in [NoiseKind::Interrupt, NoiseKind::Stolen { told: true }] {
            for (feature, range) in [("NONTASK_CAPACITY", 400..=620), ("NO_NONTASK_CAPACITY", 1024..=1024)] {
                let mut set = TaskSet::default();
                set.pinned("hog", 0, vec![work(1_000_000 * MS)]);
                set.pinned("beside", 1, vec![work(1_000_000 * MS)]);
                set.noise.push(noise(kind, 4000, 2000));
                let mut setup = setup(set, name, true, 1900);
                setup.profile = setup.profile.with_feature(feature).unwrap();
                let (_, simulation, _) = run(setup);
                let left = simulation.sched().capacity_for_fair(cpu(0));
                assert!(range.contains(&left), "{name} {kind:?} {feature}: {left}");
                assert_eq!(simulation.sched().capacity_for_fair(cpu(1)), 1024);
            }
        }
    }
}

/// An idle CPU is stolen from 4 to 7 ms: a timer at 5 ms is served at 7, one at 8 on time.
#[test]
fn who_wakes_on_a_stolen_cpu_begins_late() {
    let late = |kind, until: u64| {
        let mut set = TaskSet::default();
        let marker = set.markers.push(MarkerSpec { name: "late".into(), unit: MarkerUnit::Ns });
        let due = Instant::from_ns(until * MS);
        let code =
            vec![Instr::Set { reg: 0, at: due }, Instr::SleepUntil { reg: 0 }, Instr::MarkSince { marker, reg: 0 }, work(1)];
        let task = set.pinned("sleeper", 0, code);
        set.tasks[task].timer_slack = Ns::ZERO;
        set.noise.push(noise(kind, 4000, 3000));
        run(setup(set, "v6.1", true, 100)).0.marks[0] / 1000
    };
    let stolen = NoiseKind::Stolen { told: true };
    assert_eq!([3, 5, 8].map(|until| late(stolen, until)), [0, 2000, 3000]);
    assert_eq!([3, 5].map(|until| late(NoiseKind::Interrupt, until)), [0, 2000]);
}

/// Noise alone is a run, and no task of a run waits for its end.
#[test]
fn a_run_ends_with_its_tasks() {
    let mut set = TaskSet::default();
    set.noise.push(noise(NoiseKind::Interrupt, 1000, 100));
    let (_, simulation, ending) = run(setup(set.clone(), "v6.1", true, 50));
    assert_eq!((ending, simulation.now()), (Ending::Duration, Instant::from_ns(50 * MS)));
    set.pinned("short", 1, vec![work(5 * MS)]);
    assert_eq!(run(setup(set, "v6.1", true, 50)).2, Ending::AllExited);
}

fn busy_set() -> TaskSet {
    let mut set = TaskSet::default();
    for row in 0..3 {
        set.task("task", vec![work(MS + row), sleep(MS), repeat(1_000)]);
    }
    let random = |kind, mean| NoiseSpec { gap: Gap::Exponential(Ns::from_us(mean)), cpus: None, ..noise(kind, 1, 60) };
    set.noise.push(random(NoiseKind::Interrupt, 500));
    set.noise.push(random(NoiseKind::Stolen { told: true }, 2_000));
    set.at(30 * MS, fairground_model::Change::Hotplug { cpu: cpu(1), online: false });
    set.at(60 * MS, fairground_model::Change::Hotplug { cpu: cpu(1), online: true });
    set
}

#[test]
fn both_queues_and_a_clone_give_one_run() {
    for name in KERNELS {
        let mut fast = Simulation::new(setup(busy_set(), name, true, 100)).unwrap();
        let mut heap = Simulation::with_queue(QueueKind::Heap, setup(busy_set(), name, true, 100)).unwrap();
        fast.run_until(Instant::from_ns(45 * MS), &mut NullSink).unwrap();
        let mut copy = fast.clone();
        for simulation in [&mut fast, &mut copy] {
            simulation.run(&mut NullSink).unwrap();
        }
        heap.run(&mut NullSink).unwrap();
        assert_eq!(fast.digest(), heap.digest(), "{name}");
        assert_eq!(fast.digest(), copy.digest(), "{name}");
    }
}

#[test]
fn noise_that_cannot_be_is_refused() {
    let mut set = TaskSet::default();
    set.pinned("task", 0, vec![work(MS)]);
    set.noise.push(noise(NoiseKind::Interrupt, 100, 100));
    set.noise.push(NoiseSpec { cpus: CpuMask::parse_list("7"), ..noise(NoiseKind::Interrupt, 100, 10) });
    let refused = Simulation::new(setup(set, "v6.1", true, 10)).err().unwrap();
    assert_eq!(refused.0.len(), 2, "{refused}");
}
