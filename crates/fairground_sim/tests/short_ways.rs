//! A run with the plain heap goes the long way at each tick and switch, one tick after the other. The other runs go the short way where
//! they may: both are the same, in what they record, in what they cost, and in what the scheduler knows at the end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::classes::fifo;
use crate::common::{Build, MS, US, cpu, sleep, work};
use fairground_machine::{CostModel, Machine};
use fairground_model::{Change, Instr, Mode, NullSink, Op, Policy, TaskSet};
use fairground_sched::Profile;
use fairground_sim::{QueueKind, Setup, Simulation};
use fairground_stdx::{Ns, RngStream, StreamKind, TaskId};

const KERNELS: [&str; 10] =
    ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.18", "v4.20+align-vruntime"];
const PRICES: [&str; 4] = ["zero", "unit", "xeon-spr", "a53"];

/// A machine of 1 to 9 CPUs with hogs, sleepers, tasks that yield, pairs over pipes and real-time tasks, and changes from outside in
/// mid-run.
fn random_system(seed: u64) -> Setup {
    let mut random = RngStream::new(seed, StreamKind::Vopr, 1);
    let mut draw = |below: u64| random.below(below);
    let cpus = [1, 2, 3, 4, 5, 8, 9][draw(7) as usize];
    let mut machine = Machine::preset(&format!("smp-{cpus}")).unwrap();
    machine.hz = [100, 250, 1000, 1000][draw(4) as usize];
    machine.tick = Ns(1_000_000_000 / u64::from(machine.hz));
    machine.tick_jitter = Ns([0, 0, 0, 30 * US][draw(4) as usize]);
    machine.costs = CostModel::preset(PRICES[draw(4) as usize]).unwrap();
    machine.irq_time_accounting = draw(3) > 0;
    let mut set = TaskSet::default();
    for row in 0..1 + draw(3 * cpus) {
        let (run, rest) = (draw(9) * MS + 50 * US, draw(5) * MS + 10 * US);
        let mode = if draw(5) == 0 { Mode::Kernel } else { Mode::User };
        let burst = Instr::RunBetween { low: Ns(run), high: Ns(run + MS), mode };
        let code = match draw(6) {
            0 | 1 => vec![burst, sleep(rest), Instr::Jump { to: 0 }],
            2 => vec![burst, Instr::Yield, Instr::Jump { to: 0 }],
            _ => vec![work(u64::MAX)],
        };
        let task = set.task(&format!("task{row}"), code);
        set.tasks[task].nice = if draw(2) == 0 { 0 } else { draw(40) as i8 - 20 };
        set.tasks[task].policy = match draw(24) {
            0..4 => Policy::Idle,
            4 => fifo(10),
            _ => set.tasks[task].policy,
        };
    }
    for row in 0..draw(3) {
        let pipes = [set.pipe(64), set.pipe(64)];
        for side in 0..2 {
            let (write, read) = (Instr::Write { pipe: pipes[side], value: None }, Instr::Read { pipe: pipes[1 - side], into: 0 });
            let (first, then) = if side == 0 { (write, read) } else { (read, write) };
            set.task(&format!("pair{row}-{side}"), vec![work(draw(200) * US), first, then, Instr::Jump { to: 0 }]);
        }
    }
    if draw(3) == 0 {
        let cpus = [cpu(draw(cpus) as u32)].into_iter().collect();
        set.at(12 * MS + draw(MS), Change::Affinity { task: TaskId::new(0), cpus });
    }
    if draw(2) == 0 {
        set.at(25 * MS, Change::Nice { task: TaskId::new(0), nice: draw(40) as i8 - 20 });
        set.at(31 * MS + draw(MS), Change::FreqCapacity { cpu: cpu(0), freq_capacity: 300 + draw(700) as u32 });
    }
    let profile = Profile::parse(KERNELS[draw(10) as usize]).unwrap();
    Setup { machine, profile, tasks: set, seed, duration: Ns(90 * MS), paranoid: false }
}

/// All that a run leaves behind.
fn outcome(queue: QueueKind, setup: Setup) -> String {
    let tasks = setup.tasks.tasks.len() as u32;
    let cpus = setup.machine.cpus.len() as u32;
    let mut simulation = Simulation::with_queue(queue, setup).unwrap();
    simulation.run(&mut NullSink).unwrap();
    let sched = simulation.sched();
    let mut lines =
        vec![format!("{:032x} {:?}", simulation.digest(), simulation.counts()), format!("{:?}", simulation.time_spent())];
    for task in (0..tasks).map(TaskId::new) {
        let se = sched.se(task);
        lines.push(format!("{task:?} {:?} {} {} {:?}", se.vruntime, se.sum_exec_runtime, se.exec_start, sched.se_avg(task)));
    }
    for number in 0..cpus {
        let rq = sched.rq(cpu(number));
        let booked: Vec<_> = simulation.kernel_time(cpu(number)).collect();
        lines.push(format!("{number} {:?} {:?} {:?} {booked:?}", rq.clocks, rq.stats, sched.cfs_avg(cpu(number))));
    }
    lines.push(format!("{:?}", Op::ALL.iter().map(|&op| simulation.op_total(op)).collect::<Vec<_>>()));
    lines.join("\n")
}

#[test]
fn short_ways_leave_what_long_ways_leave() {
    for seed in 0..400 {
        let (short, long) = (outcome(QueueKind::Fast, random_system(seed)), outcome(QueueKind::Heap, random_system(seed)));
        assert_eq!(short, long, "seed {seed}");
    }
}
