//! What the engine's tests share: small set-ups and a log of who ran when.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod classes;
pub(crate) mod picture;
pub(crate) mod quota;

use fairground_machine::{CostModel, Machine};
use fairground_model::{
    Change, Instr, MarkerSpec, MarkerUnit, Mode, NullSink, PipeSpec, PrevState, Program, Sink, TaskSet, TaskSpec, TimedChange,
    TraceEvent,
};
use fairground_sched::Profile;
use fairground_sim::{RunEnd, Setup, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, MarkerId, Ns, PipeId, TaskId};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;

/// Computes for `ns` at full speed, in user mode.
pub(crate) fn work(ns: u64) -> Instr {
    Instr::Run { work: Ns(ns), mode: Mode::User }
}

pub(crate) fn sleep(ns: u64) -> Instr {
    Instr::Sleep { time: Ns(ns) }
}

/// Computes until the clock shows `ns`; uses register 7.
pub(crate) fn busy_until(ns: u64) -> [Instr; 2] {
    [Instr::Set { reg: 7, at: Instant::from_ns(ns) }, Instr::RunUntil { reg: 7 }]
}

/// Sleeps until the clock shows `ns`; uses register 7.
pub(crate) fn asleep_until(ns: u64) -> [Instr; 2] {
    [Instr::Set { reg: 7, at: Instant::from_ns(ns) }, Instr::SleepUntil { reg: 7 }]
}

/// Repeats everything before it, `times` in all.
pub(crate) fn repeat(times: u64) -> Instr {
    Instr::Repeat { counter: 0, times, to: 0 }
}

pub(crate) fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}

/// Short forms to put a set of tasks together.
pub(crate) trait Build {
    /// A task without timer slack that runs `code`.
    fn task(&mut self, name: &str, code: Vec<Instr>) -> TaskId;
    /// As [`Build::task`], on one CPU only.
    fn pinned(&mut self, name: &str, number: u32, code: Vec<Instr>) -> TaskId;
    fn pipe(&mut self, capacity: u32) -> PipeId;
    fn marker(&mut self, name: &str) -> MarkerId;
    fn at(&mut self, ns: u64, change: Change);
}

impl Build for TaskSet {
    fn task(&mut self, name: &str, code: Vec<Instr>) -> TaskId {
        let program = self.programs.push(Program::from(code));
        let mut task = TaskSpec::new(name, program);
        task.timer_slack = Ns(0);
        self.tasks.push(task)
    }
    fn pinned(&mut self, name: &str, number: u32, code: Vec<Instr>) -> TaskId {
        let task = self.task(name, code);
        self.tasks[task].affinity = Some(CpuMask::only(cpu(number)));
        task
    }
    fn pipe(&mut self, capacity: u32) -> PipeId {
        self.pipes.push(PipeSpec::new(capacity))
    }
    fn marker(&mut self, name: &str) -> MarkerId {
        self.markers.push(MarkerSpec { name: name.into(), unit: MarkerUnit::Count })
    }
    fn at(&mut self, ns: u64, change: Change) {
        self.changes.push(TimedChange { at: Instant::from_ns(ns), change });
    }
}

/// Tasks that compute for ever, with these nice values.
pub(crate) fn hogs(nices: &[i8]) -> TaskSet {
    let mut set = TaskSet::default();
    let program = set.programs.push(Program::from(vec![Instr::Run { work: Ns(u64::MAX), mode: Mode::User }]));
    for (row, &nice) in nices.iter().enumerate() {
        let mut task = TaskSpec::new(format!("hog{row}"), program);
        task.nice = nice;
        set.tasks.push(task);
    }
    set
}

/// `cpus` equal CPUs without prices, tunables as on 8 CPUs, new tasks without debit.
pub(crate) fn free_machine(cpus: usize, hz: u32) -> Machine {
    let mut machine = Machine::preset(&format!("smp-{cpus}")).unwrap();
    machine.hz = hz;
    machine.tick = Ns(1_000_000_000 / u64::from(hz));
    machine.costs = CostModel::preset("zero").unwrap();
    machine
}

/// A profile with the tunables of a machine of 8 CPUs; in CFS without start debit.
pub(crate) fn profile(name: &str) -> Profile {
    let base = Profile::parse(name).unwrap();
    if base.pick.is_eevdf() {
        return base.with_tunable("sched_base_slice_ns", "3ms").unwrap();
    }
    let tunables =
        [("sched_latency_ns", "24000000"), ("sched_min_granularity_ns", "3000000"), ("sched_wakeup_granularity_ns", "4000000")];
    let base = base.with_feature("NO_START_DEBIT").unwrap();
    tunables.iter().fold(base, |profile, (name, value)| profile.with_tunable(name, value).unwrap())
}

pub(crate) fn one_cpu(hz: u32, profile_name: &str, tasks: TaskSet, duration: Ns) -> Setup {
    Setup { machine: free_machine(1, hz), profile: profile(profile_name), tasks, seed: 1, duration, paranoid: true }
}

/// Runs up to an instant in us.
pub(crate) fn run_to(simulation: &mut Simulation, us: u64) {
    simulation.run_until(Instant::from_ns(us * US), &mut NullSink).unwrap();
}

pub(crate) fn run(setup: Setup) -> Log {
    Log::of(setup)
}

/// A run of `tasks` on `machine` with seed 1 under every check.
pub(crate) fn setup(machine: Machine, profile_name: &str, tasks: TaskSet, duration_ns: u64) -> Setup {
    Setup { machine, profile: profile(profile_name), tasks, seed: 1, duration: Ns(duration_ns), paranoid: true }
}

/// `cpus` equal CPUs at HZ 1000 with that price list.
pub(crate) fn priced_machine(cpus: usize, prices: &str) -> Machine {
    let mut machine = free_machine(cpus, 1000);
    machine.costs = CostModel::preset(prices).unwrap();
    machine
}

/// A stretch of one task on a CPU, from switch to switch.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) struct Stay {
    pub(crate) task: u32,
    pub(crate) from: u64,
    pub(crate) ns: u64,
}

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<(u64, CpuId, TraceEvent)>,
    pub(crate) digest: u128,
    pub(crate) end: u64,
}

impl Sink for Log {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        assert!(self.events.last().is_none_or(|last| last.0 <= at.ns()), "time went back");
        self.events.push((at.ns(), cpu, *event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl Log {
    pub(crate) fn of(setup: Setup) -> Log {
        let mut simulation = Simulation::new(setup).unwrap();
        let mut log = Log::default();
        let end = simulation.run(&mut log).unwrap();
        (log.digest, log.end) = (simulation.digest(), end.at.ns());
        log
    }
    /// As [`Log::of`], with the finished simulation to look into and its end.
    pub(crate) fn and_simulation(setup: Setup) -> (Log, Simulation, RunEnd) {
        let mut simulation = Simulation::new(setup).unwrap();
        let mut log = Log::default();
        let end = simulation.run(&mut log).unwrap();
        (log.digest, log.end) = (simulation.digest(), end.at.ns());
        (log, simulation, end)
    }
    /// When `task` ended.
    pub(crate) fn exit_of(&self, task: TaskId) -> Option<u64> {
        let exit = TraceEvent::SchedProcessExit { task };
        self.events.iter().find(|row| row.2 == exit).map(|row| row.0)
    }
    /// Instants and values of a marker, of one task.
    pub(crate) fn marks(&self, of: TaskId, which: MarkerId) -> Vec<(u64, u64)> {
        let mark = |row: &(u64, CpuId, TraceEvent)| match row.2 {
            TraceEvent::Marker { task, marker, value } if task == of && marker == which => Some((row.0, value)),
            _ => None,
        };
        self.events.iter().filter_map(mark).collect()
    }
    /// Instants at which `task` was queued by a wake-up, and where.
    pub(crate) fn wakeups(&self, of: TaskId) -> Vec<(u64, CpuId)> {
        let wakeup = |row: &(u64, CpuId, TraceEvent)| match row.2 {
            TraceEvent::SchedWakeup { task, target_cpu } if task == of => Some((row.0, target_cpu)),
            _ => None,
        };
        self.events.iter().filter_map(wakeup).collect()
    }
    /// Instants of the ticks of `cpu` that found a task to judge.
    pub(crate) fn busy_ticks(&self, of: CpuId) -> Vec<u64> {
        use fairground_model::reason::Question;
        let is_tick = |row: &&(u64, CpuId, TraceEvent)| {
            row.1 == of && matches!(row.2, TraceEvent::Decision(decision) if decision.reason.question() == Question::TickPreempt)
        };
        self.events.iter().filter(is_tick).map(|row| row.0).collect()
    }
    /// Accounted run time of `task`.
    pub(crate) fn runtime(&self, of: TaskId) -> u64 {
        self.runtime_in(of, 0..u64::MAX)
    }
    /// Run time of `task` that was accounted in a stretch of time.
    pub(crate) fn runtime_in(&self, of: TaskId, when: std::ops::Range<u64>) -> u64 {
        let runtime = |row: &(u64, CpuId, TraceEvent)| match row.2 {
            TraceEvent::SchedStatRuntime { task, runtime, .. } if task == of && when.contains(&row.0) => runtime.0,
            _ => 0,
        };
        self.events.iter().map(runtime).sum()
    }
    /// Complete stretches on CPU 0 in order.
    pub(crate) fn stays(&self) -> Vec<Stay> {
        self.stays_on(CpuId::new(0))
    }
    /// Complete stretches on a CPU in order.
    pub(crate) fn stays_on(&self, on: CpuId) -> Vec<Stay> {
        let mut since = None;
        let mut stays = Vec::new();
        for &(at, cpu, event) in &self.events {
            if let TraceEvent::SchedSwitch { prev, next, .. } = event
                && cpu == on
            {
                if let (Some(prev), Some(from)) = (prev, since) {
                    stays.push(Stay { task: prev.get(), from, ns: at - from });
                }
                since = next.map(|_| at);
            }
        }
        stays
    }
    /// The longest time that a task was runnable without running, from its first stay on.
    pub(crate) fn max_wait_ns(&self) -> u64 {
        let mut left: std::collections::BTreeMap<TaskId, u64> = Default::default();
        let mut longest = 0;
        for &(at, _, event) in &self.events {
            if let TraceEvent::SchedSwitch { prev, prev_state, next } = event {
                if let Some(next) = next
                    && let Some(from) = left.remove(&next)
                {
                    longest = longest.max(at - from);
                }
                if let Some(prev) = prev.filter(|_| prev_state == PrevState::Running) {
                    left.insert(prev, at);
                }
            }
        }
        longest
    }
}
