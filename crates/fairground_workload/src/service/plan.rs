//! What a service is, before it becomes tasks.

use super::{client, worker};
use crate::build::{marker, words};
use fairground_model::{Instr, MarkerUnit, Mode, PipeSpec, Program, TaskSet, TaskSpec};
use fairground_stdx::{CpuMask, Distribution, MarkerId, Ns, PipeId, WordId};

/// When requests come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Arrivals {
    /// Whether or not earlier ones are done: groups of `batch` at once, so far apart.
    Open {
        /// From one group to the next.
        gap: Distribution,
        /// How many come at once.
        batch: Batch,
    },
    /// A calm state and one with bursts take turns, each exponentially long; arrivals within are exponential (MMPP-2).
    TwoStates {
        /// The calm state first.
        states: [State; 2],
    },
    /// Clients that each wait for their answer, think, and ask again.
    Closed {
        /// The number of clients.
        clients: u32,
        /// How long each thinks.
        think: Distribution,
    },
    /// At these times after the start, in order.
    Listed(Vec<Ns>),
}

/// How many requests come at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batch {
    /// So many.
    Fixed(u64),
    /// Geometric with this mean.
    Geometric(u64),
}

/// A state of arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// Mean time from one request to the next.
    pub every: Ns,
    /// Mean time that it lasts.
    pub length: Ns,
}

/// How much CPU time a request takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Demand {
    /// Drawn for each.
    Drawn(Distribution),
    /// One of these for each, each equally likely; not empty.
    OneOf(Vec<Ns>),
    /// These in order of arrival, then from the start again; not empty.
    Listed(Vec<Ns>),
}

/// Threads that run beside the workers: collectors of garbage, timers, agents.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Background {
    /// What its threads are called.
    pub name: &'static str,
    /// The number of threads.
    pub threads: u32,
    /// From one round to the next; each thread starts then.
    pub every: Ns,
    /// CPU time of each thread in a round.
    pub work: Ns,
}

/// A service: requests, a queue, workers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    /// When requests come.
    pub arrivals: Arrivals,
    /// What each takes.
    pub demand: Demand,
    /// The number of worker threads.
    pub workers: u32,
    /// Requests that fit into the queue; what comes then waits outside, and its time counts.
    pub queue: u32,
    /// How often a request waits for something else on its way.
    pub waits: u64,
    /// How long each of these waits lasts.
    pub wait: Distribution,
    /// A request that takes longer has timed out.
    pub timeout: Option<Ns>,
    /// What runs beside the workers.
    pub background: Vec<Background>,
    /// The CPUs of workers and background; all if none is said.
    pub cpus: Option<CpuMask>,
    /// The CPUs of the clients; all if none is said.
    pub client_cpus: Option<CpuMask>,
}

/// The nice value of the client of an open loop: what it stands for, the network, does not wait its turn.
const CLIENT_NICE: i8 = -20;

/// Where requests lie between client and worker: arrays of one word per request in flight.
pub(super) struct Shared {
    pub(super) queue: PipeId,
    /// The number of rows of each array.
    pub(super) rows: u64,
    /// When it came.
    pub(super) arrived: WordId,
    /// The CPU time that it needs, ns.
    pub(super) demand: WordId,
    /// How long each of its waits lasts, ns.
    pub(super) wait: WordId,
    /// Whether its answer is there; clients of a closed loop wait for it.
    pub(super) answered: WordId,
    pub(super) markers: Markers,
}

/// What is measured.
#[derive(Clone, Copy)]
pub(super) struct Markers {
    /// From arrival to answer.
    pub(super) latency: MarkerId,
    /// Requests that came.
    pub(super) offered: MarkerId,
    /// Answers in time.
    pub(super) good: MarkerId,
    /// Answers that came too late.
    pub(super) timeouts: MarkerId,
}

impl Service {
    /// The tasks: clients first, so that their random numbers do not depend on how many workers there are.
    pub fn tasks(&self) -> TaskSet {
        let mut set = TaskSet::default();
        let shared = self.shared(&mut set);
        let clients = client::programs(self, &shared, &mut set);
        let is_closed = matches!(self.arrivals, Arrivals::Closed { .. });
        for (row, program) in clients.into_iter().enumerate() {
            let program = set.programs.push(program);
            let name = if is_closed { format!("client{row:02}") } else { "clients".to_string() };
            let spec = TaskSpec::new(name, program);
            set.tasks.push(TaskSpec {
                nice: CLIENT_NICE,
                affinity: self.client_cpus,
                timer_slack: Ns::ZERO,
                measured: false,
                ..spec
            });
        }
        let program = set.programs.push(worker::program(self, &shared));
        for row in 0..self.workers {
            set.tasks.push(TaskSpec { affinity: self.cpus, mm: 1, ..TaskSpec::new(format!("worker{row:02}"), program) });
        }
        for group in &self.background {
            let program = set.programs.push(rounds(group));
            for row in 0..group.threads {
                let spec = TaskSpec::new(format!("{}{row:02}", group.name), program);
                set.tasks.push(TaskSpec { affinity: self.cpus, timer_slack: Ns::ZERO, mm: 1, measured: false, ..spec });
            }
        }
        set
    }

    fn shared(&self, set: &mut TaskSet) -> Shared {
        let markers = Markers {
            latency: marker(set, "request_latency", MarkerUnit::Ns),
            offered: marker(set, "requests", MarkerUnit::Count),
            good: marker(set, "good", MarkerUnit::Count),
            timeouts: marker(set, "timeouts", MarkerUnit::Count),
        };
        // A row is in use from when its request is put into the queue until a worker, who has taken it out, has read it. In a
        // closed loop each client has its own.
        let (rows, answers) = match self.arrivals {
            Arrivals::Closed { clients, .. } => (u64::from(clients), u64::from(clients)),
            _ => (u64::from(self.queue) + u64::from(self.workers) + 1, 0),
        };
        let queue = set.pipes.push(PipeSpec { sync: false, ..PipeSpec::new(self.queue) });
        let [arrived, demand, wait, answered] = [rows, rows, rows, answers].map(|rows| words(set, rows, |_| 0));
        Shared { queue, rows, arrived, demand, wait, answered, markers }
    }
}

/// The program of a background thread. Round k begins at k times `every`, or when the one before it is done.
fn rounds(group: &Background) -> Program {
    let next = 0;
    let mut program = Program::default();
    program.push(Instr::Now { reg: next });
    let top = program.push(Instr::Add { reg: next, time: group.every });
    program.push(Instr::SleepUntil { reg: next });
    program.push(Instr::Run { work: group.work, mode: Mode::User });
    program.push(Instr::Jump { to: top });
    program
}
