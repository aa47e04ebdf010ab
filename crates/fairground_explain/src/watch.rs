//! Following one task step by step through its delay.

use super::cause::Cause;
use super::find::Delay;
use super::hold::{Hold, hold};
use super::late::is_interruption;
use super::lock;
use super::parts::{Parts, Who};
use super::past::Past;
use fairground_model::reason::Question;
use fairground_model::{Decision, Mode, Section, Sink, TraceEvent, Verdict};
use fairground_sched::TaskState;
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, Instant, Ns, TgId};

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

/// What keeps the task from running.
#[derive(Clone, Copy)]
enum State {
    /// It has its CPU, but something interrupts it.
    Running,
    /// It is at work with the request that is asked about, or sleeps for it.
    AtWork,
    /// On no queue: its CPU is being chosen, or it is on its way there.
    OnTheWay,
    /// Asleep, though its timer is due.
    TimerDue,
    /// Queued on an idle CPU.
    Idle,
    /// Queued behind a task.
    Behind(Who, Hold),
    /// Kept from its CPU by one rule, whatever else happens there.
    Kept(Cause, Who),
}

/// Divides the time of one delay.
pub(super) struct Watch {
    delay: Delay,
    past: Past,
    cpu: CpuId,
    state: State,
    since: Instant,
    /// Up to when that CPU is leaving its idle state.
    leaves_idle_until: Instant,
    /// Up to when the host keeps that CPU, which idles.
    stolen_until: Instant,
    /// With interrupts off, whose section that CPU runs.
    irqs_off: Option<Who>,
    parts: Parts,
}

impl Watch {
    /// Begins just before the instant of the delay.
    pub(super) fn new(delay: Delay, past: Past, simulation: &Simulation) -> Watch {
        let cpu = simulation.sched().task(delay.task).cpu;
        let since = delay.from;
        let mut watch = Watch {
            delay,
            past,
            cpu,
            state: State::OnTheWay,
            since,
            leaves_idle_until: since,
            stolen_until: since,
            irqs_off: None,
            parts: Parts::default(),
        };
        watch.look(simulation, since);
        watch
    }
    /// Whether the task goes on.
    pub(super) fn is_over(&self) -> bool {
        self.since >= self.delay.until
    }
    /// Whether it waits for a CPU: it could run, and nothing but the other tasks keeps it.
    pub(super) fn is_queued(&self) -> bool {
        matches!(self.state, State::Idle | State::Behind(..))
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
        let now = simulation.now().min(self.delay.until);
        self.account(now);
        for &(at, cpu, ref event) in &step.records {
            self.past.record(at, cpu, event);
            if let TraceEvent::Decision(Decision { reason, a, .. }) = *event
                && reason.question() == Question::WakeupPreempt
                && a == self.delay.task.get()
            {
                self.past.wakes(simulation.sched().task(self.delay.task).cpu, reason, at);
            }
        }
        self.look(simulation, now);
    }

    fn look(&mut self, simulation: &Simulation, now: Instant) {
        let sched = simulation.sched();
        let task = self.delay.task;
        let own = sched.task(task);
        self.cpu = own.cpu;
        (self.since, self.leaves_idle_until) = (now, simulation.leaves_idle_until(own.cpu));
        self.stolen_until = simulation.stolen_until(own.cpu).unwrap_or(now);
        let curr = sched.rq(own.cpu).curr;
        self.irqs_off = match simulation.mode_of_current(own.cpu) {
            Some(Mode::IrqOff) => curr.map(|other| Who::Task(other, sched.task(other).group)),
            _ => None,
        };
        let quota = || State::Kept(Cause::Throttled, Who::Quota(sched.throttled_group(task).or(own.group)));
        let lock = || lock::keeps_from(simulation, task).map(|(cause, who)| State::Kept(cause, who));
        let state = match own.state {
            TaskState::Limbo => quota(),
            TaskState::Queued if sched.waits_for_quota(task) => quota(),
            _ if sched.is_dl_throttled(task) => State::Kept(Cause::DeadlineThrottled, Who::Nobody),
            TaskState::Queued if own.policy.is_rt() && sched.is_rt_throttled(own.cpu) => {
                State::Kept(Cause::RtThrottled, curr.map_or(Who::Nobody, |other| Who::Task(other, sched.task(other).group)))
            }
            TaskState::Queued => match curr {
                None => State::Idle,
                Some(other) => {
                    let who = Who::Task(other, sched.task(other).group);
                    State::Behind(who, hold(simulation, &self.past, own.cpu, task, other, now))
                }
            },
            TaskState::Running => lock().unwrap_or_else(|| self.at_work(own.group, now).unwrap_or(State::Running)),
            TaskState::Asleep | TaskState::Delayed | TaskState::OffCpuPending => {
                let back_off = || simulation.waits_for_lock(task).filter(|_| now < simulation.timer_due(task));
                let free = back_off().map(|_| State::Kept(Cause::SpinBackOff, Who::Nobody));
                lock().or(free).unwrap_or_else(|| self.at_work(own.group, now).unwrap_or(State::TimerDue))
            }
            TaskState::New | TaskState::Waking | TaskState::Migrating | TaskState::Dead => State::OnTheWay,
        };
        if let State::Kept(_, Who::Holder(holder, _)) = state {
            self.cpu = sched.task(holder).cpu;
        }
        self.state = state;
    }

    /// What who reads a request is about while he computes or sleeps: another request, or this one.
    fn at_work(&self, group: Option<TgId>, now: Instant) -> Option<State> {
        let request = self.delay.request?;
        Some(match request.read.is_none_or(|read| now < read) {
            true => State::Kept(Cause::WorkersBusy, Who::Task(self.delay.task, group)),
            false => State::AtWork,
        })
    }

    /// The time up to `until` goes to who had the CPU: first the kernel, as far as it was at work.
    fn account(&mut self, until: Instant) {
        let mut from = self.since;
        if let State::Kept(cause, who) = self.state {
            // What takes the CPU from a holder that runs takes the lock's time.
            let lost = self.past.kernel(self.cpu).filter(|row| cause == Cause::LockHeld && is_interruption(row.0));
            if let Some((section, ends)) = lost {
                let to = ends.clamp(from, until.max(from));
                self.parts.add(self.cpu, Who::Kernel(section), (of_section(section), None), from, to);
                from = to;
            }
            return self.parts.add(self.cpu, who, (cause, None), from, until);
        }
        if let State::AtWork = self.state {
            let kernel = self.past.kernel(self.cpu).filter(|row| is_interruption(row.0));
            if let Some((section, ends)) = kernel {
                let to = ends.clamp(from, until.max(from));
                self.parts.add(self.cpu, Who::Kernel(section), (of_section(section), None), from, to);
            }
            return;
        }
        let leaving = (Section::IdleExit, Cause::IdleExit, self.leaves_idle_until);
        let kernel = self.past.kernel(self.cpu).map(|(section, ends)| match section {
            // While it is on its way the task waits for the kernel of another CPU.
            _ if matches!(self.state, State::OnTheWay) && section != Section::IdleExit => (section, Cause::OnTheWay, self.since),
            _ => (section, of_section(section), ends),
        });
        let stolen = (Section::Stolen, Cause::Stolen, self.stolen_until);
        for (section, cause, ends) in [stolen, leaving].into_iter().chain(kernel) {
            let to = ends.clamp(from, until.max(from));
            self.parts.add(self.cpu, Who::Kernel(section), (cause, None), from, to);
            from = to;
        }
        let (cause, who) = match self.state {
            State::Behind(who, hold) => return self.account_hold(who, hold, from, until.max(from)),
            State::Running => (Cause::Interrupt, Who::Nobody),
            State::OnTheWay | State::AtWork | State::Kept(..) => (Cause::OnTheWay, Who::Nobody),
            State::TimerDue => match self.irqs_off {
                Some(who) => (Cause::IrqsOff, who),
                None => (Cause::TimerLate, Who::Nobody),
            },
            State::Idle => (Cause::IpiFlight, Who::Idle),
        };
        self.parts.add(self.cpu, who, (cause, None), from, until.max(from));
    }

    /// The run time of another task in three parts: its slice, what its weight adds, and what it ran beyond its slice.
    fn account_hold(&mut self, who: Who, hold: Hold, from: Instant, until: Instant) {
        let used_up = hold.used_up_from.unwrap_or(until).clamp(from, until);
        let slice_left = |slice: Ns| slice.saturating_sub(self.parts.of_who(who, hold.cause));
        let heavier = hold.equal_slice.map_or(used_up, |slice| (from + slice_left(slice)).min(used_up));
        // With interrupts off no tick comes.
        let no_tick = if self.irqs_off.is_some() { Cause::IrqsOff } else { Cause::TickGranularity };
        for (cause, from, to) in [(hold.cause, from, heavier), (Cause::HeavierTask, heavier, used_up), (no_tick, used_up, until)]
        {
            self.parts.add(self.cpu, who, (cause, hold.meeting), from, to);
            if hold.heavier && from < to {
                self.parts.note_heavier();
            }
        }
    }
}

/// What the time of a part of the kernel is called.
const fn of_section(section: Section) -> Cause {
    match section {
        Section::Stolen => Cause::Stolen,
        Section::IdleExit => Cause::IdleExit,
        Section::SchedTick
        | Section::HrtimerInterrupt
        | Section::RescheduleIpi
        | Section::SchedSoftirq
        | Section::NetRxSoftirq
        | Section::DeviceInterrupt
        | Section::Softirq => Cause::Interrupt,
        Section::Schedule
        | Section::TryToWakeUp
        | Section::Syscall
        | Section::NewidleBalance
        | Section::Stopper
        | Section::LockWait
        | Section::CacheRefill => Cause::KernelTime,
    }
}
