//! Balance as the engine runs it: softirq, newidle, kicks and the stopper, in phases that take time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, asleep_until, cpu, free_machine, hogs, priced_machine, setup, sleep, work};
use fairground_machine::{IdleState, Machine};
use fairground_model::{Change, Instr, Op, Section, TaskSet, TraceEvent};
use fairground_sim::{QueueKind, Simulation};
use fairground_stdx::{CpuMask, Ns, TaskId};

const KERNELS: [&str; 9] = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.18"];

fn machines() -> [Machine; 3] {
    [free_machine(4, 250), priced_machine(4, "xeon-spr"), priced_machine(4, "unit")]
}

fn section_time(simulation: &Simulation, section: Section) -> u64 {
    let cpus = (0..simulation.sched().cpu_ids().count() as u32).map(cpu);
    cpus.flat_map(|cpu| simulation.kernel_time(cpu)).filter(|row| row.0 == section).map(|row| row.2.0).sum()
}

/// Eight hogs that were bound to one CPU are set free, and spread over all four.
#[test]
fn freed_hogs_spread() {
    for kernel in KERNELS {
        for machine in machines() {
            let mut set = hogs(&[0; 8]);
            for row in 0..8 {
                let task = TaskId::new(row);
                set.tasks[task].affinity = Some(CpuMask::only(cpu(0)));
                set.at(20 * MS, Change::Affinity { task, cpus: CpuMask::first_n(4) });
            }
            let name = machine.costs.name.clone();
            let (_, simulation, _) = Log::and_simulation(setup(machine, kernel, set, 2_000 * MS));
            let counts: Vec<u32> = (0..4).map(|number| simulation.sched().rq(cpu(number)).nr_running).collect();
            assert_eq!(counts, [2; 4], "{kernel}, {name}");
            if name != "zero" {
                assert!(section_time(&simulation, Section::SchedSoftirq) > 0, "{kernel}, {name}");
            }
        }
    }
}

/// A CPU that runs out of work pulls a waiting task; until its switch the leaving task is current.
#[test]
fn a_cpu_that_runs_dry_pulls() {
    let mut newidle = 0;
    for kernel in KERNELS {
        let mut set = TaskSet::default();
        for _ in 0..3 {
            set.pinned("pinned", 0, vec![work(u64::MAX)]);
        }
        let free = set.task("free", vec![work(u64::MAX)]);
        set.tasks[free].first_cpu = Some(cpu(0));
        set.tasks[free].affinity = Some(CpuMask::first_n(2));
        set.pinned("napper", 1, vec![work(40 * MS), sleep(MS), Instr::Jump { to: 0 }]);
        let (log, simulation, _) = Log::and_simulation(setup(priced_machine(2, "unit"), kernel, set, 1_000 * MS));
        assert_eq!(simulation.sched().task(free).cpu, cpu(1), "{kernel}");
        assert!(simulation.op_total(Op::LbAttach) > 0, "{kernel}");
        newidle += section_time(&simulation, Section::NewidleBalance);
        let pulled = log.events.iter().any(|row| matches!(row.2, TraceEvent::SchedMigrateTask { task, .. } if task == free));
        assert!(pulled, "{kernel}");
    }
    assert!(newidle > 0);
}

/// Tasks that sleep and wake, and talk over pipes, while others compute.
fn restless(tasks: u64) -> TaskSet {
    let mut set = hogs(&[0, 0, 5]);
    for row in 0..tasks {
        set.task("sleeper", vec![work((90 + 37 * row) * US), sleep((60 + 53 * row) * US), Instr::Jump { to: 0 }]);
    }
    let (ping, pong) = (set.pipe(1), set.pipe(1));
    let (write, read) = (|pipe| Instr::Write { pipe, value: None }, |pipe| Instr::Read { pipe, into: 0 });
    set.task("ping", vec![work(20 * US), write(ping), read(pong), Instr::Jump { to: 0 }]);
    set.task("pong", vec![read(ping), work(10 * US), write(pong), Instr::Jump { to: 0 }]);
    set
}

fn two_caches(prices: &str) -> Machine {
    let mut machine = priced_machine(8, prices);
    for number in 4..8 {
        machine.cpus[cpu(number)].llc = 1;
        machine.cpus[cpu(number)].package = 1;
    }
    machine
}

/// Invariants hold in between, as in every set-up of these tests.
#[test]
fn both_queues_give_one_run() {
    let mut listed = 0;
    for kernel in KERNELS {
        for prices in ["zero", "unit", "icount"] {
            let setup = || setup(two_caches(prices), kernel, restless(12), 60 * MS);
            let mut fast = Simulation::with_queue(QueueKind::Fast, setup()).unwrap();
            let mut heap = Simulation::with_queue(QueueKind::Heap, setup()).unwrap();
            fast.run(&mut fairground_model::NullSink).unwrap();
            heap.run(&mut fairground_model::NullSink).unwrap();
            assert_eq!((fast.digest(), fast.counts()), (heap.digest(), heap.counts()), "{kernel}, {prices}");
            listed += fast.op_total(Op::WakeListTask);
        }
    }
    assert!(listed > 100, "{listed} wake-ups were finished by their targets");
}

fn with_states(mut machine: Machine, polling: bool) -> Machine {
    let state = |name: &str, exit: u64, residency: u64| IdleState {
        name: name.into(),
        exit_latency: Ns::from_us(exit),
        exit_time: Ns::from_us(exit),
        target_residency: Ns::from_us(residency),
        polling,
    };
    machine.idle_states = vec![state("C1", 2, 2), state("C6", 133, 400)];
    machine
}

/// A deep state delays a wake-up by its exit latency; one that polls needs no interrupt.
#[test]
fn idle_states_cost_their_exit_latency() {
    for (gap_us, latency_us) in [(100, 2), (2_000, 133)] {
        let mut set = TaskSet::default();
        let task = set.pinned("timer", 0, vec![work(50 * US), sleep(gap_us * US), Instr::Jump { to: 0 }]);
        let log = Log::of(setup(with_states(free_machine(1, 250), true), "v6.1", set, 100 * MS));
        let starts: Vec<u64> = log
            .events
            .iter()
            .filter(|row| matches!(row.2, TraceEvent::SchedSwitch { next, .. } if next == Some(task)))
            .map(|row| row.0)
            .collect();
        for pair in starts[2..].windows(2) {
            assert_eq!(pair[1] - pair[0], (50 + gap_us + latency_us) * US);
        }
    }
    let woken = |polling| {
        let set = restless(4);
        let (_, simulation, _) = Log::and_simulation(setup(with_states(two_caches("unit"), polling), "v6.1", set, 60 * MS));
        (simulation.op_total(Op::IpiSend), simulation.op_total(Op::IpiBody), simulation.counts().wakeups)
    };
    let ((sent, served, wakeups), interrupted) = (woken(true), woken(false));
    assert!(wakeups > 100 && sent * 4 < interrupted.0 && served * 4 < interrupted.1, "{sent} {served} {interrupted:?}");
}

/// A CPU is asked to go while it looks for work elsewhere, and the task that leaves it is being woken: it ends its schedule()
/// first, and the task goes on somewhere else.
#[test]
fn a_cpu_goes_at_the_end_of_its_schedule() {
    let mut machine = Machine::preset("spr-2x56").unwrap();
    machine.costs = priced_machine(1, "xeon-spr").costs;
    for kernel in KERNELS {
        for gone in (0..20).map(|step| 3_002 * US + step * 2 * US) {
            let mut set = TaskSet::default();
            let pipe = set.pipe(16);
            let read = || Instr::Read { pipe, into: 0 };
            let reader = set.pinned("reader", 3, vec![work(3 * MS), read(), work(5 * US), read()]);
            set.pinned("writer", 60, vec![work(3_003 * US), Instr::Write { pipe, value: None }]);
            (0..3).for_each(|_| _ = set.pinned("hog", 0, vec![work(u64::MAX)]));
            set.at(gone, Change::Hotplug { cpu: cpu(3), online: false });
            let log = Log::of(setup(machine.clone(), kernel, set, 20 * MS));
            assert!(log.runtime(reader) >= 3_005 * US, "{kernel}, {gone}: {} ns", log.runtime(reader));
        }
    }
}

/// CPUs go and come while tasks sleep, wake and compute everywhere: nothing is lost, and nobody runs on a CPU that is gone.
#[test]
fn cpus_come_and_go() {
    for kernel in KERNELS {
        for (prices, nohz_idle) in [("zero", true), ("unit", true), ("xeon-spr", false)] {
            let mut machine = two_caches(prices);
            machine.nohz_idle = nohz_idle;
            let mut set = restless(12);
            for step in 0..24 {
                let gone = cpu((3 * step + 1) as u32 % 8);
                set.at(5 * MS * step + 7 * US, Change::Hotplug { cpu: gone, online: false });
                set.at(5 * MS * step + 9 * MS, Change::Hotplug { cpu: gone, online: true });
            }
            let last = cpu(7);
            set.at(150 * MS, Change::Hotplug { cpu: last, online: false });
            let setup = setup(machine, kernel, set, 200 * MS);
            let (log, simulation, end) = Log::and_simulation(setup.clone());
            assert_eq!(end.at.ns(), 200 * MS, "{kernel}, {prices}");
            let ran_there = |row: &&(u64, _, TraceEvent)| {
                row.0 > 151 * MS && row.1 == last && matches!(row.2, TraceEvent::SchedSwitch { next: Some(_), .. })
            };
            assert_eq!(log.events.iter().find(ran_there), None, "{kernel}, {prices}");
            let late = log.events.iter().filter(|row| row.0 > 190 * MS && matches!(row.2, TraceEvent::SchedWakeup { .. }));
            assert!(late.count() > 100, "{kernel}, {prices}: sleepers still wake");
            let mut heap = Simulation::with_queue(QueueKind::Heap, setup).unwrap();
            heap.run(&mut fairground_model::NullSink).unwrap();
            assert_eq!(simulation.digest(), heap.digest(), "{kernel}, {prices}");
        }
    }
}

/// Timers of all CPUs ring at once. Where the CPUs take turns each wake-up is over before the next one begins.
#[test]
fn interrupts_of_one_instant_come_turn_by_turn() {
    let woken = |round: Ns| {
        let mut machine = priced_machine(4, "xeon-spr");
        machine.round_of_turns = round;
        let mut set = TaskSet::default();
        for number in 0..4 {
            let [set_time, until] = asleep_until(2 * MS);
            let sleeper = set.pinned("sleeper", number, vec![set_time, until, work(MS)]);
            set.tasks[sleeper].timer_slack = Ns::ZERO;
        }
        let log = Log::of(setup(machine, "v6.1", set, 3 * MS));
        let waking = |row: &&(u64, _, TraceEvent)| row.0 >= 2 * MS && matches!(row.2, TraceEvent::SchedWaking { .. });
        let mut times: Vec<u64> = log.events.iter().filter(waking).map(|row| row.0).collect();
        times.sort_unstable();
        times
    };
    let apart = |times: &[u64]| times.windows(2).all(|pair| pair[0] + 500 < pair[1]);
    let times = woken(Ns::from_us(100));
    assert!(times.len() == 4 && apart(&times), "{times:?}");
    assert!(!apart(&woken(Ns::ZERO)));
}

/// An idle CPU without a tick balances when a kernel thread's timer rings there, since that takes a tick; a task's own
/// timer takes none.
#[test]
fn the_timer_of_a_kernel_thread_is_a_tick() {
    let balances = |kthread: bool| {
        let mut set = TaskSet::default();
        let sleeper = set.pinned("sleeper", 1, vec![sleep(20 * MS), work(US), Instr::Jump { to: 0 }]);
        set.tasks[sleeper].kthread = kthread;
        let (_, simulation, _) = Log::and_simulation(setup(priced_machine(2, "xeon-spr"), "v6.1", set, 130 * MS));
        simulation.op_total(Op::LbDomain)
    };
    assert_eq!((balances(false), balances(true)), (0, 6));
}
