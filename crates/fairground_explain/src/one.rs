//! One delay: its parts, what was idle elsewhere, what could have helped, and the causes that come into question.

use super::cause::{Cause, Place};
use super::elsewhere::{Elsewhere, IdleCpu, Placement};
use super::find::Delay;
use super::parts::Parts;
use super::past::Past;
use super::verdicts::{Miss, Misses};
use super::watch::{Step, Watch};
use fairground_scenario::{Error, Scenario};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TgId};

/// A cause with less than this share of a delay, in percent, does not come into question, and a saving of less is none.
pub(super) const LEAST_PCT: u64 = 5;

/// A delay, explained.
#[derive(Clone, PartialEq, Debug)]
pub struct Explained {
    /// Which one.
    pub delay: Delay,
    /// The group in which the task lay at its end.
    pub group: Option<TgId>,
    /// The CPU where it went on, or waited last.
    pub cpu: CpuId,
    /// Its time.
    pub parts: Parts,
    /// Where a wake-up put it.
    pub placement: Option<Placement>,
    /// CPUs that stood idle meanwhile.
    pub idle: Vec<IdleCpu>,
    /// CPUs of tasks that are not measured, such as the clients of a service: they stand for other machines.
    pub reserved: CpuMask,
    /// CPUs that the task may use and that were off line.
    pub offline: CpuMask,
    /// Balances on behalf of those that could have taken it, in order of time.
    pub misses: Vec<Miss>,
    /// The cause: by the account of its time, until what-ifs have shown what takes the delay away.
    pub cause: Cause,
}

/// Explains a delay from the run just before its instant.
pub(super) fn explain_one(scenario: &Scenario, start: &Simulation, past: &Past, delay: Delay) -> Result<Explained, Error> {
    let stopped = |stopped| scenario.stopped(&stopped);
    let mut run = start.clone();
    let mut watch = Watch::new(delay, past.clone(), &run);
    let mut elsewhere = Elsewhere::new(delay.task, run.sched(), delay.from);
    let mut misses = Misses::new(delay.task);
    let mut step = Step::default();
    let mut waited_on = None;
    while !watch.is_over() {
        step.clear();
        let flow = run.step(&mut step).map_err(stopped)?;
        let queued = watch.is_queued();
        watch.step(&run, &step);
        elsewhere.step(run.sched(), run.now().min(delay.until), &step, queued);
        misses.step(&run, &step, queued, watch.cpu());
        if watch.is_queued() {
            waited_on = waited_on.or(Some(watch.cpu()));
        }
        assert!(flow == Flow::More || watch.is_over(), "invariant: a delay that was found comes again");
    }
    let cpu = watch.cpu();
    let (idle, placement) = elsewhere.found(run.sched(), waited_on.unwrap_or(cpu));
    let misses = misses.judged(start).map_err(stopped)?;
    let row = run.sched().task(delay.task);
    let mut reserved = CpuMask::first_n(0);
    for spec in scenario.tasks().tasks.iter().filter(|spec| !spec.measured) {
        reserved = spec.affinity.map_or(reserved, |cpus| reserved.or(&cpus));
    }
    let (group, offline) = (row.group, run.offline().and(&row.cpus_allowed));
    let mut one = Explained {
        delay,
        group,
        cpu,
        parts: watch.parts(),
        placement,
        idle,
        reserved,
        offline,
        misses,
        cause: Cause::QueueLength,
    };
    one.cause = one.likeliest();
    Ok(one)
}

impl Explained {
    /// The CPU that the task could have used longest: idle for the longest time among those allowed, or not.
    pub(super) fn longest_idle(&self, allowed: bool) -> Option<&IdleCpu> {
        let counts = |row: &&IdleCpu| row.allowed == allowed && (allowed || !self.reserved.contains(row.cpu));
        self.idle.iter().filter(counts).max_by_key(|row| (row.total, std::cmp::Reverse(row.cpu)))
    }

    /// Whether a length of time is at least half of the delay.
    fn is_half(&self, length: Ns) -> bool {
        length.0 * 2 >= self.delay.length().0
    }
    /// Whether it would have been at most half as late if it had left at `at`.
    fn saves_half(&self, at: Instant) -> bool {
        self.is_half(self.delay.until.saturating_since(at))
    }
    /// Whether a length of time counts at all.
    pub(super) fn is_worth(&self, length: Ns) -> bool {
        is_share(length, self.delay.length())
    }

    /// What the account of the time says, before anything is tried. First of all what is proved: a balance that, but for a
    /// wrong statistic, would have brought the task to another CPU in time. Else, if another CPU that it may use stood idle
    /// for at least half of the time, its first chance to come there that was missed; else what held longest where it waited.
    fn likeliest(&self) -> Cause {
        if let Some(cause) = self.elsewhere().first() {
            return *cause;
        }
        self.parts.largest()
    }

    /// Causes that lie elsewhere and come into question, the likeliest first: none if the task did not wait behind others for
    /// half of its delay, since no other CPU would have helped it.
    pub(super) fn elsewhere(&self) -> Vec<Cause> {
        let crowded: u64 = self.parts.rows().iter().filter(|part| is_crowding(part.cause)).map(|part| part.time.0).sum();
        if !self.is_half(Ns(crowded)) {
            return Vec::new();
        }
        let mut causes = Vec::new();
        let is_long = |row: &&IdleCpu| self.is_half(row.total);
        let compared = |miss: &Miss| matches!(miss.cause, Cause::NoImbalance | Cause::OtherQueue | Cause::NotMovable);
        if self.misses.iter().any(|miss| miss.cause == Cause::MisledStatistic && self.saves_half(miss.at)) {
            causes.push(Cause::MisledStatistic);
        }
        if self.longest_idle(true).filter(is_long).is_some() {
            if causes.is_empty() && self.misses.iter().any(|miss| compared(miss) && self.saves_half(miss.at)) {
                causes.push(Cause::MisledStatistic);
            }
            let placed = self.placement.and_then(|placement| placement.missed);
            let in_time = self.misses.iter().filter(|miss| self.saves_half(miss.at)).map(|miss| miss.cause);
            let mut missed: Vec<Cause> = placed.into_iter().collect();
            // Any of the balances that came in time would have helped.
            in_time.for_each(|cause| {
                if !missed.contains(&cause) && !causes.contains(&cause) {
                    missed.push(cause);
                }
            });
            if missed.is_empty() {
                missed.push(Cause::NoBalance);
            }
            causes.extend(missed);
        } else if self.longest_idle(false).filter(is_long).is_some() {
            causes.push(Cause::Affinity);
        }
        causes
    }

    /// Causes on the CPU where it waited that took a share worth a word, the longest first.
    pub(super) fn here(&self) -> Vec<Cause> {
        let here =
            Cause::ALL.iter().copied().filter(|cause| cause.place() == Place::Here && self.is_worth(self.parts.of(*cause)));
        let mut here: Vec<Cause> = here.collect();
        here.sort_by_key(|&cause| std::cmp::Reverse(self.parts.of(cause)));
        here
    }

    /// The rule with which its wait behind others began, whatever time it had: a wait that it began goes on by the next rule.
    pub(super) fn first(&self) -> Option<Cause> {
        let causes = self.parts.stretches().iter().map(|stretch| self.parts.rows()[stretch.part].cause);
        causes.into_iter().find(|&cause| is_crowding(cause))
    }

    /// All causes that were found, the named one first.
    pub fn causes(&self) -> Vec<Cause> {
        let missed = self.placement.and_then(|placement| placement.missed);
        let mut causes = vec![self.cause];
        for cause in self.here().into_iter().chain(missed).chain(self.misses.iter().map(|miss| miss.cause)) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }
}

/// Whether a part of a length of time counts at all.
pub(super) const fn is_share(part: Ns, whole: Ns) -> bool {
    part.0 * 100 >= whole.0 * LEAST_PCT && part.0 > 0
}

/// Whether a cause comes from others on the same CPU, so that another CPU would have been the way out.
pub(super) const fn is_crowding(cause: Cause) -> bool {
    !matches!(
        cause,
        Cause::KernelTime
            | Cause::IdleExit
            | Cause::IpiFlight
            | Cause::OnTheWay
            | Cause::Throttled
            | Cause::Burst
            | Cause::RtThrottled
            | Cause::DeadlineThrottled
            | Cause::TimerLate
            | Cause::Interrupt
            | Cause::Stolen
            | Cause::LockHeld
            | Cause::LockHolderThrottled
            | Cause::LockHolderPreempted
            | Cause::LockHolderAsleep
            | Cause::SpinBackOff
            | Cause::WorkersBusy
    )
}
