//! What the engine's tests share: small set-ups and a log of who ran when.
#![allow(dead_code, reason = "each test file uses its part")]

use fairground_machine::{CostModel, Machine};
use fairground_model::{Instr, Mode, PrevState, Program, Sink, TaskSet, TaskSpec, TraceEvent};
use fairground_sched::Profile;
use fairground_sim::{Setup, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// Tasks that compute for ever, with these nice values.
pub(crate) fn hogs(nices: &[i8]) -> TaskSet {
    let mut set = TaskSet::default();
    let program = set.programs.push(Program { code: vec![Instr::Run { work: Ns(u64::MAX), mode: Mode::User }] });
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

/// A profile with the tunables of a machine of 8 CPUs and no start debit.
pub(crate) fn profile(name: &str) -> Profile {
    let tunables =
        [("sched_latency_ns", "24000000"), ("sched_min_granularity_ns", "3000000"), ("sched_wakeup_granularity_ns", "4000000")];
    let base = Profile::parse(name).unwrap().with_feature("NO_START_DEBIT").unwrap();
    tunables.iter().fold(base, |profile, (name, value)| profile.with_tunable(name, value).unwrap())
}

pub(crate) fn one_cpu(hz: u32, profile_name: &str, tasks: TaskSet, duration: Ns) -> Setup {
    Setup { machine: free_machine(1, hz), profile: profile(profile_name), tasks, seed: 1, duration, paranoid: true }
}

pub(crate) fn run(setup: Setup) -> Log {
    Log::of(setup)
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
}

impl Log {
    pub(crate) fn of(setup: Setup) -> Log {
        let mut simulation = Simulation::new(setup).unwrap();
        let mut log = Log::default();
        let end = simulation.run(&mut log).unwrap();
        (log.digest, log.end) = (simulation.digest(), end.at.ns());
        log
    }
    /// Complete stretches on CPU 0 in order.
    pub(crate) fn stays(&self) -> Vec<Stay> {
        let mut since = None;
        let mut stays = Vec::new();
        for &(at, cpu, event) in &self.events {
            if let TraceEvent::SchedSwitch { prev, next, .. } = event
                && cpu == CpuId::new(0)
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
