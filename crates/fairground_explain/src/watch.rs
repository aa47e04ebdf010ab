//! Following one task step by step from its wake-up to the switch to it.

use super::cause::Cause;
use super::find::WakeUp;
use super::hold::{Hold, hold};
use super::parts::{Parts, Who};
use super::past::Past;
use fairground_model::reason::Question;
use fairground_model::{Decision, Section, Sink, TraceEvent, Verdict};
use fairground_sched::{Sched, TaskState};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, Instant, Ns};

/// What one step of the run brought.
#[derive(Default)]
pub(super) struct Step {
    pub(super) records: Vec<(Instant, CpuId, TraceEvent)>,
    pub(super) verdicts: Vec<Verdict>,
}

impl Step {
    /// Forgets the last step.
    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.verdicts.clear();
    }
}

impl Sink for Step {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.records.push((at, cpu, *event));
    }
    fn wants_samples(&self) -> bool {
        true
    }
    fn verdict(&mut self, _at: Instant, _cpu: CpuId, verdict: &Verdict) {
        self.verdicts.push(*verdict);
    }
    fn wants_verdicts(&self) -> bool {
        true
    }
}

/// Where the waiting task is, and who keeps it from running.
#[derive(Clone, Copy)]
enum State {
    /// On no queue.
    OnTheWay,
    /// Queued on an idle CPU.
    Idle,
    /// Queued behind a task.
    Behind(Who, Hold),
}

/// Divides the time of one wake-up.
pub(super) struct Watch {
    wake: WakeUp,
    past: Past,
    cpu: CpuId,
    state: State,
    since: Instant,
    /// Up to when that CPU is leaving its idle state.
    leaves_idle_until: Instant,
    /// Whether its `sched_waking` has come.
    woken: bool,
    parts: Parts,
}

impl Watch {
    /// Begins just before the instant of the wake-up.
    pub(super) fn new(wake: WakeUp, past: Past, sched: &Sched) -> Watch {
        let cpu = sched.task(wake.task).cpu;
        let (state, since) = (State::OnTheWay, wake.waking);
        Watch { wake, past, cpu, state, since, leaves_idle_until: since, woken: false, parts: Parts::default() }
    }
    /// Whether the task runs.
    pub(super) fn is_over(&self) -> bool {
        self.woken && self.since >= self.wake.until
    }
    /// Whether its wake-up has begun.
    pub(super) fn is_woken(&self) -> bool {
        self.woken
    }
    /// Whether it is on a queue.
    pub(super) fn is_queued(&self) -> bool {
        self.woken && !matches!(self.state, State::OnTheWay)
    }
    /// The CPU where it waits.
    pub(super) fn cpu(&self) -> CpuId {
        self.cpu
    }
    /// The parts of its time.
    pub(super) fn parts(self) -> Parts {
        self.parts
    }

    /// One step of the run is over.
    pub(super) fn step(&mut self, simulation: &Simulation, step: &Step) {
        let now = simulation.now().min(self.wake.until);
        if self.woken {
            self.account(now);
        }
        for &(at, cpu, ref event) in &step.records {
            self.past.record(at, cpu, event);
            self.woken |= matches!(*event, TraceEvent::SchedWaking { task, .. } if task == self.wake.task);
            if let TraceEvent::Decision(Decision { reason, a, .. }) = *event
                && reason.question() == Question::WakeupPreempt
                && a == self.wake.task.get()
            {
                self.past.wakes(simulation.sched().task(self.wake.task).cpu, reason, at);
            }
        }
        self.look(simulation, now);
    }

    fn look(&mut self, simulation: &Simulation, now: Instant) {
        let sched = simulation.sched();
        let own = sched.task(self.wake.task);
        self.cpu = own.cpu;
        (self.since, self.leaves_idle_until) = (now, simulation.leaves_idle_until(own.cpu));
        let queued = own.state == TaskState::Queued;
        self.state = match sched.rq(own.cpu).curr {
            _ if !queued => State::OnTheWay,
            None => State::Idle,
            Some(other) => {
                let who = Who::Task(other, sched.task(other).group);
                State::Behind(who, hold(sched, &self.past, own.cpu, self.wake.task, other, now))
            }
        };
    }

    /// The time up to `until` goes to who had the CPU: first the kernel, as far as it was at work.
    fn account(&mut self, until: Instant) {
        let leaving = (Section::IdleExit, Cause::IdleExit, self.leaves_idle_until);
        let kernel = self.past.kernel(self.cpu).map(|(section, ends)| match section {
            Section::IdleExit => (section, Cause::IdleExit, ends),
            // While it is on its way the task waits for the kernel of another CPU.
            _ if matches!(self.state, State::OnTheWay) => (section, Cause::OnTheWay, self.since),
            _ => (section, Cause::KernelTime, ends),
        });
        let mut from = self.since;
        for (section, cause, ends) in std::iter::once(leaving).chain(kernel) {
            let to = ends.clamp(from, until.max(from));
            self.parts.add(self.cpu, Who::Kernel(section), (cause, None), to.since(from));
            from = to;
        }
        let rest = until.saturating_since(from);
        match self.state {
            State::OnTheWay => self.parts.add(self.cpu, Who::Nobody, (Cause::OnTheWay, None), rest),
            State::Idle => self.parts.add(self.cpu, Who::Idle, (Cause::IpiFlight, None), rest),
            State::Behind(who, hold) => self.account_hold(who, hold, from, until),
        }
    }

    /// The run time of another task in three parts: its slice, what its weight adds, and what it ran beyond its slice.
    fn account_hold(&mut self, who: Who, hold: Hold, from: Instant, until: Instant) {
        let used_up = hold.used_up_from.unwrap_or(until).clamp(from, until);
        let slice_left = |slice: Ns| slice.saturating_sub(self.parts.of_who(who, hold.cause));
        let heavier = hold.equal_slice.map_or(used_up, |slice| (from + slice_left(slice)).min(used_up));
        self.parts.add(self.cpu, who, (hold.cause, hold.meeting), heavier.since(from));
        self.parts.add(self.cpu, who, (Cause::HeavierTask, hold.meeting), used_up.since(heavier));
        self.parts.add(self.cpu, who, (Cause::TickGranularity, hold.meeting), until.since(used_up));
    }
}
