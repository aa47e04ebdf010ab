//! Run-queue locks: who waits for whom, and for how long.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, asleep_until, busy_until, cpu, priced_machine, setup, work};
use fairground_machine::Machine;
use fairground_model::{Change, Instr, NullSink, Op, Section, TaskSet};
use fairground_sim::{Flow, QueueKind, Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

/// Each of `wakers` CPUs wakes a task of its own on the last CPU, which computes, at 10 ms.
fn wakers(wakers: u32) -> TaskSet {
    let mut set = TaskSet::default();
    for row in 0..wakers {
        let pipe = set.pipe(1);
        let mut code = busy_until(10 * MS).to_vec();
        code.extend([Instr::Write { pipe, value: None }, work(u64::MAX)]);
        set.pinned("waker", row, code);
        set.pinned("reader", wakers, vec![Instr::Read { pipe, into: 0 }, work(MS)]);
    }
    set.pinned("hog", wakers, vec![work(u64::MAX)]);
    set
}

/// How often each CPU has spun, and for how long.
fn spun(simulation: &Simulation, cpu: CpuId) -> (u64, u64) {
    let row = simulation.kernel_time(cpu).find(|row| row.0 == Section::LockWait).unwrap();
    (row.1, row.2.0)
}

/// What a wake-up costs under the lock is the enqueue, 150 ns, as it need not interrupt anybody: the hog stays. All fetch the
/// lines of the run queue at once, so each comes to the lock 60 ns after the one before.
#[test]
fn wakers_get_the_lock_one_after_the_other() {
    let mut machine = priced_machine(4, "xeon-spr");
    machine.hz = 100;
    machine.tick = Ns::from_ms(10);
    machine.tick_offset = Ns::from_us(100);
    let mut setup = setup(machine, "v5.19", wakers(3), 10 * MS + 20_000);
    setup.profile = setup.profile.with_feature("NO_WAKEUP_PREEMPTION").unwrap();
    let (_, simulation, _) = Log::and_simulation(setup);
    let [held, handover, later] = [150, 140, 60];
    let after_one = held + handover - later;
    assert_eq!([0, 1, 2].map(|number| spun(&simulation, cpu(number))), [(0, 0), (1, after_one), (1, 2 * after_one)]);
    assert_eq!(simulation.op_total(Op::LockHandoff), 2);
}

#[test]
fn without_prices_nobody_waits() {
    for prices in ["zero", "icount"] {
        let (_, simulation, _) = Log::and_simulation(setup(priced_machine(4, prices), "v5.19", wakers(3), 20 * MS));
        assert_eq!([0, 1, 2, 3].map(|number| spun(&simulation, cpu(number))), [(0, 0); 4], "{prices}");
    }
}

/// Many tasks on 8 CPUs of two sockets that wake one another all the time, at prices that make locks held for long; CPUs
/// go off line and come back.
fn crowd(profile_name: &str) -> Setup {
    let mut set = TaskSet::default();
    let pipes: Vec<_> = (0..24).map(|_| set.pipe(1)).collect();
    for row in 0..24_usize {
        let mut code = asleep_until(1000 * row as u64).to_vec();
        code.extend([
            Instr::Write { pipe: pipes[row], value: None },
            work(3_000 + 500 * row as u64),
            Instr::Read { pipe: pipes[(row + 7) % 24], into: 0 },
            Instr::Repeat { counter: 0, times: 10_000, to: 2 },
        ]);
        let task = set.task("task", code);
        set.tasks[task].affinity = (row % 5 == 0).then(|| CpuMask::from_iter([cpu(1), cpu(6)]));
        set.tasks[task].mm = row as u32;
    }
    for (ms, number, online) in [(3, 1, false), (4, 6, true), (5, 1, true), (6, 6, false), (8, 6, true)] {
        set.at(ms * MS, Change::Hotplug { cpu: cpu(number), online });
    }
    let mut machine = Machine::preset("spr-2x56").unwrap();
    machine.cpus = (0..8)
        .map(|row| {
            let mut spec = machine.cpus[cpu(56 * (row % 2) + row / 2)].clone();
            (spec.core, spec.node) = (row, spec.package);
            spec
        })
        .collect();
    for op in [Op::Enqueue, Op::Dequeue, Op::LockHandoff, Op::LockHandoffSocket] {
        machine.costs.prices_ps[op as usize] *= 20;
    }
    setup(machine, profile_name, set, 10 * MS)
}

#[test]
fn a_crowd_that_waits_for_locks_gets_on_and_its_run_can_be_copied() {
    for name in ["v4.12", "v5.10", "v6.1", "v6.12", "v6.18"] {
        let mut whole = Simulation::new(crowd(name)).unwrap();
        whole.run(&mut NullSink).unwrap();
        let waits: u64 = (0..8).map(|number| spun(&whole, cpu(number)).0).sum();
        assert!(waits > 100, "{name}: {waits} waits in {:?}", whole.counts());
        assert!(whole.op_total(Op::LockHandoff) + whole.op_total(Op::LockHandoffSocket) >= waits - 8);

        let mut copied = Simulation::with_queue(QueueKind::Heap, crowd(name)).unwrap();
        let mut at = Instant::ZERO;
        while copied.run_until(at, &mut NullSink).unwrap() == Flow::More {
            copied = copied.clone();
            at += Ns(333_333);
        }
        assert_eq!(whole.digest(), copied.digest(), "{name}");
        assert_eq!(whole.digest(), Log::of(crowd(name)).digest, "{name}");
    }
}
