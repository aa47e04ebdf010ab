//! When one task is late: it should run, and does not.
//!
//! ```text
//!  timer due ─► woken ─► switched in       the whole is one delay; without a timer it begins with the wake-up
//!  switched out while it could run ─► switched in
//!  asks for a lock ─► goes on with it      whatever happens between: it sleeps, is woken, waits for a CPU, loses again
//!  on its CPU: interrupts and theft, back to back
//!  a message is written ─► read ─► the next one is asked for, or its reader ends
//! ```
//!
//! A delay of one task is one of another if it wakes that afterwards, before it sleeps again.

use super::find::{Delay, Kind, Request};
use fairground_model::{LockAct, MessageAct, MessageEvent, PrevState, Section};
use fairground_stdx::{Instant, Ns, TaskId};

/// Of so many tasks it is known when they woke one last.
const WAKERS_AT_MOST: usize = 8;

/// How far a task has come since it is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Progress {
    /// How long it ran.
    pub(super) ran: Ns,
    /// How often it was woken.
    pub(super) wakings: u32,
    /// How often it had a lock.
    pub(super) locks: u32,
    /// Whether it runs.
    pub(super) is_running: bool,
}

/// One task, followed.
#[derive(Clone)]
pub(super) struct Late {
    task: TaskId,
    /// Since when it has a CPU.
    runs_since: Option<Instant>,
    /// What it waits for, since when.
    waits: Option<(Kind, Instant)>,
    /// The timer that has rung for it, until it is woken.
    due: Option<Instant>,
    /// The interrupts that lie back to back on its CPU: from and to.
    interrupted: Option<(Instant, Instant)>,
    /// When its last stretch on a CPU before its last sleep began, and its last stretch of all.
    ran_before_sleep: Option<Instant>,
    switched_in_at: Instant,
    /// The first of these before its last sleep.
    ran_before_that: Option<Instant>,
    /// How long it ran before it got its CPU, how often it was woken, and how often it had a lock, all since it is followed.
    ran_before: Ns,
    wakings: u32,
    locks: u32,
    /// What interrupts and the host took of its time on a CPU since then.
    lost: Ns,
    /// How long it slept since it is followed, and since when it sleeps.
    slept: Ns,
    sleeps_since: Option<Instant>,
    /// The message with which it is at work.
    open: Option<Open>,
    /// The worst delay since it was last woken, its own or that of who woke it.
    worst: Option<Delay>,
    /// Who woke it last, and when.
    wakers: Vec<(TaskId, Instant)>,
}

/// A message that somebody is at work with.
#[derive(Clone, Copy)]
struct Open {
    written: Instant,
    request: Request,
    /// How long its reader had run and slept before.
    ran: Ns,
    slept: Ns,
}

impl Late {
    /// A task of which nothing has been seen.
    pub(super) fn new(task: TaskId) -> Late {
        Late {
            task,
            runs_since: None,
            waits: None,
            due: None,
            interrupted: None,
            ran_before_sleep: None,
            ran_before_that: None,
            switched_in_at: Instant::ZERO,
            ran_before: Ns::ZERO,
            wakings: 0,
            locks: 0,
            lost: Ns::ZERO,
            slept: Ns::ZERO,
            sleeps_since: None,
            open: None,
            worst: None,
            wakers: Vec::new(),
        }
    }
    /// The task has its CPU already.
    pub(super) fn running(task: TaskId, since: Instant) -> Late {
        Late { runs_since: Some(since), switched_in_at: since, ..Late::new(task) }
    }
    fn ran(&self, now: Instant) -> Ns {
        let on_cpu = self.ran_before + self.runs_since.map_or(Ns::ZERO, |since| now.saturating_since(since));
        on_cpu.saturating_sub(self.lost)
    }
    /// Whether it was woken since it is followed, be it without delay.
    pub(super) fn was_woken(&self) -> bool {
        self.wakings > 0
    }
    fn is_running(&self) -> bool {
        self.runs_since.is_some()
    }
    /// How far it has come since it is followed.
    pub(super) fn progress(&self, now: Instant) -> Progress {
        Progress { ran: self.ran(now), wakings: self.wakings, locks: self.locks, is_running: self.is_running() }
    }

    fn delay(&self, kind: Kind, from: Instant, until: Instant, ran: bool) -> Delay {
        let back = self.ran_before_sleep.unwrap_or(self.switched_in_at).min(from);
        Delay { task: self.task, wakes: None, kind, from, until, ran, back, request: None }
    }
    /// One of its delays is over.
    pub(super) fn note(&mut self, delay: Delay) {
        if delay.is_a_delay() && self.worst.is_none_or(|worst| delay.length() > worst.length()) {
            self.worst = Some(delay);
        }
    }
    /// The worst delay since it was last woken.
    pub(super) fn worst(&self) -> Option<Delay> {
        self.worst
    }
    /// Whether this waker has not woken it since that delay.
    pub(super) fn is_new_from(&self, waker: TaskId, delay: &Delay) -> bool {
        self.wakers.iter().all(|row| row.0 != waker || row.1 < delay.until)
    }
    /// It is woken by a task whose worst delay this is. Whether that begins anything: who has not left its CPU or waits for a
    /// lock just goes on.
    pub(super) fn woken_by(&mut self, waker: TaskId, worst: Option<Delay>, at: Instant) -> bool {
        self.wakers.retain(|row| row.0 != waker);
        self.wakers.truncate(WAKERS_AT_MOST - 1);
        self.wakers.insert(0, (waker, at));
        let begins = !self.is_running() && !self.is_for_lock();
        if begins {
            self.worst = worst;
        }
        begins
    }
    /// It is woken by a timer or a device.
    pub(super) fn woken_by_none(&mut self) {
        if !self.is_for_lock() {
            self.worst = None;
        }
    }
    /// It asks for a message, or has one.
    pub(super) fn message(&mut self, at: Instant, event: &MessageEvent) -> Option<Delay> {
        match event.act {
            MessageAct::Asks => self.end_request(at, true),
            MessageAct::Has { number, written, slept } => {
                let request = Request { pipe: event.pipe, number, read: Some(at), queued: !slept && written < at, own: Ns::ZERO };
                self.open = Some(Open { written, request, ran: self.ran(at), slept: self.slept });
                None
            }
        }
    }
    fn end_request(&mut self, at: Instant, ran: bool) -> Option<Delay> {
        let Open { written, request, ran: ran_before, slept } = self.open.take()?;
        let asleep = self.sleeps_since.map_or(Ns::ZERO, |since| at.saturating_since(since));
        let own = (self.ran(at) + self.slept + asleep).saturating_sub(ran_before + slept);
        let request = Request { own, ..request };
        Some(Delay { back: Instant::ZERO, request: Some(request), ..self.delay(Kind::Request, written, at, ran) })
    }
    fn end(&mut self, until: Instant, ran: bool) -> Option<Delay> {
        let (kind, from) = self.waits.take()?;
        Some(self.delay(kind, from, until, ran))
    }
    fn begin(&mut self, kind: Kind, from: Instant) {
        self.waits.get_or_insert((kind, from));
    }
    /// Interrupts that nothing follows are over.
    fn end_interruption(&mut self) -> Option<Delay> {
        let (from, until) = self.interrupted.take()?;
        Some(self.delay(Kind::Interrupted, from, until, true))
    }

    pub(super) fn timer(&mut self, due: Instant) -> Option<Delay> {
        self.due = Some(due);
        None
    }
    /// A task that has not left its CPU yet just goes on.
    pub(super) fn woken(&mut self, at: Instant) -> Option<Delay> {
        let due = self.due.take().filter(|&due| due <= at);
        if let Some(since) = self.sleeps_since.take() {
            self.slept += at.saturating_since(since);
        }
        if !self.is_running() {
            self.wakings += 1;
            self.begin(Kind::WakeUp, due.unwrap_or(at));
        }
        None
    }
    pub(super) fn started(&mut self, at: Instant) -> Option<Delay> {
        self.switched_in_at = at;
        self.begin(Kind::Start, at);
        None
    }
    pub(super) fn switched_in(&mut self, at: Instant) -> Option<Delay> {
        // Who waits for a lock is late until it has it.
        let ended = if self.is_for_lock() { None } else { self.end(at, true) };
        (self.runs_since, self.switched_in_at) = (Some(at), at);
        ended
    }
    pub(super) fn switched_out(&mut self, at: Instant, state: PrevState) -> Option<Delay> {
        let ended = self.end_interruption();
        (self.ran_before, self.lost) = (self.ran(at), Ns::ZERO);
        self.runs_since = None;
        match state {
            PrevState::Running => self.begin(Kind::Preempted, at),
            PrevState::Dead => self.waits = None,
            // A sleep for a lock is a part of the wait.
            _ if self.is_for_lock() => {}
            // What the sleep asked for was said while it ran.
            _ => {
                self.ran_before_that = self.ran_before_sleep.replace(self.switched_in_at);
                (self.due, self.sleeps_since) = (None, Some(at));
            }
        }
        ended
    }
    pub(super) fn lock(&mut self, at: Instant, act: LockAct) -> Option<Delay> {
        match act {
            LockAct::Waits => {
                // It may be told only after the task has left its CPU: the sleep is for the lock.
                if !self.is_running() && self.waits.is_none() {
                    (self.ran_before_sleep, self.sleeps_since) = (self.ran_before_that, None);
                }
                self.begin(Kind::Lock, at);
                None
            }
            LockAct::Holds => {
                self.locks += 1;
                if self.is_for_lock() { self.end(at, true) } else { None }
            }
            LockAct::Releases => None,
        }
    }
    pub(super) fn interrupted(&mut self, at: Instant, section: Section, took: Ns) -> Option<Delay> {
        if !self.is_running() || self.waits.is_some() || !is_interruption(section) {
            return None;
        }
        let ends = at + took;
        self.lost += took;
        match &mut self.interrupted {
            Some((_, until)) if at <= *until => {
                *until = ends.max(*until);
                None
            }
            _ => {
                let ended = self.end_interruption();
                self.interrupted = Some((at, ends));
                ended
            }
        }
    }
    /// The run is over: a task that waits has not gone on.
    pub(super) fn finish(&mut self, end: Instant) -> Vec<Delay> {
        let request = self.end_request(end, false);
        self.end_interruption().into_iter().chain(self.end(end, false)).chain(request).collect()
    }
    fn is_for_lock(&self) -> bool {
        matches!(self.waits, Some((Kind::Lock, _)))
    }
}

/// Whether a part of the kernel takes the CPU from a task that did not ask for it.
pub(super) const fn is_interruption(section: Section) -> bool {
    matches!(
        section,
        Section::SchedTick
            | Section::HrtimerInterrupt
            | Section::RescheduleIpi
            | Section::SchedSoftirq
            | Section::NetRxSoftirq
            | Section::DeviceInterrupt
            | Section::Softirq
            | Section::Stolen
    )
}
