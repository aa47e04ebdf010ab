//! One row for each switch away from a task, and where they are asked for, one for each wake-up.

use super::class::{ReadyMark, Wait, WaitClass, WakeFilter};
use crate::window::{Interval, Window};
use fairground_model::{InGroup, PrevState, Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

/// What a task did until a switch away from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeHistRow {
    /// When it was switched out.
    pub at: Instant,
    /// What the clock of the recording showed then, in ns.
    pub clock_ns: u64,
    /// On which CPU.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// How long it ran; unknown if the switch to it is not in the trace.
    pub run: Option<Ns>,
    /// How long it was off the CPU before; unknown if the switch away from it is not in the trace.
    pub wait: Option<Wait>,
    /// From its wake-up to the CPU; 0 if it was not woken since it was last switched out.
    pub delay: Ns,
    /// What it was when it was switched out.
    pub state: PrevState,
}

/// A wake-up: when it was, and who was woken by whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeupRow<'a> {
    /// When it was.
    pub at: Instant,
    /// What the clock of the recording showed then, in ns.
    pub clock_ns: u64,
    /// The CPU that wrote it.
    pub cpu: CpuId,
    /// The task that ran there; none if the CPU idled or the trace does not tell.
    pub waker: Option<&'a TaskInfo>,
    /// Who is woken.
    pub task: &'a TaskInfo,
}

/// One line of the history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeHistLine<'a> {
    /// A switch away from a task, with the path of its control group where the trace tells it.
    Switch(&'a TimeHistRow, &'a TaskInfo, Option<&'a str>),
    /// A wake-up.
    Wakeup(WakeupRow<'a>),
}

#[derive(Clone, Debug, Default)]
struct Row {
    info: TaskInfo,
    group: Option<String>,
    /// When it was last switched out, and as what.
    out: Option<(Instant, PrevState)>,
    /// The first wake-up since then.
    ready: Option<Instant>,
    /// When it was switched in, and what was known then.
    running: Option<(Instant, Option<Wait>, Ns)>,
}

/// Makes rows of a run and hands each to `each`.
pub struct TimeHist<F> {
    wakes: WakeFilter,
    tasks: Vec<Row>,
    current: Vec<Option<TaskId>>,
    each: F,
    interval: Interval,
    window: Window,
    epoch_ns: u64,
    has_wakeups: bool,
}

impl<F: FnMut(TimeHistLine<'_>)> TimeHist<F> {
    /// Makes rows of switches, and with `has_wakeups` of wake-ups, that lie in an interval.
    pub fn new(mark: ReadyMark, interval: Interval, has_wakeups: bool, each: F) -> TimeHist<F> {
        let (wakes, window) = (WakeFilter::new(mark), interval.window(0));
        TimeHist { wakes, tasks: Vec::new(), current: Vec::new(), each, interval, window, epoch_ns: 0, has_wakeups }
    }
    fn row(&mut self, task: TaskId) -> &mut Row {
        if task.index() >= self.tasks.len() {
            self.tasks.resize_with(task.index() + 1, Row::default);
        }
        &mut self.tasks[task.index()]
    }
    fn switch(&mut self, at: Instant, cpu: CpuId, prev: Option<(TaskId, PrevState)>, next: Option<TaskId>) {
        self.lost_switch(cpu, prev.map(|row| row.0), next);
        if let Some((task, state)) = prev {
            let row = self.row(task);
            let running = row.running.take();
            (row.out, row.ready) = (Some((at, state)), None);
            let (run, wait, delay) = match running {
                Some((since, wait, delay)) => (Some(at.saturating_since(since)), wait, delay),
                None => (None, None, Ns::ZERO),
            };
            if self.window.holds(at) {
                let row = TimeHistRow { at, clock_ns: self.epoch_ns.saturating_add(at.ns()), cpu, task, run, wait, delay, state };
                let known = &self.tasks[task.index()];
                (self.each)(TimeHistLine::Switch(&row, &known.info, known.group.as_deref()));
            }
        }
        if let Some(task) = next {
            let row = self.row(task);
            let wait = row.out.map(|(since, state)| Wait { class: WaitClass::of(state), length: at.saturating_since(since) });
            let delay = row.ready.take().map_or(Ns::ZERO, |since| at.saturating_since(since));
            row.running = Some((at, wait, delay));
        }
    }
    fn wakes(&mut self, at: Instant, cpu: CpuId, task: TaskId) {
        if !self.has_wakeups || !self.window.holds(at) {
            return;
        }
        self.row(task);
        let info = |task: TaskId| self.tasks.get(task.index()).map(|row| &row.info);
        let waker = self.current.get(cpu.index()).copied().flatten().and_then(info);
        let clock_ns = self.epoch_ns.saturating_add(at.ns());
        (self.each)(TimeHistLine::Wakeup(WakeupRow { at, clock_ns, cpu, waker, task: &self.tasks[task.index()].info }));
    }
    /// The record of a switch away from the task that was here is lost: nobody knows how long it ran.
    fn lost_switch(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if cpu.index() >= self.current.len() {
            self.current.resize(cpu.index() + 1, None);
        }
        let was = std::mem::replace(&mut self.current[cpu.index()], next);
        if let Some(was) = was.filter(|&was| prev != Some(was)) {
            let row = self.row(was);
            (row.running, row.out) = (None, None);
        }
    }
}

impl<F: FnMut(TimeHistLine<'_>)> Sink for TimeHist<F> {
    fn epoch(&mut self, clock_ns: u64) {
        (self.epoch_ns, self.window) = (clock_ns, self.interval.window(clock_ns));
    }
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.row(task).info = info.clone();
    }
    fn group(&mut self, _at: Instant, _cpu: CpuId, task: TaskId, group: InGroup<'_>) {
        self.row(task).group = Some(group.path().to_string());
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if let Some(task) = self.wakes.woken(event) {
            let row = self.row(task);
            if row.running.is_none() {
                row.ready.get_or_insert(at);
            }
            self.wakes(at, cpu, task);
        } else if let TraceEvent::SchedSwitch { prev, prev_state, next } = *event {
            self.switch(at, cpu, prev.map(|task| (task, prev_state)), next);
        }
    }
    /// Each row is a switch that was recorded. What is inferred gives bounds, and times here are known or not at all.
    fn inferred(&mut self, _at: Instant, _cpu: CpuId, _event: &TraceEvent) {}
}
