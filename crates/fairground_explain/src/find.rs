//! Which delay is explained: all delays of the watched tasks, and one of them chosen.

use super::late::{Late, Progress};
use super::percentile::Percentile;
use fairground_model::{LockEvent, Sink, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, Ns, TaskId};

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
        }
    }
}

/// A time for which a task should have run and did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// Who waited.
    pub task: TaskId,
    /// For what.
    pub kind: Kind,
    /// When it should have run: its timer was due, it was woken, it was taken off its CPU, it asked for the lock.
    pub from: Instant,
    /// When it went on, or the end of the run.
    pub until: Instant,
    /// Whether it went on: else the run ended first.
    pub ran: bool,
    /// When it last began to run before its last sleep, or at all if it never slept.
    pub(super) back: Instant,
}

impl Delay {
    /// How long it was.
    pub fn length(&self) -> Ns {
        self.until.since(self.from)
    }
}

/// Collects the delays of the watched tasks.
#[derive(Clone)]
pub(super) struct Delays {
    rows: Vec<Option<Late>>,
    /// The watched task that has each CPU.
    curr: Vec<Option<TaskId>>,
    found: Vec<Delay>,
}

impl Delays {
    /// Watches the tasks for which `watched` says so, by row.
    pub(super) fn new(watched: &[bool], cpus: usize) -> Delays {
        let rows = watched.iter().zip(0..).map(|(&watched, row)| watched.then(|| Late::new(TaskId::new(row)))).collect();
        Delays { rows, curr: vec![None; cpus], found: Vec::new() }
    }
    /// Follows one task, which has a CPU since an instant, or has none.
    pub(super) fn of_one(task: TaskId, runs: Option<(CpuId, Instant)>, cpus: usize) -> Delays {
        let late = runs.map_or(Late::new(task), |(_, since)| Late::running(task, since));
        let rows = (0..=task.index()).map(|row| (row == task.index()).then(|| late.clone())).collect();
        let mut curr = vec![None; cpus];
        if let Some((cpu, _)) = runs {
            curr[cpu.index()] = Some(task);
        }
        Delays { rows, curr, found: Vec::new() }
    }
    /// How far a followed task has come.
    pub(super) fn progress(&self, task: TaskId, now: Instant) -> Option<Progress> {
        self.rows.get(task.index())?.as_ref().map(|row| row.progress(now))
    }
    /// Which tasks were woken at least once, by row.
    pub(super) fn sleepers(&self) -> Vec<bool> {
        self.rows.iter().map(|row| row.as_ref().is_some_and(Late::was_woken)).collect()
    }
    /// The delays in order of their ends; those that had not ended end with the run.
    pub(super) fn found(mut self, end: Instant) -> Vec<Delay> {
        for row in self.rows.iter_mut().flatten() {
            self.found.extend(row.finish(end));
        }
        // An interrupt may outlast the run.
        for delay in self.found.iter_mut().filter(|delay| delay.until > end) {
            (delay.until, delay.ran) = (end, false);
        }
        self.found.retain(|delay| delay.until > delay.from);
        self.found
    }
    fn tell(&mut self, task: TaskId, what: impl FnOnce(&mut Late) -> Option<Delay>) {
        if let Some(row) = self.rows.get_mut(task.index()).and_then(Option::as_mut) {
            self.found.extend(what(row));
        }
    }
}

impl Sink for Delays {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, .. } => self.tell(task, |row| row.woken(at)),
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

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let delay = |length| Delay {
            task: TaskId::new(0),
            kind: Kind::WakeUp,
            from: Instant::ZERO,
            until: Instant::from_ns(length),
            ran: true,
            back: Instant::ZERO,
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
