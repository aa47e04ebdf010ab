//! The cases by which our own speed is measured.
//!
//! An event is one tick, one context switch or one wake-up, as the report counts them. Reasons,
//! statistics and the digest are on, as in every run.

use fairground_machine::{CostModel, Machine};
use fairground_metrics::RunStats;
use fairground_model::{Change, CpuMax, Instr, Mode, PipeSpec, Program, TaskGroupSpec, TaskSet, TaskSpec, TimedChange};
use fairground_sched::Profile;
use fairground_sim::{Counts, Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, PipeId, TgId};
use fairground_workload::Args;

/// One case.
pub struct Case {
    /// Its name on the command line and in tables.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// The goal in its figure of merit.
    pub goal: Goal,
    /// Simulated time of a timed run: long enough that making the tasks does not count.
    pub timed: Ns,
    /// The kernel.
    profile: &'static str,
    build: fn() -> (Machine, TaskSet),
}

/// What a case is to reach on one core of the reference machine.
pub enum Goal {
    /// Millions of events per second.
    EventsPerSecond(u64),
    /// Simulated seconds per second.
    SimulatedPerSecond(u64),
}

/// The kernel of the cases that are not of EEVDF.
const CFS: &str = "v5.19";

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        name: "hogs-2x10",
        what: "10 hogs on 2 CPUs, HZ 1000",
        goal: Goal::EventsPerSecond(12),
        timed: Ns::from_secs(10),
        profile: CFS,
        build: || (machine("smp-2", 1000, "xeon-spr"), hogs(10)),
    },
    Case {
        name: "eevdf-2x10",
        what: "10 hogs on 2 CPUs, HZ 1000, v6.12",
        goal: Goal::EventsPerSecond(10),
        timed: Ns::from_secs(10),
        profile: "v6.12",
        build: || (machine("smp-2", 1000, "xeon-spr"), hogs(10)),
    },
    Case {
        name: "hrtick-2x10",
        what: "10 hogs on 2 CPUs, HZ 1000, v7.2",
        goal: Goal::EventsPerSecond(10),
        timed: Ns::from_secs(10),
        profile: "v7.2",
        build: || (machine("smp-2", 1000, "xeon-spr"), hogs(10)),
    },
    Case {
        name: "eevdf-2x500",
        what: "500 hogs on 2 CPUs, HZ 1000, v6.18",
        goal: Goal::EventsPerSecond(5),
        timed: Ns::from_secs(100),
        profile: "v6.18",
        build: || (machine("smp-2", 1000, "xeon-spr"), hogs(500)),
    },
    Case {
        name: "hogs-112x224",
        what: "224 hogs on 112 CPUs, HZ 1000",
        goal: Goal::EventsPerSecond(10),
        timed: Ns::from_secs(10),
        profile: CFS,
        build: || (machine("llc112", 1000, "xeon-spr"), hogs(224)),
    },
    Case {
        name: "groups-384x20000",
        what: "20,000 hogs in 2 x 100 x 10 groups (2,202 of them) on 384 CPUs, HZ 1000",
        goal: Goal::EventsPerSecond(2),
        timed: Ns::from_secs(1),
        profile: CFS,
        build: || (machine("epyc-9965-1s", 1000, "xeon-spr"), hog_tree(20_000, [2, 100, 10])),
    },
    Case {
        name: "eevdf-groups",
        what: "the same under v6.12",
        goal: Goal::EventsPerSecond(2),
        timed: Ns::from_secs(1),
        profile: "v6.12",
        build: || (machine("epyc-9965-1s", 1000, "xeon-spr"), hog_tree(20_000, [2, 100, 10])),
    },
    Case {
        name: "quota-groups",
        what: "the same hogs on 2 x 192 CPUs; both first groups may use 20 CPUs, v6.14+task-throttle",
        goal: Goal::SimulatedPerSecond(2),
        timed: Ns::from_secs(1),
        profile: "v6.14+task-throttle",
        build: || (machine("epyc-9654-2s", 1000, "epyc"), limited(hog_tree(20_000, [2, 100, 10]), Ns::from_ms(2000))),
    },
    Case {
        name: "sleepers-112x224",
        what: "224 tasks that work and sleep for about 100 us on 112 CPUs, HZ 1000: each CPU idles every 200 us",
        goal: Goal::EventsPerSecond(8),
        timed: Ns::from_secs(2),
        profile: CFS,
        build: || (machine("llc112", 1000, "xeon-spr"), sleepers(224)),
    },
    Case {
        name: "pairs-112x224",
        what: "112 pairs of tasks that wake each other over pipes on 112 CPUs, HZ 1000",
        goal: Goal::EventsPerSecond(8),
        timed: Ns::from_ms(100),
        profile: CFS,
        build: || (machine("llc112", 1000, "xeon-spr"), ping_pong(112)),
    },
    Case {
        name: "press-12x36",
        what: "36 processes on 12 CPUs that work 120 ms each second, HZ 250",
        goal: Goal::SimulatedPerSecond(700),
        timed: Ns::from_secs(100),
        profile: CFS,
        build: || (machine("box12", 250, "xeon-spr"), press(36)),
    },
    Case {
        name: "schbench-32",
        what: "schbench -m 2 -t 16 -s 10000 -c 15000 on 32 CPUs, HZ 1000, v4.12",
        goal: Goal::SimulatedPerSecond(150),
        timed: Ns::from_secs(5),
        profile: "v4.12",
        build: || (machine("fb-16c32t", 1000, "xeon-bdw"), schbench()),
    },
    Case {
        name: "pipe-8xA53",
        what: "a pair of tasks over pipes on eight Cortex-A53, HZ 250",
        goal: Goal::SimulatedPerSecond(40),
        timed: Ns::from_secs(10),
        profile: CFS,
        build: || (machine("hikey", 250, "a53"), ping_pong(1)),
    },
    Case {
        name: "hackbench-8xA53",
        what: "hackbench on eight Cortex-A53, HZ 250, v4.20",
        goal: Goal::SimulatedPerSecond(3),
        timed: Ns::from_secs(1),
        profile: "v4.20",
        build: || (machine("hikey", 250, "a53"), hackbench()),
    },
];

fn machine(preset: &str, hz: u32, prices: &str) -> Machine {
    let mut machine = Machine::preset(preset).expect("invariant: the preset exists");
    machine.hz = hz;
    machine.tick = Ns(1_000_000_000 / u64::from(hz));
    machine.costs = CostModel::preset(prices).expect("invariant: the price list exists");
    machine
}

fn hogs(n: usize) -> TaskSet {
    let mut set = TaskSet::default();
    let program = set.programs.push(Program::from(vec![Instr::Run { work: Ns(u64::MAX), mode: Mode::User }]));
    for row in 0..n {
        set.tasks.push(TaskSpec::new(format!("hog{row}"), program));
    }
    set
}

/// Hogs that the groups of the last level take in turn; each level has so many groups in every group above.
fn hog_tree(n: usize, levels: [usize; 3]) -> TaskSet {
    let mut set = hogs(n);
    let mut last: Vec<Option<TgId>> = vec![None];
    for width in levels {
        let mut next = Vec::new();
        for parent in last {
            let above = parent.map_or(String::new(), |parent| set.groups[parent].name.clone());
            next.extend((0..width).map(|row| Some(set.groups.push(TaskGroupSpec::new(format!("{above}/{row}"), parent)))));
        }
        last = next;
    }
    for (row, task) in set.tasks.iter_mut().enumerate() {
        task.group = last[row % last.len()];
    }
    set
}

/// All groups of the first level may use so much in 100 ms, from 200 ms on.
fn limited(mut set: TaskSet, quota: Ns) -> TaskSet {
    let limit = CpuMax { quota: Some(quota), period: Ns::from_ms(100), burst: Ns::ZERO };
    let first = set.groups.iter_enumerated().filter(|row| row.1.parent.is_none()).map(|row| row.0);
    let change = |group| TimedChange { at: Instant::ZERO + Ns::from_ms(200), change: Change::CpuMax { group, limit } };
    set.changes.extend(first.map(change).collect::<Vec<_>>());
    set
}

/// Tasks that work for 50 to 150 us and sleep for 100 us, by turns.
fn sleepers(n: usize) -> TaskSet {
    let mut set = TaskSet::default();
    let work = Instr::RunBetween { low: Ns::from_us(50), high: Ns::from_us(150), mode: Mode::User };
    let program = set.programs.push(Program::from(vec![work, Instr::Sleep { time: Ns::from_us(100) }, Instr::Jump { to: 0 }]));
    for row in 0..n {
        let mut task = TaskSpec::new(format!("sleeper{row}"), program);
        task.timer_slack = Ns(1);
        set.tasks.push(task);
    }
    set
}

/// Processes that are all woken at once, once a second, and work for 120 ms.
fn press(n: usize) -> TaskSet {
    let mut set = TaskSet::default();
    let (reg, second) = (0, Ns::from_secs(1));
    let code = vec![
        Instr::Now { reg },
        Instr::Run { work: Ns::from_ms(120), mode: Mode::User },
        Instr::Add { reg, time: second },
        Instr::SleepUntil { reg },
        Instr::Jump { to: 1 },
    ];
    let program = set.programs.push(Program::from(code));
    for row in 0..n {
        set.tasks.push(TaskSpec::new(format!("press{row}"), program));
    }
    set
}

/// The set-up of the runnable-propagation experiment.
fn schbench() -> TaskSet {
    let args = Args::of(&[("sleeptime", "10000"), ("cputime", "15000")]);
    fairground_workload::build("schbench-2016", &args).expect("invariant: the flags are right")
}

/// The board's experiment of clock-pelt: 10 groups of 20 senders and 20 receivers.
fn hackbench() -> TaskSet {
    fairground_workload::build("hackbench", &Args::of(&[("loops", "1000")])).expect("invariant: the flags are right")
}

/// Pairs of tasks that send each other one message to and fro over two pipes.
fn ping_pong(pairs: usize) -> TaskSet {
    let mut set = TaskSet::default();
    for pair in 0..pairs {
        let pipes: Vec<PipeId> = (0..2).map(|_| set.pipes.push(PipeSpec::new(16_384))).collect();
        for side in 0..2 {
            let (out, back) = (pipes[side], pipes[1 - side]);
            let write = Instr::Write { pipe: out, value: None };
            let read = Instr::Read { pipe: back, into: 0 };
            let mut code = if side == 0 { vec![write, read] } else { vec![read, write] };
            code.push(Instr::Jump { to: 0 });
            let program = set.programs.push(Program::from(code));
            let mut task = TaskSpec::new(format!("pipe{pair}-{side}"), program);
            task.mm = set.tasks.len() as u32;
            set.tasks.push(task);
        }
    }
    set
}

impl Case {
    /// Runs the case for a length of simulated time.
    pub fn run(&self, duration: Ns) -> Counts {
        let (machine, tasks) = (self.build)();
        let profile = Profile::parse(self.profile).expect("invariant: the profile exists");
        let mut stats = RunStats::new(Instant::ZERO, machine.cpus.len());
        let setup = Setup { machine, profile, tasks, seed: 1, duration, paranoid: false };
        let mut simulation = Simulation::new(setup).expect("invariant: the case is sound");
        simulation.run(&mut stats).expect("invariant: the case makes progress");
        assert!(simulation.sched().rq(CpuId::new(0)).clocks.clock > 0);
        simulation.counts()
    }
}
