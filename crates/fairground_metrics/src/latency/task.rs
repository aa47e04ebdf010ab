//! Time accounting of one task.

use crate::histogram::Histogram;
use fairground_model::{PrevState, TaskInfo};
use fairground_stdx::{Instant, Ns, TaskId};

/// What a task is doing, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Doing {
    /// Asleep, dead, or not seen yet.
    #[default]
    Nothing,
    /// Could run after a wake-up, and waits.
    Woken(Instant),
    /// Could run after a preemption, and waits.
    Preempted(Instant),
    /// Runs.
    Running(Instant),
}

/// How many values wait to be put into their histogram together.
const WAITING: usize = 8;

/// A histogram whose last values wait in front of it. Its classes lie far apart in memory, and those of all tasks
/// together fill no cache: each value alone would wait for its class, those of a handful are fetched side by side.
#[derive(Clone, Debug, Default)]
struct Latencies {
    waiting: [u64; WAITING],
    nr_waiting: usize,
    histogram: Histogram,
}

impl Latencies {
    #[inline]
    fn record(&mut self, value: u64) {
        if self.nr_waiting == WAITING {
            self.flush();
        }
        self.waiting[self.nr_waiting] = value;
        self.nr_waiting += 1;
    }
    #[inline(never)]
    fn flush(&mut self) {
        for &value in &self.waiting[..self.nr_waiting] {
            self.histogram.record(value);
        }
        self.nr_waiting = 0;
    }
    /// How many values there are.
    fn len(&self) -> u64 {
        self.histogram.len() + self.nr_waiting as u64
    }
    /// The histogram of all values.
    fn into_histogram(mut self) -> Histogram {
        self.flush();
        self.histogram
    }
}

/// Wake-up latencies of a task. Tens of thousands of tasks may wake up once and run from then on: one value has no memory of its own.
#[derive(Clone, Debug, Default)]
enum Latency {
    #[default]
    None,
    One(u64),
    Many(Box<Latencies>),
}

impl Latency {
    #[inline]
    fn record(&mut self, value: u64) {
        match self {
            Latency::Many(latencies) => latencies.record(value),
            Latency::None => *self = Latency::One(value),
            Latency::One(first) => {
                let mut latencies = Box::<Latencies>::default();
                latencies.record(*first);
                latencies.record(value);
                *self = Latency::Many(latencies);
            }
        }
    }
    fn len(&self) -> u64 {
        match self {
            Latency::None => 0,
            Latency::One(_) => 1,
            Latency::Many(latencies) => latencies.len(),
        }
    }
    fn into_histogram(self) -> Histogram {
        match self {
            Latency::Many(latencies) => latencies.into_histogram(),
            Latency::None => Histogram::default(),
            Latency::One(value) => {
                let mut histogram = Histogram::default();
                histogram.record(value);
                histogram
            }
        }
    }
}

/// What is counted for one task.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskRow {
    pub(super) info: Option<TaskInfo>,
    doing: Doing,
    run_ns: u64,
    pub(super) exec_ns: u64,
    wait_ns: u64,
    longest: Wait,
    /// The same without the wait for its first run.
    longest_later: Wait,
    slices: u64,
    voluntary: u64,
    involuntary: u64,
    pub(super) migrations: u64,
    latency: Latency,
}

impl TaskRow {
    /// A wake-up begins. The waking of a task that runs or is queued already begins nothing.
    #[inline]
    pub(super) fn wakes(&mut self, at: Instant) {
        if self.doing == Doing::Nothing {
            self.doing = Doing::Woken(at);
        }
    }
    /// A wakee is queued; counts as its waking where the record of that was lost.
    #[inline]
    pub(super) fn is_queued(&mut self, at: Instant) {
        self.wakes(at);
    }
    /// A CPU switches to the task.
    #[inline]
    pub(super) fn gets_cpu(&mut self, at: Instant) {
        match self.doing {
            Doing::Woken(since) => {
                let waited = self.waited(since, at.since(since));
                self.latency.record(waited);
            }
            Doing::Preempted(since) => {
                self.waited(since, at.since(since));
            }
            Doing::Nothing | Doing::Running(_) => {}
        }
        self.doing = Doing::Running(at);
        self.slices += 1;
    }
    #[inline]
    fn waited(&mut self, since: Instant, length: Ns) -> u64 {
        self.wait_ns += length.0;
        let wait = Wait { from: since, length };
        if length > self.longest.length {
            self.longest = wait;
        }
        if self.slices > 0 && length > self.longest_later.length {
            self.longest_later = wait;
        }
        length.0
    }
    /// A CPU switches away from the task.
    #[inline]
    pub(super) fn leaves_cpu(&mut self, at: Instant, state: PrevState) {
        if let Doing::Running(since) = self.doing {
            self.run_ns += at.since(since).0;
        }
        if state == PrevState::Running {
            self.involuntary += 1;
            self.doing = Doing::Preempted(at);
        } else {
            self.voluntary += 1;
            self.doing = Doing::Nothing;
        }
    }
    /// The record of the switch away from the task was lost: the time since it got the CPU does not count.
    pub(super) fn is_lost(&mut self) {
        if matches!(self.doing, Doing::Running(_)) {
            self.doing = Doing::Nothing;
        }
    }
    /// The run ends: what lasts still is counted up to here. A wait that lasts still is a delay but
    /// no latency, as nobody knows how long it would have become.
    pub(super) fn run_ends(&mut self, at: Instant) {
        match self.doing {
            Doing::Running(since) => self.run_ns += at.saturating_since(since).0,
            Doing::Woken(since) | Doing::Preempted(since) => {
                self.waited(since, at.saturating_since(since));
            }
            Doing::Nothing => {}
        }
        self.doing = Doing::Nothing;
    }
    /// What is known of the task's waits so far.
    pub(super) fn waits(&self, task: TaskId) -> Waits {
        let waits_since = match self.doing {
            Doing::Woken(since) | Doing::Preempted(since) => Some(since),
            Doing::Nothing | Doing::Running(_) => None,
        };
        let wakeups = self.latency.len();
        Waits { task, longest: self.longest, longest_later: self.longest_later, wakeups, waits_since }
    }
    /// The row as it is reported.
    pub(super) fn report(self, task: TaskId) -> TaskReport {
        TaskReport {
            task,
            info: self.info.unwrap_or_else(|| TaskInfo { name: format!("task{task}"), pid: 0, prio: 120 }),
            runtime: Ns(self.run_ns),
            exec: Ns(self.exec_ns),
            wait: Ns(self.wait_ns),
            max_wait: self.longest.length,
            longest: self.longest,
            longest_later: self.longest_later,
            slices: self.slices,
            voluntary: self.voluntary,
            involuntary: self.involuntary,
            migrations: self.migrations,
            latency: self.latency.into_histogram(),
        }
    }
    /// Whether anything is known of the task.
    pub(super) fn is_known(&self) -> bool {
        self.info.is_some() || self.slices + self.voluntary + self.involuntary > 0
    }
}

/// A time for which a task could run and did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait {
    /// When it began.
    pub from: Instant,
    /// How long it was.
    pub length: Ns,
}

/// The waits of a task in a run that is not over yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waits {
    /// The task.
    pub task: TaskId,
    /// The longest, of equal ones the first.
    pub longest: Wait,
    /// The same without the wait for its first run.
    pub longest_later: Wait,
    /// How often it got a CPU after a wake-up or its start.
    pub wakeups: u64,
    /// Since when it could run and does not.
    pub waits_since: Option<Instant>,
}

/// The statistics of one task.
#[derive(Clone, Debug)]
pub struct TaskReport {
    /// The task.
    pub task: TaskId,
    /// Its name, pid and priority.
    pub info: TaskInfo,
    /// Time on a CPU.
    pub runtime: Ns,
    /// Time that update_curr accounted to it (sum_exec_runtime), where the run tells it.
    pub exec: Ns,
    /// Total time in which it could run and did not.
    pub wait: Ns,
    /// The longest such time (scheduling delay).
    pub max_wait: Ns,
    /// The same with its beginning, of equal ones the first.
    pub longest: Wait,
    /// The same without the wait for its first run.
    pub longest_later: Wait,
    /// How often a CPU switched to it.
    pub slices: u64,
    /// Switches away from it that left it asleep or dead.
    pub voluntary: u64,
    /// Switches away from it that left it runnable.
    pub involuntary: u64,
    /// Changes of its CPU.
    pub migrations: u64,
    /// Wake-up latencies.
    pub latency: Histogram,
}

impl TaskReport {
    /// The nice value of a fair task; `Err` has the priority of a real-time one, 100 for a deadline task.
    pub fn nice(&self) -> Result<i32, i32> {
        match self.info.prio {
            prio @ ..100 => Err(99 - prio),
            prio => Ok(prio - 120),
        }
    }
    /// Switches away from the task.
    pub fn switches(&self) -> u64 {
        self.voluntary + self.involuntary
    }
}
