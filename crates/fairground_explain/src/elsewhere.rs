//! Idle CPUs elsewhere, and why placement did not choose one of them.

use super::cause::Cause;
use super::watch::Step;
use fairground_model::reason::Question;
use fairground_model::{Decision, Reason, TraceEvent};
use fairground_sched::Sched;
use fairground_stdx::{CpuId, CpuMask, Id, Instant, Ns, TaskId};

/// A CPU that stood idle while the task waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleCpu {
    /// Which.
    pub cpu: CpuId,
    /// Whether the task may run there.
    pub allowed: bool,
    /// Whether it shares the last-level cache with the CPU where the task waited at first.
    pub shares_cache: bool,
    /// When it was first seen idle.
    pub first: Instant,
    /// For how long it was idle in all.
    pub total: Ns,
}

/// Where the wake-up put the task, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The decision.
    pub reason: Reason,
    /// The CPU that was chosen.
    pub chosen: CpuId,
    /// Whether it was idle then.
    pub was_idle: bool,
    /// The other CPUs that the task may use and that were idle then: how many under the same cache, and in all.
    pub idle_near: u32,
    /// See `idle_near`.
    pub idle_in_all: u32,
    /// Why none of those was chosen, if there were some and the chosen one was not idle, or got another task first.
    pub missed: Option<Cause>,
}

/// Watches all CPUs while one task waits.
pub(super) struct Elsewhere {
    task: TaskId,
    idle: CpuMask,
    since: Instant,
    rows: Vec<Option<(Instant, Ns)>>,
    placement: Option<Placement>,
}

impl Elsewhere {
    pub(super) fn new(task: TaskId, sched: &Sched, since: Instant) -> Elsewhere {
        Elsewhere { task, idle: sched.idle_cpus(), since, rows: vec![None; sched.cpu_ids().count()], placement: None }
    }

    /// One step of the run is over; `queued`: up to it the task waited for a CPU.
    pub(super) fn step(&mut self, sched: &Sched, now: Instant, step: &Step, queued: bool) {
        if queued {
            let length = now.saturating_since(self.since);
            for cpu in self.idle.iter() {
                let (_, total) = self.rows[cpu.index()].get_or_insert((self.since, Ns::ZERO));
                *total += length;
            }
        }
        for (_, _, event) in &step.records {
            match *event {
                TraceEvent::Decision(Decision { reason, a, b })
                    if a == self.task.get() && reason.question() == Question::SelectCpu =>
                {
                    self.placement = Some(self.placed(sched, reason, CpuId::new(b)));
                }
                TraceEvent::SchedWakeup { task, target_cpu } if task == self.task => self.arrived(sched, target_cpu),
                _ => {}
            }
        }
        (self.idle, self.since) = (sched.idle_cpus(), now);
    }

    fn placed(&self, sched: &Sched, reason: Reason, chosen: CpuId) -> Placement {
        let mut others = self.idle.and(&sched.task(self.task).cpus_allowed);
        let was_idle = others.contains(chosen);
        others.remove(chosen);
        let near = others.iter().filter(|&cpu| sched.topology().cpus_share_cache(cpu, chosen)).count() as u32;
        let in_all = others.weight() as u32;
        let missed = match (was_idle, near, in_all) {
            (true, ..) | (_, _, 0) => None,
            (_, 0, _) => Some(Cause::OtherCache),
            _ => Some(Cause::SearchCut),
        };
        Placement { reason, chosen, was_idle, idle_near: near, idle_in_all: in_all, missed }
    }

    /// The task is queued where it was to go: is the CPU still free?
    fn arrived(&mut self, sched: &Sched, cpu: CpuId) {
        let Some(placement) = self.placement.as_mut().filter(|placement| placement.was_idle && placement.chosen == cpu) else {
            return;
        };
        if sched.rq(cpu).nr_running > 1 {
            placement.missed = Some(Cause::IdleCpuTaken);
        }
    }

    /// What was seen, until the task ran; CPUs in order of their numbers, without that where it waited at first.
    pub(super) fn found(self, sched: &Sched, waited_on: CpuId) -> (Vec<IdleCpu>, Option<Placement>) {
        let allowed = &sched.task(self.task).cpus_allowed;
        let rows = self.rows.iter().enumerate().filter_map(|(index, row)| {
            let (cpu, (first, total)) = (CpuId::from_index(index), (*row)?);
            let shares_cache = sched.topology().cpus_share_cache(cpu, waited_on);
            Some(IdleCpu { cpu, allowed: allowed.contains(cpu), shares_cache, first, total })
        });
        (rows.filter(|row| row.cpu != waited_on && row.total > Ns::ZERO).collect(), self.placement)
    }
}
