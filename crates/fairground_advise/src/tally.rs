//! What a run is asked for: how long requests took, how many came, and how much CPU time the group used.
//!
//! # The problem
//!
//! An answer takes hundreds of runs, and most are asked one question: is the goal met? The statistics of a whole run (waits of each task,
//! states of each CPU, reasons of decisions) would take a tenth of the time, and most of a run that misses the goal is over after the miss is
//! certain.
//!
//! # The rule
//!
//! Of `n` requests the percentile `p` is that in place `rank(n) = ceil(n p)`. So the goal is missed if more than `n - rank(n)` requests take
//! longer than it says. That number never falls as `n` grows. If a run has at most `most` requests, more than `most - rank(most)` late ones decide
//! that it misses, and `rank(most)` that are in time decide that it meets the goal, whatever comes.
//!
//! `most` is known where requests do not depend on answers: from another run of the same seed, or since they are listed.

use super::goal::Goal;
use fairground_metrics::Histogram;
use fairground_model::{Instr, Sink, TaskSet, TraceEvent};
use fairground_stdx::{CpuId, Id, Instant, MarkerId, Ns, TaskId, TgId};

/// Values of one measurement. Those of tasks that are not measured count only if no other has any.
#[derive(Clone, Debug, Default)]
struct Values {
    measured: Histogram,
    others: Histogram,
}

impl Values {
    fn counted(self) -> Histogram {
        if self.measured.is_empty() { self.others } else { self.measured }
    }
}

/// What is taken from each task.
#[derive(Clone, Copy, Default)]
struct Row {
    is_measured: bool,
    /// Whether its CPU time is that of the group.
    is_inside: bool,
    since: Option<Instant>,
}

/// The measurements that are taken.
#[derive(Clone, Copy)]
enum Kind {
    Latency,
    Good,
    Timeouts,
    Requests,
}

/// Listens to a run.
pub(super) struct Tally<'a> {
    rows: Vec<Row>,
    kinds: Vec<Option<Kind>>,
    window: (Instant, Instant),
    goals: &'a [Goal],
    /// Most requests that the run may have, if the run may end as soon as the goals are decided.
    most: Option<u64>,
    /// Answers of measured tasks that took longer than each goal says.
    above: Vec<u64>,
    latency: Values,
    good: Values,
    timeouts: Values,
    /// Requests that came in the window, and before it.
    offered: u64,
    earlier: u64,
    used: Ns,
}

/// What a run came to.
pub(super) struct Counted {
    pub(super) latency: Histogram,
    pub(super) good: u64,
    pub(super) timeouts: u64,
    /// Requests that came in the window, and in the whole run.
    pub(super) offered: u64,
    pub(super) arrived: u64,
    /// CPU time of the group.
    pub(super) used: Ns,
    /// Whether the goals are met, if that was certain before the end.
    pub(super) decided: Option<bool>,
}

impl<'a> Tally<'a> {
    /// `latency` is the measurement that says how long a request took, `path` the group whose CPU time is counted.
    pub(super) fn new(tasks: &TaskSet, latency: &str, path: &str, goals: &'a [Goal], most: Option<u64>) -> Tally<'a> {
        let mut kinds = vec![None; tasks.markers.len()];
        for (name, kind) in
            [(latency, Kind::Latency), ("good", Kind::Good), ("timeouts", Kind::Timeouts), ("requests", Kind::Requests)]
        {
            if let Some(row) = tasks.markers.iter().position(|marker| marker.name == name) {
                kinds[row] = Some(kind);
            }
        }
        let row = |(id, task): (TaskId, &fairground_model::TaskSpec)| Row {
            is_measured: task.measured,
            is_inside: is_inside(tasks, id, path),
            since: None,
        };
        Tally {
            rows: tasks.tasks.iter_enumerated().map(row).collect(),
            kinds,
            window: tasks.window.unwrap_or((Instant::ZERO, Instant::MAX)),
            goals,
            most,
            above: vec![0; goals.len()],
            latency: Values::default(),
            good: Values::default(),
            timeouts: Values::default(),
            offered: 0,
            earlier: 0,
            used: Ns::ZERO,
        }
    }

    /// Whether the goals are met, as soon as the requests that may still come cannot change that.
    pub(super) fn decided(&self) -> Option<bool> {
        let most = self.most?;
        let latency = &self.latency.measured;
        let rank = |goal: &Goal| goal.rank(most);
        let missed = |(goal, &above): (&Goal, &u64)| above > most - rank(goal).min(most) && latency.max() > goal.most.0;
        if self.goals.iter().zip(&self.above).any(missed) {
            return Some(false);
        }
        let met = |(goal, &above): (&Goal, &u64)| latency.len() - above >= rank(goal);
        self.goals.iter().zip(&self.above).all(met).then_some(true)
    }

    /// What the run came to that ended then.
    pub(super) fn finish(mut self, end: Instant) -> Counted {
        let decided = self.decided();
        let last: u64 = self.rows.iter().filter(|row| row.is_inside).filter_map(|row| row.since).map(|at| end.since(at).0).sum();
        self.used += Ns(last);
        Counted {
            good: self.good.counted().len(),
            timeouts: self.timeouts.counted().len(),
            latency: self.latency.counted(),
            offered: self.offered,
            arrived: self.offered + self.earlier,
            used: self.used,
            decided,
        }
    }

    fn measurement(&mut self, at: Instant, task: TaskId, kind: Kind, value: u64) {
        if at < self.window.0 || at > self.window.1 {
            self.earlier += u64::from(matches!(kind, Kind::Requests) && at < self.window.0);
            return;
        }
        let is_measured = self.rows.get(task.index()).is_some_and(|row| row.is_measured);
        let values = match kind {
            Kind::Requests => {
                self.offered += 1;
                return;
            }
            Kind::Latency => &mut self.latency,
            Kind::Good => &mut self.good,
            Kind::Timeouts => &mut self.timeouts,
        };
        match is_measured {
            true => values.measured.record(value),
            false => values.others.record(value),
        }
        if let (Kind::Latency, true) = (kind, is_measured) {
            let shown = Histogram::shown(value);
            self.above.iter_mut().zip(self.goals).for_each(|(above, goal)| *above += u64::from(shown > goal.most.0));
        }
    }
}

impl Sink for Tally<'_> {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { prev, next, .. } => {
                if let Some(row) = prev.and_then(|prev| self.rows.get_mut(prev.index())).filter(|row| row.is_inside) {
                    self.used += row.since.take().map_or(Ns::ZERO, |since| at.since(since));
                }
                if let Some(row) = next.and_then(|next| self.rows.get_mut(next.index())).filter(|row| row.is_inside) {
                    row.since = Some(at);
                }
            }
            TraceEvent::Marker { task, marker, value } => {
                if let Some(&Some(kind)) = self.kinds.get(MarkerId::index(marker)) {
                    self.measurement(at, task, kind, value);
                }
            }
            _ => {}
        }
    }
}

/// Whether a task is in the group or below it: clients leave it at once.
fn is_inside(tasks: &TaskSet, task: TaskId, path: &str) -> bool {
    let Some(spec) = tasks.tasks.get(task) else { return false };
    let leaves = tasks.programs[spec.program].code.contains(&Instr::SetGroup { group: None });
    !leaves && lies_below(tasks, spec.group, path)
}

fn lies_below(tasks: &TaskSet, group: Option<TgId>, path: &str) -> bool {
    let mut next = group;
    while let Some(id) = next {
        if tasks.groups[id].name == path {
            return true;
        }
        next = tasks.groups[id].parent;
    }
    false
}
