//! Which delay is explained: all delays of the watched tasks, and one of them chosen.

use super::late::{Late, Progress};
use super::percentile::Percentile;
use fairground_model::{LockEvent, MessageEvent, Sink, TraceEvent, WakeContext};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, Id, Instant, Ns, PipeId, TaskId};
use std::collections::BTreeMap;

/// What a task waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// To run after it woke, or after its timer was due.
    WakeUp,
    /// To run for the first time.
    Start,
    /// To go on after it was taken off its CPU while it could run.
    Preempted,
    /// To have a lock and go on.
    Lock,
    /// To go on after an interrupt, or until the host gave its CPU back.
    Interrupted,
    /// A message: to be read by one of those who read its pipe, and to be dealt with.
    Request,
}

impl Kind {
    /// The name in tables and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::WakeUp => "wake-up",
            Kind::Start => "start",
            Kind::Preempted => "preemption",
            Kind::Lock => "lock",
            Kind::Interrupted => "interruption",
            Kind::Request => "request",
        }
    }
}

/// A time for which a task should have run and did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// Who waited; of a request, who read it.
    pub task: TaskId,
    /// Who was woken late for that, where another task than the late one is asked about: it is the last in a chain of wake-ups
    /// that begins with the late one.
    pub wakes: Option<TaskId>,
    /// For what.
    pub kind: Kind,
    /// When it should have run: its timer was due, it was woken, it was taken off its CPU, it asked for the lock, the message was written.
    pub from: Instant,
    /// When it went on, or the end of the run.
    pub until: Instant,
    /// Whether it went on: else the run ended first.
    pub ran: bool,
    /// When it last began to run before its last sleep, or at all if it never slept.
    pub(super) back: Instant,
    /// The message, if it is one that waits.
    pub request: Option<Request>,
}

/// A message that is written, read and dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its pipe.
    pub pipe: PipeId,
    /// Its number there.
    pub number: u64,
    /// When it was read; `None` if nobody had read it at the end of the run.
    pub read: Option<Instant>,
    /// Whether it waited until somebody had time for it: nobody slept who could have read it.
    pub queued: bool,
    /// How long who read it computed and slept for it. That is no delay.
    pub own: Ns,
}

impl Delay {
    /// How long it was, without the work for a request itself.
    pub fn length(&self) -> Ns {
        self.until.since(self.from).saturating_sub(self.request.map_or(Ns::ZERO, |request| request.own))
    }
    /// Who is late: who waited, or whom that woke late.
    pub fn whose(&self) -> TaskId {
        self.wakes.unwrap_or(self.task)
    }
    /// Whether it can be asked about. What is said of a message that somebody slept for is said of its reader.
    pub(super) fn is_a_delay(&self) -> bool {
        self.request.is_none_or(|request| request.queued)
    }
}

/// Collects the delays of the watched tasks, and those of others that made them late by waking them late.
#[derive(Clone)]
pub(super) struct Delays {
    rows: Vec<Option<Late>>,
    /// Whose delays are collected, by row.
    watched: Vec<bool>,
    /// The followed task that has each CPU.
    curr: Vec<Option<TaskId>>,
    /// Who read each pipe last, of those who have not ended.
    readers: BTreeMap<PipeId, TaskId>,
    found: Vec<Delay>,
}

impl Delays {
    /// Watches the tasks for which `watched` says so, by row. All are followed, as any of them may wake one of those.
    pub(super) fn new(watched: &[bool], cpus: usize) -> Delays {
        let rows = (0..watched.len()).map(|row| Some(Late::new(TaskId::from_index(row)))).collect();
        Delays { rows, watched: watched.to_vec(), curr: vec![None; cpus], readers: BTreeMap::new(), found: Vec::new() }
    }
    /// Follows one task, which has a CPU since an instant, or has none.
    pub(super) fn of_one(task: TaskId, runs: Option<(CpuId, Instant)>, cpus: usize) -> Delays {
        let late = runs.map_or(Late::new(task), |(_, since)| Late::running(task, since));
        let rows = (0..=task.index()).map(|row| (row == task.index()).then(|| late.clone())).collect();
        let mut curr = vec![None; cpus];
        if let Some((cpu, _)) = runs {
            curr[cpu.index()] = Some(task);
        }
        let watched = (0..=task.index()).map(|row| row == task.index()).collect();
        Delays { rows, watched, curr, readers: BTreeMap::new(), found: Vec::new() }
    }
    /// How far a followed task has come.
    pub(super) fn progress(&self, task: TaskId, now: Instant) -> Option<Progress> {
        self.rows.get(task.index())?.as_ref().map(|row| row.progress(now))
    }
    /// Which tasks were woken at least once, by row.
    pub(super) fn sleepers(&self) -> Vec<bool> {
        let was_woken = |(row, &watched): (&Option<Late>, &bool)| watched && row.as_ref().is_some_and(Late::was_woken);
        self.rows.iter().zip(&self.watched).map(was_woken).collect()
    }
    /// The run is over: messages that nobody has read wait still, for who read their pipe last. If that one has ended, nobody is
    /// to read them.
    pub(super) fn add_unread(&mut self, run: &Simulation) {
        let end = run.now();
        for (pipe, number, written) in run.unread_messages() {
            let Some(&task) = self.readers.get(&pipe).filter(|task| self.watched.get(task.index()) == Some(&true)) else {
                continue;
            };
            let request = Some(Request { pipe, number, read: None, queued: true, own: Ns::ZERO });
            let (kind, ran, back) = (Kind::Request, false, Instant::ZERO);
            self.found.push(Delay { task, wakes: None, kind, from: written, until: end, ran, back, request });
        }
    }
    /// The delays in order of their ends; those that had not ended end with the run.
    pub(super) fn found(mut self, end: Instant) -> Vec<Delay> {
        for (row, _) in self.rows.iter_mut().zip(&self.watched).filter(|row| *row.1) {
            self.found.extend(row.as_mut().map_or_else(Vec::new, |row| row.finish(end)));
        }
        // An interrupt may outlast the run.
        for delay in self.found.iter_mut().filter(|delay| delay.until > end) {
            (delay.until, delay.ran) = (end, false);
        }
        self.found.retain(|delay| delay.until > delay.from);
        self.found
    }
    fn tell(&mut self, task: TaskId, what: impl FnOnce(&mut Late) -> Option<Delay>) {
        if let Some(row) = self.rows.get_mut(task.index()).and_then(Option::as_mut)
            && let Some(delay) = what(row)
        {
            row.note(delay);
            self.found.extend(self.watched[task.index()].then_some(delay));
        }
    }
    /// A task is woken by another one. If that was late before, the wake-up is.
    fn inherit(&mut self, waker: TaskId, woken: TaskId, at: Instant) {
        let row = |task: TaskId| self.rows.get(task.index()).and_then(Option::as_ref);
        let (Some(by), Some(own)) = (row(waker), row(woken)) else { return };
        let worst = by.worst().filter(|worst| worst.task != woken && own.is_new_from(waker, worst));
        if let Some(row) = self.rows.get_mut(woken.index()).and_then(Option::as_mut)
            && row.woken_by(waker, worst, at)
            && self.watched[woken.index()]
        {
            self.found.extend(worst.map(|worst| Delay { wakes: Some(woken), ..worst }));
        }
    }
}

impl Sink for Delays {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, waker, context, .. } => {
                match waker.filter(|&waker| context == WakeContext::Task && waker != task) {
                    Some(waker) => self.inherit(waker, task, at),
                    None => self.tell(task, |row| {
                        row.woken_by_none();
                        None
                    }),
                }
                self.tell(task, |row| row.woken(at));
            }
            TraceEvent::SchedWakeupNew { task, .. } => self.tell(task, |row| row.started(at)),
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = prev {
                    self.tell(prev, |row| row.switched_out(at, prev_state));
                }
                if let Some(next) = next {
                    self.tell(next, |row| row.switched_in(at));
                }
                self.curr[cpu.index()] = next.filter(|next| self.rows.get(next.index()).is_some_and(Option::is_some));
            }
            TraceEvent::SchedProcessExit { task } => self.readers.retain(|_, reader| *reader != task),
            TraceEvent::KernelSection { section, took } => {
                if let Some(task) = self.curr[cpu.index()] {
                    self.tell(task, |row| row.interrupted(at, section, took));
                }
            }
            _ => {}
        }
    }
    fn wants_samples(&self) -> bool {
        true
    }
    fn timer(&mut self, _at: Instant, _cpu: CpuId, task: TaskId, due: Instant) {
        self.tell(task, |row| row.timer(due));
    }
    fn lock(&mut self, at: Instant, _cpu: CpuId, event: &LockEvent) {
        self.tell(event.task, |row| row.lock(at, event.act));
    }
    fn message(&mut self, at: Instant, event: &MessageEvent) {
        self.readers.insert(event.pipe, event.task);
        self.tell(event.task, |row| row.message(at, event));
    }
}

/// The longest delay; of equal ones the first.
pub(super) fn worst(found: &[Delay]) -> Option<Delay> {
    found.iter().copied().reduce(|worst, delay| if delay.length() > worst.length() { delay } else { worst })
}

/// The delay that was under way at an instant, else the first one after it.
pub(super) fn at(found: &[Delay], at: Instant) -> Option<Delay> {
    found.iter().copied().filter(|delay| delay.until > at).min_by_key(|delay| (delay.from.max(at), delay.until))
}

/// The delay at that percentile, and all that are as long or longer, the longest first.
pub(super) fn from_percentile(found: &[Delay], percentile: Percentile) -> Option<(Delay, Vec<Delay>)> {
    let mut ordered = found.to_vec();
    ordered.sort_by_key(|delay| (delay.length(), std::cmp::Reverse(delay.from)));
    let chosen = *ordered.get(percentile.place(ordered.len()))?;
    let mut later: Vec<Delay> = ordered.into_iter().filter(|delay| delay.length() >= chosen.length()).collect();
    later.reverse();
    Some((chosen, later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::{MessageAct, PrevState};

    const PRODUCER: TaskId = TaskId::new(0);
    const CONSUMER: TaskId = TaskId::new(1);
    const OTHER: TaskId = TaskId::new(2);
    const CPU: CpuId = CpuId::new(0);

    fn at(us: u64) -> Instant {
        Instant::from_ns(us * 1000)
    }
    fn waking(task: TaskId, waker: Option<TaskId>) -> TraceEvent {
        let context = if waker.is_some() { WakeContext::Task } else { WakeContext::Hardirq };
        TraceEvent::SchedWaking { task, target_cpu: CPU, waker, context }
    }
    fn switch(prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) -> TraceEvent {
        TraceEvent::SchedSwitch { prev, prev_state, next }
    }
    /// Only the delays of the consumer count.
    fn delays() -> Delays {
        Delays::new(&[false, true, false], 1)
    }
    /// Task, whom it woke late, from and until in us.
    fn rows(delays: Delays, end_us: u64) -> Vec<(TaskId, Option<TaskId>, u64, u64)> {
        let found = delays.found(at(end_us));
        found.iter().map(|row| (row.task, row.wakes, row.from.ns() / 1000, row.until.ns() / 1000)).collect()
    }

    /// The producer's timer is due at 50, and it runs at 300. It wakes the consumer, which is late by that, too.
    #[test]
    fn a_delay_is_handed_on_to_whom_the_late_task_wakes() {
        let mut delays = delays();
        delays.timer(at(50), CPU, PRODUCER, at(50));
        delays.record(at(100), CPU, &waking(PRODUCER, None));
        delays.record(at(300), CPU, &switch(Some(OTHER), PrevState::Running, Some(PRODUCER)));
        delays.record(at(350), CPU, &waking(CONSUMER, Some(PRODUCER)));
        delays.record(at(360), CPU, &switch(Some(PRODUCER), PrevState::Sleeping, Some(CONSUMER)));
        // The same delay is handed on once, however often it wakes the other one.
        delays.record(at(400), CPU, &switch(Some(CONSUMER), PrevState::Sleeping, Some(PRODUCER)));
        delays.record(at(410), CPU, &waking(CONSUMER, Some(PRODUCER)));
        delays.record(at(420), CPU, &switch(Some(PRODUCER), PrevState::Sleeping, Some(CONSUMER)));
        let found = rows(delays, 500);
        assert_eq!(found, [(PRODUCER, Some(CONSUMER), 50, 300), (CONSUMER, None, 350, 360), (CONSUMER, None, 410, 420)]);
    }

    /// Whoever wakes it after a sleep of its own is not late by what was before.
    #[test]
    fn a_chain_ends_where_a_timer_wakes_the_waker() {
        let mut delays = delays();
        delays.record(at(100), CPU, &waking(PRODUCER, None));
        delays.record(at(300), CPU, &switch(None, PrevState::Running, Some(PRODUCER)));
        delays.record(at(310), CPU, &switch(Some(PRODUCER), PrevState::Sleeping, None));
        delays.record(at(600), CPU, &waking(PRODUCER, None));
        delays.record(at(600), CPU, &switch(None, PrevState::Running, Some(PRODUCER)));
        delays.record(at(610), CPU, &waking(CONSUMER, Some(PRODUCER)));
        delays.record(at(620), CPU, &switch(Some(PRODUCER), PrevState::Sleeping, Some(CONSUMER)));
        assert_eq!(rows(delays, 700), [(CONSUMER, None, 610, 620)]);
    }

    /// Two messages, written at 100 and 120: the second one waits until the first is dealt with, and the work is no delay.
    #[test]
    fn a_request_waits_until_its_reader_has_time() {
        let mut delays = delays();
        let message = |us, act| (at(us), MessageEvent { pipe: PipeId::new(0), task: CONSUMER, act });
        let has = |number, written, slept| MessageAct::Has { number, written: at(written), slept };
        delays.record(at(90), CPU, &switch(None, PrevState::Running, Some(CONSUMER)));
        for (at, event) in [
            message(110, has(1, 100, true)),
            message(300, MessageAct::Asks),
            message(300, has(2, 120, false)),
            message(400, MessageAct::Asks),
        ] {
            delays.message(at, &event);
        }
        let found = delays.found(at(500));
        let requests: Vec<&Delay> = found.iter().filter(|row| row.kind == Kind::Request).collect();
        let told: Vec<(u64, bool, Ns)> =
            requests.iter().map(|row| (row.request.unwrap().number, row.is_a_delay(), row.length())).collect();
        assert_eq!(told, [(1, false, Ns(10_000)), (2, true, Ns(180_000))]);
        assert!(requests.iter().all(|row| row.ran && row.task == CONSUMER));
    }

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let delay = |length| Delay {
            task: TaskId::new(0),
            kind: Kind::WakeUp,
            from: Instant::ZERO,
            until: Instant::from_ns(length),
            ran: true,
            back: Instant::ZERO,
            wakes: None,
            request: None,
        };
        let found: Vec<Delay> = (1..=200).map(delay).collect();
        for (text, length, later) in [("99", 198, 3), ("50", 100, 101), ("100", 200, 1), ("0.001", 1, 200)] {
            let (chosen, rest) = from_percentile(&found, Percentile::parse(text).unwrap()).unwrap();
            assert_eq!((chosen.length(), rest.len(), rest[0].length()), (Ns(length), later, Ns(200)), "{text}");
        }
        assert_eq!(from_percentile(&[], Percentile::parse("99").unwrap()), None);
        assert_eq!(worst(&found).unwrap().length(), Ns(200));
    }
}
