//! Records and probes as what happens to accounts.

use super::{Below, QuotaSetup};
use crate::recording::Recording;
use fairground_model::{PrevState, QuotaCall, QuotaProbe, TraceEvent};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// Something that happens to the account of a CPU, or on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) at: Instant,
    pub(super) cpu: CpuId,
    pub(super) what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A member ran for so long.
    Ran(Ns),
    /// The first member comes onto the queue.
    First,
    /// The last one leaves it.
    Last,
    /// A member is put on the CPU.
    Picked,
    /// The queue is about to be throttled; it has members, or none yet.
    Throttle {
        remaining: i64,
        empty: bool,
    },
    /// It is about to be released.
    Unthrottle {
        remaining: i64,
    },
    PeriodTimer,
    DistributeBegins,
}

impl What {
    /// Whether it is about the account of its CPU, not about the pool.
    pub(super) const fn is_of_account(self) -> bool {
        !matches!(self, What::PeriodTimer | What::DistributeBegins)
    }
}

/// Where a member is.
#[derive(Clone, Copy, Default)]
struct Place {
    cpu: Option<CpuId>,
    queued: bool,
}

struct Steps<'s> {
    /// Groups below, and which of their tasks do not stand on the queues above, since that of their group is throttled.
    below: &'s [Below],
    held: IndexVec<TaskId, bool>,
    /// A throttled queue is off the queue above at once, not when its tasks stop.
    at_once: bool,
    pids: BTreeMap<u32, TaskId>,
    /// By the recorder's number of a queue of a group below.
    below_of: BTreeMap<u32, (usize, CpuId)>,
    /// What is throttled on a CPU: the group's own queue (`None`), that of a group below.
    throttled: BTreeSet<(CpuId, Option<usize>)>,
    members: IndexVec<TaskId, bool>,
    places: IndexVec<TaskId, Place>,
    /// How many members each CPU's queue has.
    queued: IndexVec<CpuId, u32>,
    /// By the recorder's number of a queue.
    cpu_of: BTreeMap<u32, CpuId>,
    steps: Vec<Step>,
}

/// Puts records and probes together, in order of time.
pub(super) fn read(recording: &Recording, probes: &[QuotaProbe], setup: &QuotaSetup) -> Vec<Step> {
    let nr_cpus = setup.machine.cpus.len();
    let mut is_member = IndexVec::filled(false, recording.tasks.len());
    setup.members.iter().for_each(|&task| is_member[task] = true);
    let pids = pids_of(recording, &setup.members);
    let mut steps = Steps {
        cpu_of: cpus_of_queues(probes, |pid| pids.contains(&pid)),
        below: &setup.below,
        below_of: below_of(recording, setup),
        throttled: BTreeSet::new(),
        held: IndexVec::filled(false, recording.tasks.len()),
        at_once: setup.profile.throttle.dequeues_queues(),
        pids: recording.tasks.iter_enumerated().map(|row| (row.1.pid, row.0)).collect(),
        members: is_member,
        places: IndexVec::filled(Place::default(), recording.tasks.len()),
        queued: IndexVec::filled(0, nr_cpus),
        steps: Vec::new(),
    };
    let mut probes = with_below(probes, setup, nr_cpus).into_iter().peekable();
    for record in &recording.records {
        while let Some(probe) = probes.next_if(|probe| probe.1.at < record.at) {
            steps.next(probe);
        }
        steps.event(record.at, record.cpu, &record.event);
    }
    probes.for_each(|probe| steps.next(probe));
    steps.steps
}

/// The probes of the group itself (`None`) and of those below it, in order of time.
fn with_below<'p>(probes: &'p [QuotaProbe], setup: &'p QuotaSetup, nr_cpus: usize) -> Vec<(Option<usize>, &'p QuotaProbe)> {
    let below = setup.below.iter().enumerate().flat_map(|(row, below)| below.probes.iter().map(move |probe| (Some(row), probe)));
    let own = probes.iter().map(|probe| (None, probe));
    let mut all: Vec<_> = own.chain(below).filter(|row| (row.1.cpu.get() as usize) < nr_cpus).collect();
    all.sort_by_key(|row| row.1.at);
    all
}

/// Whose the queues of groups below are.
fn below_of(recording: &Recording, setup: &QuotaSetup) -> BTreeMap<u32, (usize, CpuId)> {
    let mut all = BTreeMap::new();
    for (row, below) in setup.below.iter().enumerate() {
        let pids = pids_of(recording, &below.members);
        let cpus = cpus_of_queues(&below.probes, |pid| pids.contains(&pid));
        all.extend(cpus.into_iter().map(|(queue, cpu)| (queue, (row, cpu))));
    }
    all
}

/// The CPU of each queue, by the recorder's number of the queue: where most of its throttles were recorded with a member running.
/// Another CPU writes the probe only if it wakes somebody there. `is_member` is asked by process.
pub fn cpus_of_queues(probes: &[QuotaProbe], is_member: impl Fn(u32) -> bool) -> BTreeMap<u32, CpuId> {
    let mut votes: BTreeMap<u32, BTreeMap<CpuId, (u32, u32)>> = BTreeMap::new();
    for probe in probes {
        if let QuotaCall::Throttle { queue, current, .. } = probe.call {
            let vote = votes.entry(queue).or_default().entry(probe.cpu).or_default();
            vote.0 += u32::from(is_member(current));
            vote.1 += 1;
        }
    }
    // The first of equals.
    let most = |votes: BTreeMap<CpuId, (u32, u32)>| votes.into_iter().rev().max_by_key(|row| row.1).map(|row| row.0);
    votes.into_iter().filter_map(|(queue, votes)| Some((queue, most(votes)?))).collect()
}

/// The processes of tasks.
fn pids_of(recording: &Recording, tasks: &[TaskId]) -> BTreeSet<u32> {
    tasks.iter().map(|&task| recording.tasks[task].pid).collect()
}

impl Steps<'_> {
    fn next(&mut self, (of, probe): (Option<usize>, &QuotaProbe)) {
        match of {
            None => self.probe(probe),
            Some(_) => self.probe_below(probe),
        }
    }

    /// A queue of a group below is throttled or released: its tasks leave the group's own queue, or come back to it.
    fn probe_below(&mut self, probe: &QuotaProbe) {
        match probe.call {
            QuotaCall::Throttle { queue, .. } => {
                let Some(&(row, cpu)) = self.below_of.get(&queue) else { return };
                self.throttled.insert((cpu, Some(row)));
                let members = if self.at_once { self.below[row].members.as_slice() } else { &[] };
                for &task in members {
                    if self.places[task].queued && self.places[task].cpu == Some(cpu) {
                        self.hold(probe.at, task);
                    }
                }
            }
            QuotaCall::Unthrottle { queue, .. } => {
                let Some(&(row, cpu)) = self.below_of.get(&queue) else { return };
                self.throttled.remove(&(cpu, Some(row)));
                self.let_come(probe.at, cpu);
            }
            _ => {}
        }
    }

    /// Tasks whose groups are throttled on a CPU no more come back to the group's own queue. Where tasks stop one by one that is one of
    /// theirs as well.
    fn let_come(&mut self, at: Instant, cpu: CpuId) {
        if !self.at_once && self.throttled.contains(&(cpu, None)) {
            return;
        }
        let is_here = |row: &(TaskId, &bool)| *row.1 && self.places[row.0].cpu == Some(cpu);
        let here: Vec<TaskId> = self.held.iter_enumerated().filter(is_here).map(|row| row.0).collect();
        for task in here {
            let mut above = (0..).zip(self.below).filter(|row| row.1.members.contains(&task));
            if !above.any(|row| self.throttled.contains(&(cpu, Some(row.0)))) {
                self.held[task] = false;
                self.comes(at, task, cpu);
            }
        }
    }

    fn hold(&mut self, at: Instant, task: TaskId) {
        self.leaves(at, task);
        self.held[task] = true;
    }

    fn push(&mut self, at: Instant, cpu: CpuId, what: What) {
        self.steps.push(Step { at, cpu, what });
    }

    fn probe(&mut self, probe: &QuotaProbe) {
        let own = |queue| self.cpu_of.get(&queue).copied();
        let (cpu, what) = match probe.call {
            QuotaCall::Throttle { queue, remaining, .. } => {
                let Some(cpu) = own(queue) else { return };
                self.throttled.insert((cpu, None));
                (cpu, What::Throttle { remaining, empty: self.queued[cpu] == 0 })
            }
            QuotaCall::Unthrottle { queue, remaining } => {
                let Some(cpu) = own(queue) else { return };
                self.push(probe.at, cpu, What::Unthrottle { remaining });
                self.throttled.remove(&(cpu, None));
                return self.let_come(probe.at, cpu);
            }
            QuotaCall::PeriodTimer => (probe.cpu, What::PeriodTimer),
            QuotaCall::DistributeBegins => (probe.cpu, What::DistributeBegins),
            QuotaCall::ThrottleWork { task } => {
                let of_below = |task: &TaskId| self.below.iter().any(|below| below.members.contains(task));
                if let Some(task) = self.pids.get(&task).copied().filter(of_below) {
                    self.hold(probe.at, task);
                }
                return;
            }
            QuotaCall::DistributeEnds => return,
        };
        self.push(probe.at, cpu, what);
    }

    fn event(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                if let Some(prev) = self.member(prev).filter(|_| prev_state != PrevState::Running) {
                    self.leaves(at, prev);
                }
                if let Some(next) = self.member(next) {
                    self.comes(at, next, cpu);
                    self.push(at, cpu, What::Picked);
                }
            }
            TraceEvent::SchedWakeup { task, target_cpu } | TraceEvent::SchedWakeupNew { task, target_cpu, .. }
                if self.members[task] && !self.places[task].queued =>
            {
                self.comes(at, task, target_cpu);
            }
            TraceEvent::SchedMigrateTask { task, dest_cpu, .. } if self.members[task] && self.places[task].queued => {
                self.comes(at, task, dest_cpu);
            }
            TraceEvent::SchedStatRuntime { task, runtime, .. } => {
                let cpu = self.places[task].cpu.filter(|_| self.members[task]);
                if let Some(cpu) = cpu {
                    self.push(at, cpu, What::Ran(runtime));
                }
            }
            _ => {}
        }
    }

    fn member(&self, task: Option<TaskId>) -> Option<TaskId> {
        task.filter(|&task| self.members[task])
    }

    /// A member is on the queue of `cpu`, from now on if it was not.
    fn comes(&mut self, at: Instant, task: TaskId, cpu: CpuId) {
        let place = self.places[task];
        if self.held[task] || (place.queued && place.cpu == Some(cpu)) {
            return;
        }
        self.leaves(at, task);
        self.places[task] = Place { cpu: Some(cpu), queued: true };
        self.queued[cpu] += 1;
        if self.queued[cpu] == 1 {
            self.push(at, cpu, What::First);
        }
    }

    /// A member leaves the queue on which it is, if it is on one. What it has run there is accounted for by then.
    fn leaves(&mut self, at: Instant, task: TaskId) {
        let place = &mut self.places[task];
        let Some(cpu) = place.cpu.filter(|_| std::mem::take(&mut place.queued)) else { return };
        self.queued[cpu] -= 1;
        if self.queued[cpu] == 0 {
            self.push(at, cpu, What::Last);
        }
    }
}
