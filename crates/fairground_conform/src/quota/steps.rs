//! Records and probes as what happens to accounts.

use crate::recording::Recording;
use fairground_model::{PrevState, QuotaCall, QuotaProbe, TraceEvent};
use fairground_stdx::{CpuId, IndexVec, Instant, Ns, TaskId};
use std::collections::BTreeMap;

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

struct Steps {
    members: IndexVec<TaskId, bool>,
    places: IndexVec<TaskId, Place>,
    /// How many members each CPU's queue has.
    queued: IndexVec<CpuId, u32>,
    /// By the recorder's number of a queue.
    cpu_of: BTreeMap<u32, CpuId>,
    steps: Vec<Step>,
}

/// Puts records and probes together, in order of time.
pub(super) fn read(recording: &Recording, probes: &[QuotaProbe], members: &[TaskId], nr_cpus: usize) -> Vec<Step> {
    let mut is_member = IndexVec::filled(false, recording.tasks.len());
    members.iter().for_each(|&task| is_member[task] = true);
    let mut steps = Steps {
        cpu_of: cpus_of_queues(recording, probes, &is_member),
        members: is_member,
        places: IndexVec::filled(Place::default(), recording.tasks.len()),
        queued: IndexVec::filled(0, nr_cpus),
        steps: Vec::new(),
    };
    let mut probes = probes.iter().filter(|probe| (probe.cpu.get() as usize) < nr_cpus).peekable();
    for record in &recording.records {
        while let Some(probe) = probes.next_if(|probe| probe.at < record.at) {
            steps.probe(probe);
        }
        steps.event(record.at, record.cpu, &record.event);
    }
    probes.for_each(|probe| steps.probe(probe));
    steps.steps
}

/// A queue is that of the CPU where most of its throttles were recorded with a member running. Another CPU writes the probe only if it
/// wakes somebody there.
fn cpus_of_queues(recording: &Recording, probes: &[QuotaProbe], is_member: &IndexVec<TaskId, bool>) -> BTreeMap<u32, CpuId> {
    let pids: Vec<u32> = recording.tasks.iter_enumerated().filter(|row| is_member[row.0]).map(|row| row.1.pid).collect();
    let mut votes: BTreeMap<u32, BTreeMap<CpuId, (u32, u32)>> = BTreeMap::new();
    for probe in probes {
        if let QuotaCall::Throttle { queue, current, .. } = probe.call {
            let vote = votes.entry(queue).or_default().entry(probe.cpu).or_default();
            vote.0 += u32::from(pids.contains(&current));
            vote.1 += 1;
        }
    }
    // The first of equals.
    let most = |votes: BTreeMap<CpuId, (u32, u32)>| votes.into_iter().rev().max_by_key(|row| row.1).map(|row| row.0);
    votes.into_iter().filter_map(|(queue, votes)| Some((queue, most(votes)?))).collect()
}

impl Steps {
    fn push(&mut self, at: Instant, cpu: CpuId, what: What) {
        self.steps.push(Step { at, cpu, what });
    }

    fn probe(&mut self, probe: &QuotaProbe) {
        let own = |queue| self.cpu_of.get(&queue).copied();
        let (cpu, what) = match probe.call {
            QuotaCall::Throttle { queue, remaining, .. } => {
                let Some(cpu) = own(queue) else { return };
                (cpu, What::Throttle { remaining, empty: self.queued[cpu] == 0 })
            }
            QuotaCall::Unthrottle { queue, remaining } => match own(queue) {
                Some(cpu) => (cpu, What::Unthrottle { remaining }),
                None => return,
            },
            QuotaCall::PeriodTimer => (probe.cpu, What::PeriodTimer),
            QuotaCall::DistributeBegins => (probe.cpu, What::DistributeBegins),
            QuotaCall::DistributeEnds | QuotaCall::ThrottleWork { .. } => return,
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
        if place.queued && place.cpu == Some(cpu) {
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
