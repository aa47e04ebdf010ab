//! Who waited where, behind whom, and who idled meanwhile.
//!
//! A CPU *queues* while a task waits there and another one runs. It *idles* while nothing runs and nobody waits there. Who may run where is in no
//! record, so a task that was queued while another CPU idled may have been bound to its own.

use crate::window::{Interval, Window};
use fairground_model::{PrevState, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};
use std::collections::BTreeMap;

/// Depths of a queue that are told apart; the last one counts all that are deeper.
pub const DEPTHS: usize = 9;
/// Waiting tasks of a queue for which it is kept who ran; those behind are left out, so that no record costs more.
const CHARGED_MAX: usize = 256;
/// Pairs of tasks that are kept.
const PAIRS_MAX: usize = 1 << 20;

/// What the queue of a CPU was like.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuQueue {
    /// How long each number of tasks was runnable there, the running one included.
    pub depth: [Ns; DEPTHS],
    /// The sum over time of that number, in ns.
    pub sum_ns: u128,
    /// The largest number.
    pub max: usize,
    /// How long tasks waited there behind another one.
    pub queued: Ns,
    /// How long they did while another CPU idled.
    pub queued_while_idle: Ns,
}

impl CpuQueue {
    /// How long the CPU was watched.
    pub fn watched(&self) -> Ns {
        Ns(self.depth.iter().map(|time| time.0).sum())
    }
}

/// For how long a task had the CPU while another one waited there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Antagonist {
    /// Who waited.
    pub waiter: TaskInfo,
    /// Who ran; nobody if the CPU idled.
    pub ran: Option<TaskInfo>,
    /// For how long.
    pub time: Ns,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Away,
    Queued(CpuId),
    Running,
}

#[derive(Clone, Debug, Default)]
struct Task {
    info: TaskInfo,
    place: Place,
}

#[derive(Clone, Debug)]
struct Cpu {
    /// Who runs there (nobody inside: it idles), once that is known.
    current: Option<Option<TaskId>>,
    /// Since when.
    since: Instant,
    /// Who waits there, and since when.
    waiting: BTreeMap<TaskId, Instant>,
    /// When the depth last changed.
    changed: Instant,
    /// How long others had idled then.
    idled: Ns,
    row: CpuQueue,
}

impl Cpu {
    const fn new() -> Cpu {
        let row = CpuQueue { depth: [Ns::ZERO; DEPTHS], sum_ns: 0, max: 0, queued: Ns::ZERO, queued_while_idle: Ns::ZERO };
        let (since, changed) = (Instant::ZERO, Instant::ZERO);
        Cpu { current: None, since, waiting: BTreeMap::new(), changed, idled: Ns::ZERO, row }
    }
    fn queues(&self) -> bool {
        !self.waiting.is_empty() && matches!(self.current, Some(Some(_)))
    }
    fn idles(&self) -> bool {
        self.waiting.is_empty() && self.current == Some(None)
    }
}

/// Watches the queues of all CPUs.
#[derive(Clone, Debug)]
pub struct Contention {
    /// Whether it is recorded where a task is queued. Else it is where it was before, or moved to.
    has_wakeup: bool,
    interval: Interval,
    window: Window,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    /// How many CPUs queue, and how many idle.
    counts: [usize; 2],
    /// When that last changed.
    changed: Instant,
    /// How long any CPU idled.
    idled: Ns,
    /// How long any CPU queued while another one idled.
    both: Ns,
    /// For how long a task had the CPU while another waited, kept if that was asked for.
    pairs: Option<BTreeMap<(TaskId, Option<TaskId>), Ns>>,
    /// Time of waits that was not kept.
    left_out: Ns,
}

impl Contention {
    /// Watches an interval, and with `has_antagonists` who ran while others waited.
    pub fn new(interval: Interval, has_antagonists: bool) -> Contention {
        Contention {
            has_wakeup: false,
            interval,
            window: interval.window(0),
            tasks: Vec::new(),
            cpus: Vec::new(),
            counts: [0; 2],
            changed: Instant::ZERO,
            idled: Ns::ZERO,
            both: Ns::ZERO,
            pairs: has_antagonists.then(BTreeMap::new),
            left_out: Ns::ZERO,
        }
    }
    /// Ends the run.
    pub fn finish(&mut self, end: Instant) {
        for cpu in 0..self.cpus.len() {
            let cpu = CpuId::from_index(cpu);
            self.charge(cpu, end);
            self.settle(cpu, end);
        }
    }
    /// The queues of the CPUs that were seen, in order.
    pub fn queues(&self) -> impl Iterator<Item = (CpuId, &CpuQueue)> {
        let seen = self.cpus.iter().enumerate().filter(|(_, row)| row.current.is_some());
        seen.map(|(cpu, row)| (CpuId::from_index(cpu), &row.row))
    }
    /// How long any CPU queued while another one idled.
    pub fn queued_while_idle(&self) -> Ns {
        self.both
    }
    /// Who ran while others waited.
    pub fn antagonists(&self) -> Vec<Antagonist> {
        let info = |task: TaskId| self.tasks[task.index()].info.clone();
        let pairs = self.pairs.iter().flatten();
        pairs.map(|(&(waiter, ran), &time)| Antagonist { waiter: info(waiter), ran: ran.map(info), time }).collect()
    }
    /// Time of waits of which it was not kept who ran: queues were too long.
    pub fn left_out(&self) -> Ns {
        self.left_out
    }

    fn task(&mut self, task: TaskId) -> &mut Task {
        if self.tasks.len() <= task.index() {
            self.tasks.resize_with(task.index() + 1, Task::default);
        }
        &mut self.tasks[task.index()]
    }
    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        if self.cpus.len() <= cpu.index() {
            self.cpus.resize_with(cpu.index() + 1, Cpu::new);
        }
        &mut self.cpus[cpu.index()]
    }
    /// Counts the time since the depth of `cpu` last changed.
    fn settle(&mut self, cpu: CpuId, at: Instant) {
        let passed = self.window.overlap(self.changed, at).unwrap_or_default();
        if self.counts[1] > 0 {
            self.idled += passed;
            self.both += if self.counts[0] > 0 { passed } else { Ns::ZERO };
        }
        self.changed = at;
        let (window, idled) = (self.window, self.idled);
        let row = self.cpu(cpu);
        let time = window.overlap(row.changed, at).unwrap_or_default();
        if let Some(current) = row.current.filter(|_| time > Ns::ZERO) {
            let depth = row.waiting.len() + usize::from(current.is_some());
            row.row.depth[depth.min(DEPTHS - 1)] += time;
            row.row.sum_ns += depth as u128 * u128::from(time.0);
            row.row.max = row.row.max.max(depth);
            if row.queues() {
                row.row.queued += time;
                row.row.queued_while_idle += Ns(idled.0 - row.idled.0);
            }
        }
        (row.changed, row.idled) = (at, idled);
    }
    /// A change of the queue of `cpu`.
    fn change(&mut self, cpu: CpuId, at: Instant, how: impl FnOnce(&mut Cpu)) {
        self.settle(cpu, at);
        let row = self.cpu(cpu);
        let before = [row.queues(), row.idles()];
        how(row);
        let after = [row.queues(), row.idles()];
        for (count, (before, after)) in self.counts.iter_mut().zip(before.into_iter().zip(after)) {
            *count = *count + usize::from(after) - usize::from(before);
        }
    }
    /// What `cpu` runs is charged to those who wait there, up to now.
    fn charge(&mut self, cpu: CpuId, at: Instant) {
        let window = self.window;
        let Some(pairs) = &mut self.pairs else { return };
        let Some(row) = self.cpus.get_mut(cpu.index()) else { return };
        if let Some(current) = row.current {
            for (place, (&waiter, &joined)) in row.waiting.iter().enumerate() {
                let time = window.overlap(joined.max(row.since), at).unwrap_or_default();
                if time == Ns::ZERO {
                    continue;
                }
                let key = (waiter, current);
                if place < CHARGED_MAX && (pairs.len() < PAIRS_MAX || pairs.contains_key(&key)) {
                    *pairs.entry(key).or_insert(Ns::ZERO) += time;
                } else if place < CHARGED_MAX {
                    self.left_out += time;
                } else {
                    self.left_out += Ns(time.0.saturating_mul((row.waiting.len() - place) as u64));
                    break;
                }
            }
        }
        row.since = at;
    }
    /// A task leaves the queue that it waits in.
    fn leave(&mut self, task: TaskId, at: Instant) {
        if let Place::Queued(cpu) = self.task(task).place {
            self.charge(cpu, at);
            self.change(cpu, at, |row| _ = row.waiting.remove(&task));
        }
        self.task(task).place = Place::Away;
    }
    fn queue(&mut self, task: TaskId, cpu: CpuId, at: Instant) {
        if self.task(task).place == Place::Queued(cpu) {
            return;
        }
        self.leave(task, at);
        self.task(task).place = Place::Queued(cpu);
        self.change(cpu, at, |row| _ = row.waiting.insert(task, at));
    }
}

impl Sink for Contention {
    fn epoch(&mut self, clock_ns: u64) {
        self.window = self.interval.window(clock_ns);
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.task(task).info = info.clone();
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu } => {
                self.has_wakeup |= matches!(event, TraceEvent::SchedWakeup { .. });
                if self.task(task).place != Place::Running {
                    self.queue(task, target_cpu, at);
                }
            }
            TraceEvent::SchedWaking { task, target_cpu, .. } if !self.has_wakeup && self.task(task).place == Place::Away => {
                self.queue(task, target_cpu, at);
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } => {
                if matches!(self.task(task).place, Place::Queued(_)) {
                    self.queue(task, dest_cpu, at);
                }
            }
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                self.charge(cpu, at);
                if let Some(next) = next {
                    self.leave(next, at);
                    self.task(next).place = Place::Running;
                }
                self.change(cpu, at, |row| (row.current, row.since) = (Some(next), at));
                if let Some(prev) = prev {
                    self.leave(prev, at);
                    if prev_state == PrevState::Running {
                        self.queue(prev, cpu, at);
                    }
                }
            }
            _ => {}
        }
    }
}
