//! The same run again, continued from a clone, with another event queue: the same digest every time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{self, Build, Log, MS, US, cpu, priced_machine, setup, sleep, work};
use fairground_machine::Machine;
use fairground_model::features::{Feat, FeatWrite};
use fairground_model::{Change, Instr, Mode, NullSink, Policy, TaskSet};
use fairground_sim::{Flow, QueueKind, Setup, Simulation};
use fairground_stdx::{CpuMask, Instant, Ns, RngStream, StreamKind};

/// A bit of everything: random bursts, timers with slack, pipes, forks, changes from inside and outside.
fn mixed_set() -> TaskSet {
    let mut set = TaskSet::default();
    let (ping, pong) = (set.pipe(2), set.pipe(2));
    set.task("hog", vec![work(u64::MAX)]);
    set.task("light", vec![work(u64::MAX)]);
    let random = Instr::RunBetween { low: Ns(20 * US), high: Ns(900 * US), mode: Mode::User };
    let nap = Instr::SleepBetween { low: Ns(50 * US), high: Ns(3 * MS) };
    for name in ["sleeper0", "sleeper1"] {
        let sleeper = set.task(name, vec![random.clone(), nap.clone(), Instr::Jump { to: 0 }]);
        set.tasks[sleeper].timer_slack = Ns(50 * US);
    }
    let kernel = Instr::Run { work: Ns(300 * US), mode: Mode::Kernel };
    let write = |pipe| Instr::Write { pipe, value: None };
    set.task("ping", vec![write(ping), kernel, Instr::Read { pipe: pong, into: 1 }, Instr::Jump { to: 0 }]);
    set.task("pong", vec![Instr::Read { pipe: ping, into: 1 }, write(pong), Instr::Yield, Instr::Jump { to: 0 }]);
    let child = set.task("child", vec![work(5 * MS), Instr::SetNice { nice: 10 }, work(5 * MS)]);
    set.tasks[child].start = fairground_model::Start::Forked;
    set.task("parent", vec![sleep(3 * MS), Instr::Fork { task: child }, Instr::WaitChildren, Instr::Exit]);
    let (hog, light) = (fairground_stdx::TaskId::new(0), fairground_stdx::TaskId::new(1));
    set.at(11 * MS, Change::Nice { task: hog, nice: 5 });
    set.at(17 * MS, Change::Affinity { task: light, cpus: CpuMask::only(cpu(1)) });
    set.at(23 * MS, Change::Policy { task: light, policy: Policy::Idle });
    set.at(29 * MS, Change::FreqCapacity { cpu: cpu(0), freq_capacity: 700 });
    set.at(31 * MS, Change::Feature(FeatWrite { feat: Feat::NEXT_BUDDY, on: true }));
    set
}

fn mixed(prices: &str, seed: u64) -> Setup {
    let mut machine: Machine = priced_machine(2, prices);
    machine.tick_jitter = Ns(40 * US);
    let mut setup = setup(machine, "v5.19", mixed_set(), 60 * MS);
    setup.seed = seed;
    setup
}

fn digest_of(queue: QueueKind, setup: Setup) -> (u128, u64) {
    let mut simulation = Simulation::with_queue(queue, setup).unwrap();
    simulation.run(&mut NullSink).unwrap();
    (simulation.digest(), simulation.counts().events())
}

const PRICES: [&str; 3] = ["zero", "unit", "xeon-spr"];

#[test]
fn runs_are_equal_twice_and_differ_by_seed() {
    for prices in PRICES {
        let first = digest_of(QueueKind::Fast, mixed(prices, 1));
        assert!(first.1 > 200, "{prices}: {} events", first.1);
        assert_eq!(first, digest_of(QueueKind::Fast, mixed(prices, 1)), "{prices}");
        assert_ne!(first, digest_of(QueueKind::Fast, mixed(prices, 2)), "{prices}");
    }
}

#[test]
fn a_plain_heap_gives_the_same_run() {
    for (prices, seed) in PRICES.into_iter().zip(1..) {
        assert_eq!(digest_of(QueueKind::Fast, mixed(prices, seed)), digest_of(QueueKind::Heap, mixed(prices, seed)), "{prices}");
    }
}

/// Clones taken after a random number of events lie in mid-phase too, as a phase is several events.
#[test]
fn a_clone_continues_to_the_same_digest() {
    let mut random = RngStream::new(7, StreamKind::Vopr, 0);
    for prices in PRICES {
        let whole = digest_of(QueueKind::Fast, mixed(prices, 3));
        let mut original = Simulation::new(mixed(prices, 3)).unwrap();
        let mut clones = Vec::new();
        let mut flow = Flow::More;
        while flow == Flow::More {
            if random.below(whole.1 / 20) == 0 {
                clones.push(original.clone());
            }
            flow = original.step(&mut NullSink).unwrap();
        }
        assert_eq!((original.digest(), original.counts().events()), whole, "{prices}");
        assert!(clones.len() > 5, "{prices}: {} clones", clones.len());
        for mut clone in clones {
            let from = clone.now();
            clone.run(&mut NullSink).unwrap();
            assert_eq!((clone.digest(), clone.counts().events()), whole, "{prices}, cloned at {from:?}");
        }
    }
}

/// Running on in pieces of time is the same as running through.
#[test]
fn pieces_make_the_whole() {
    let whole = digest_of(QueueKind::Fast, mixed("xeon-spr", 4));
    let mut simulation = Simulation::new(mixed("xeon-spr", 4)).unwrap();
    let mut piece = 0;
    while simulation.run_until(Instant::from_ns(piece), &mut NullSink).unwrap() == Flow::More {
        piece += 777_777;
    }
    assert_eq!((simulation.digest(), simulation.counts().events()), whole);
}

#[test]
fn a_run_that_is_over_stays_over() {
    let mut set = TaskSet::default();
    set.pinned("short", 0, vec![work(500 * US)]);
    let mut machine = common::free_machine(2, 1000);
    machine.nohz_idle = false;
    let mut simulation = Simulation::new(setup(machine, "v5.19", set, 10 * MS)).unwrap();
    let end = simulation.run(&mut NullSink).unwrap();
    let (digest, counts) = (simulation.digest(), simulation.counts());
    assert_eq!((end.at.ns(), counts.ticks), (500 * US, 0));
    assert_eq!(simulation.run(&mut NullSink), Ok(end));
    assert_eq!(simulation.step(&mut NullSink), Ok(Flow::Done));
    assert_eq!(simulation.run_until(Instant::MAX, &mut NullSink), Ok(Flow::Done));
    assert_eq!((simulation.digest(), simulation.counts(), simulation.now()), (digest, counts, end.at));
}

/// What the sleepers of [`drawers`] drew, by marker.
fn draws(setup: Setup, tasks: usize) -> Vec<Vec<u64>> {
    let log = Log::of(setup);
    let marker = fairground_stdx::MarkerId::new(0);
    let values = |task| log.marks(fairground_stdx::TaskId::new(task), marker).iter().map(|mark| mark.1).collect();
    (0..tasks as u32).map(values).collect()
}

/// Tasks that are alone on their CPUs and report how long each of their random bursts took.
fn drawers(count: u32, cpus: u32) -> Setup {
    let mut set = TaskSet::default();
    let marker = set.marker("burst");
    let random = Instr::RunBetween { low: Ns(1), high: Ns(MS), mode: Mode::User };
    for row in 0..count {
        let mark = Instr::MarkSince { marker, reg: 0 };
        set.pinned("drawer", row, vec![Instr::Now { reg: 0 }, random.clone(), mark, sleep(10 * US), common::repeat(20)]);
    }
    setup(common::free_machine(cpus as usize, 1000), "v5.19", set, 100 * MS)
}

#[test]
fn another_task_changes_nobodys_random_numbers() {
    let two = draws(drawers(2, 4), 2);
    let three = draws(drawers(3, 4), 3);
    assert_eq!(two[0].len(), 20);
    assert_eq!(two[..], three[..2]);
    assert_ne!(three[1], three[2]);
}
