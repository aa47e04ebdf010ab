//! What each CPU did when, in bounded memory: to be drawn.

mod lanes;

pub use lanes::Stretch;

use fairground_model::{Decision, Reason, Section, Sink, TaskInfo, TraceEvent, event::Who};
use fairground_stdx::{CpuId, Id, IndexVec, Instant, Ns, TaskId, TgId};
use lanes::Lanes;
use std::collections::BTreeMap;

/// What one CPU did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuLanes {
    /// The tasks on it; [`Stretch::who`] is the task's row.
    pub tasks: Vec<Stretch>,
    /// The kernel's own work on it; [`Stretch::who`] is the place in [`Section::ALL`].
    pub kernel: Vec<Stretch>,
}

/// What all CPUs did from `start` to `end`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// The beginning.
    pub start: Instant,
    /// The end.
    pub end: Instant,
    /// The CPUs by number.
    pub cpus: Vec<CpuLanes>,
    /// Groups that are throttled on at least one CPU; [`Stretch::who`] is on how many.
    pub throttled: Vec<(TgId, Vec<Stretch>)>,
    /// Stretches of tasks within a cell of this length may have been put together; 0 = all are there.
    pub grain: Ns,
    /// The same of the kernel's work.
    pub kernel_grain: Ns,
    /// The tasks' names, as far as they are known.
    pub names: IndexVec<TaskId, String>,
}

impl Timeline {
    /// The time that each task has on all CPUs, longest first. Of stretches that were put together, what is surely one task's.
    pub fn by_time(&self) -> Vec<(u32, Ns)> {
        let mut sums: BTreeMap<u32, Ns> = BTreeMap::new();
        self.cpus.iter().flat_map(|cpu| &cpu.tasks).for_each(|stretch| *sums.entry(stretch.who).or_default() += stretch.most);
        let mut rows: Vec<(u32, Ns)> = sums.into_iter().collect();
        rows.sort_by_key(|&(task, time)| (std::cmp::Reverse(time), task));
        rows
    }
}

/// Stretches of tasks, of kernel work and of throttled groups that a timeline holds, so that a page with it stays a file of a few MB.
/// Each has a number of its own: kernel work is much more often, and tasks are what one looks at first.
const TASKS_MAX: usize = 60_000;
const KERNEL_MAX: usize = 40_000;
const QUOTA_MAX: usize = 10_000;

/// The task on a CPU, since when.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    task: Option<TaskId>,
    since: Option<Instant>,
}

/// Collects a [`Timeline`].
#[derive(Clone, Debug)]
pub struct TimelineSink {
    start: Instant,
    current: Vec<Current>,
    /// A lane per CPU.
    tasks: Lanes,
    kernel: Lanes,
    /// Per group on how many CPUs it is throttled, and since when.
    throttled: BTreeMap<TgId, (u32, Instant, usize)>,
    quota: Lanes,
    names: IndexVec<TaskId, String>,
}

impl TimelineSink {
    /// A timeline of `nr_cpus` CPUs that begins at `start`. More CPUs are accepted as they are seen.
    pub fn new(start: Instant, nr_cpus: usize) -> TimelineSink {
        TimelineSink {
            start,
            current: vec![Current::default(); nr_cpus],
            tasks: Lanes::new(TASKS_MAX),
            kernel: Lanes::new(KERNEL_MAX),
            throttled: BTreeMap::new(),
            quota: Lanes::new(QUOTA_MAX),
            names: IndexVec::new(),
        }
    }

    /// The timeline up to `end`.
    pub fn finish(mut self, end: Instant) -> Timeline {
        for cpu in 0..self.current.len() {
            self.switch(end, CpuId::from_index(cpu), self.current[cpu].task, None);
        }
        let groups: Vec<TgId> = self.throttled.keys().copied().collect();
        groups.iter().for_each(|&group| self.throttle(end, group, |count| count));
        let cpus = (0..self.current.len()).map(|cpu| CpuLanes { tasks: self.tasks.take(cpu), kernel: self.kernel.take(cpu) });
        let cpus = cpus.collect();
        let throttled = self.throttled.iter().map(|(&group, &(.., lane))| (group, self.quota.take(lane))).collect();
        Timeline {
            start: self.start,
            end,
            cpus,
            throttled,
            grain: self.tasks.grain,
            kernel_grain: self.kernel.grain,
            names: self.names,
        }
    }

    fn switch(&mut self, at: Instant, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if cpu.index() >= self.current.len() {
            self.current.resize(cpu.index() + 1, Current::default());
        }
        let row = &mut self.current[cpu.index()];
        // Before its first switch a CPU has always had `prev`. Where a switch was lost nobody knows who ran.
        let since = row.since.unwrap_or(self.start);
        let known = row.since.is_none() || row.task == prev;
        *row = Current { task: next, since: Some(at) };
        if let Some(task) = prev.filter(|_| known) {
            self.tasks.push(cpu.index(), Stretch::new(since.min(at), at, task.get()));
        }
    }

    /// The number of CPUs on which a group is throttled changes.
    fn throttle(&mut self, at: Instant, group: TgId, change: impl Fn(u32) -> u32) {
        let lanes = self.throttled.len();
        let row = self.throttled.entry(group).or_insert((0, at, lanes));
        let (count, since, lane) = *row;
        *row = (change(count), at, lane);
        if count > 0 {
            self.quota.push(lane, Stretch::new(since.min(at), at, count));
        }
    }
}

impl Sink for TimelineSink {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        while self.names.len() <= task.index() {
            self.names.push(String::new());
        }
        self.names[task] = info.name.clone();
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => self.switch(at, cpu, prev, next),
            TraceEvent::KernelSection { section, took } => {
                self.kernel.push(cpu.index(), Stretch::new(at, at + took, section as u32));
            }
            TraceEvent::Decision(Decision { reason: reason @ (Reason::Throttle | Reason::Unthrottle), a, .. }) => {
                let Who::Group(group) = Decision::who(a) else { return };
                let is_out = reason == Reason::Throttle;
                self.throttle(at, group, |count| if is_out { count + 1 } else { count.saturating_sub(1) });
            }
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

/// The name of a stretch of the kernel's lane.
pub fn section_name(who: u32) -> &'static str {
    Section::ALL.get(who as usize).map_or("", |section| section.name())
}

#[cfg(test)]
mod tests;
