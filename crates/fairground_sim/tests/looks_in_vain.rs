//! Steps of searches whose looks find nothing go on beside the loop. With the plain heap there are no such steps: each look
//! is a call of the core of its own. Both must book, count and decide the same.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, US, cpu, setup, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Change, Instr, Mode, NullSink, Op, Policy, TaskSet};
use fairground_sim::{Flow, QueueKind, Setup, Simulation};
use fairground_stdx::{CpuMask, Instant, Ns};
use proptest::prelude::*;

const KERNELS: [&str; 8] = ["v4.12", "v4.20", "v5.10", "v5.19", "v5.19+sis-util", "v6.6", "v6.12", "v7.2"];
const MACHINES: [(&str, &str, usize); 5] = [
    ("lap8", "xeon-spr", 8),
    ("box12", "epyc", 12),
    ("fb-16c32t", "xeon-bdw", 32),
    ("fb-16c32t", "xeon-spr", 32),
    ("spr-2x56", "xeon-spr", 224),
];

/// What is drawn of a system.
#[derive(Clone, Debug)]
struct System {
    kernel: &'static str,
    machine: (&'static str, &'static str, usize),
    /// Tasks that sleep, as a share of the CPUs in per cent.
    sleepers: usize,
    pairs: usize,
    hogs: usize,
    bound: bool,
    idle_policy: bool,
    seed: u64,
    us: u64,
    pauses: Vec<u64>,
}

impl System {
    fn setup(&self) -> Setup {
        let (name, prices, cpus) = self.machine;
        let mut machine = Machine::preset(name).unwrap();
        machine.costs = CostModel::preset(prices).unwrap();
        let cpus = machine.cpus.len().min(cpus);
        let count = |percent: usize| (cpus * percent).div_ceil(100);
        let mut set = TaskSet::default();
        for row in 0..count(self.sleepers) {
            let work = Instr::RunBetween { low: Ns(5 * US), high: Ns(60 * US), mode: Mode::User };
            let sleep = Instr::SleepBetween { low: Ns(2 * US), high: Ns(50 * US) };
            let sleeper = set.task("sleeper", vec![work, sleep, Instr::Jump { to: 0 }]);
            set.tasks[sleeper].timer_slack = Ns(1 + row as u64 % 3);
            if self.bound && row % 3 == 0 {
                set.tasks[sleeper].affinity = Some(CpuMask::first_n(cpus / 2));
            }
        }
        for _ in 0..count(self.pairs) {
            let (ping, pong) = (set.pipe(2), set.pipe(2));
            let write = |pipe| Instr::Write { pipe, value: None };
            let read = |pipe| Instr::Read { pipe, into: 0 };
            set.task("ping", vec![write(ping), read(pong), Instr::Jump { to: 0 }]);
            set.task("pong", vec![read(ping), write(pong), Instr::Jump { to: 0 }]);
        }
        for row in 0..count(self.hogs) {
            let hog = set.task("hog", vec![work(u64::MAX)]);
            if row == 0 && self.idle_policy {
                set.at(self.us * US / 2, Change::Policy { task: hog, policy: Policy::Idle });
            }
        }
        let mut setup = setup(machine, self.kernel, set, self.us * US);
        // Whoever checks the run between any two events makes every step an event of its own.
        (setup.seed, setup.paranoid) = (self.seed, false);
        setup
    }

    /// All that a run leaves. Pauses at some instants must change nothing.
    fn run(&self, queue: QueueKind, pauses: &[u64]) -> (String, u64) {
        let mut simulation = Simulation::with_queue(queue, self.setup()).unwrap();
        for &at in pauses {
            let _: Flow = simulation.run_until(Instant::from_ns(at), &mut NullSink).unwrap();
        }
        simulation.run(&mut NullSink).unwrap();
        let cpus = simulation.sched().topology().cpus.len() as u32;
        let kernel: Vec<_> = (0..cpus).flat_map(|number| simulation.kernel_time(cpu(number)).collect::<Vec<_>>()).collect();
        let ops: Vec<u64> = Op::ALL.iter().map(|&op| simulation.op_total(op)).collect();
        let sis = simulation.sched().sis_stats();
        let left = (simulation.digest(), simulation.counts(), kernel, ops, sis, simulation.time_spent());
        (format!("{left:?}"), sis.sis_scanned)
    }
}

fn system() -> impl Strategy<Value = System> {
    let who = (prop::sample::select(KERNELS.to_vec()), prop::sample::select(MACHINES.to_vec()), any::<u64>());
    let tasks = (20..160usize, 0..60usize, 0..60usize, any::<bool>(), prop::bool::weighted(0.2));
    let pauses = prop::collection::vec(0..400_000u64, 0..6);
    (who, tasks, pauses, 100..400u64).prop_map(|((kernel, machine, seed), tasks, mut pauses, us)| {
        pauses.sort_unstable();
        let (sleepers, pairs, hogs, bound, idle_policy) = tasks;
        System { kernel, machine, sleepers, pairs, hogs, bound, idle_policy, seed, us, pauses }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]
    #[test]
    fn looks_in_vain_leave_what_single_looks_leave(system in system()) {
        let (slow, _) = system.run(QueueKind::Heap, &[]);
        prop_assert_eq!(&system.run(QueueKind::Fast, &[]).0, &slow);
        prop_assert_eq!(&system.run(QueueKind::Fast, &system.pauses).0, &slow);
    }
}

/// The systems that are drawn do search: else nothing is compared.
#[test]
fn systems_of_that_kind_look_at_many_cpus() {
    for kernel in KERNELS {
        for machine in MACHINES {
            let system = System {
                kernel,
                machine,
                sleepers: 120,
                pairs: 20,
                hogs: 20,
                bound: true,
                idle_policy: false,
                seed: 1,
                us: 300,
                pauses: Vec::new(),
            };
            let (quick, looks) = system.run(QueueKind::Fast, &[]);
            assert!(looks > 100, "{kernel} on {}: {looks} looks", machine.0);
            assert_eq!(quick, system.run(QueueKind::Heap, &[]).0, "{kernel} on {}", machine.0);
        }
    }
}
