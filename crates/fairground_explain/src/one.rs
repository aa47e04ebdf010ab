//! One wake-up: its parts, what was idle elsewhere, what could have helped, and the cause by which it is called.

use super::cause::{Cause, Place};
use super::elsewhere::{Elsewhere, IdleCpu, Placement};
use super::find::WakeUp;
use super::parts::Parts;
use super::past::Past;
use super::verdicts::{Miss, Misses};
use super::watch::{Step, Watch};
use fairground_scenario::{Error, Scenario};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TgId};

/// A wake-up, explained.
#[derive(Clone, PartialEq, Debug)]
pub struct Explained {
    /// Which one.
    pub wake: WakeUp,
    /// The group in which the task lay when it ran.
    pub group: Option<TgId>,
    /// The CPU where it ran.
    pub cpu: CpuId,
    /// Its time.
    pub parts: Parts,
    /// Where it was put.
    pub placement: Option<Placement>,
    /// CPUs that stood idle meanwhile.
    pub idle: Vec<IdleCpu>,
    /// Balances on behalf of those that could have taken it, in order of time.
    pub misses: Vec<Miss>,
    /// The cause.
    pub cause: Cause,
}

/// Explains a wake-up from the run just before its instant.
pub(super) fn explain_one(scenario: &Scenario, start: &Simulation, past: &Past, wake: WakeUp) -> Result<Explained, Error> {
    let stopped = |stopped| scenario.stopped(&stopped);
    let mut run = start.clone();
    let mut watch = Watch::new(wake, past.clone(), run.sched());
    let mut elsewhere = Elsewhere::new(wake.task, run.sched(), wake.waking);
    let mut misses = Misses::new(wake.task);
    let mut step = Step::default();
    let mut waited_on = None;
    while !watch.is_over() {
        step.clear();
        let flow = run.step(&mut step).map_err(stopped)?;
        let woken = watch.is_woken();
        watch.step(&run, &step);
        elsewhere.step(run.sched(), run.now().min(wake.until), &step, woken);
        misses.step(&run, &step, woken, watch.cpu());
        if watch.is_queued() {
            waited_on = waited_on.or(Some(watch.cpu()));
        }
        assert!(flow == Flow::More || watch.is_over(), "invariant: a wake-up that was found comes again");
    }
    let cpu = watch.cpu();
    let (idle, placement) = elsewhere.found(run.sched(), waited_on.unwrap_or(cpu));
    let misses = misses.judged(start).map_err(stopped)?;
    let mut one = Explained {
        wake,
        group: run.sched().task(wake.task).group,
        cpu,
        parts: watch.parts(),
        placement,
        idle,
        misses,
        cause: Cause::QueueLength,
    };
    one.cause = one.named_cause();
    Ok(one)
}

impl Explained {
    /// The CPU that the task could have used longest: idle for the longest time among those allowed, or not.
    fn longest_idle(&self, allowed: bool) -> Option<&IdleCpu> {
        self.idle.iter().filter(|row| row.allowed == allowed).max_by_key(|row| (row.total, std::cmp::Reverse(row.cpu)))
    }

    /// Whether a length of time is at least half of the delay.
    fn is_half(&self, length: Ns) -> bool {
        length.0 * 2 >= self.wake.latency().0
    }
    /// Whether it would have been at most half as late if it had left at `at`.
    fn saves_half(&self, at: Instant) -> bool {
        self.is_half(self.wake.until.saturating_since(at))
    }

    /// What it is called. First of all what is proved: a balance that, but for a wrong statistic, would have brought it
    /// to another CPU in time. Else, if another CPU that it may use stood idle for at least half of the time, its first
    /// chance to come there that was missed; else what held longest where it waited.
    fn named_cause(&self) -> Cause {
        if self.misses.iter().any(|miss| miss.cause == Cause::MisledStatistic && self.saves_half(miss.at)) {
            return Cause::MisledStatistic;
        }
        let is_long = |row: &&IdleCpu| self.is_half(row.total);
        if self.longest_idle(true).filter(is_long).is_some() {
            return self.missed_chance();
        }
        let here = self.parts.largest();
        match self.longest_idle(false).filter(is_long) {
            Some(_) if is_crowding(here) => Cause::Affinity,
            _ => here,
        }
    }

    /// The first chance: when it was placed, or a balance.
    fn missed_chance(&self) -> Cause {
        let placed = self.placement.and_then(|placement| placement.missed);
        let balance = self.misses.iter().find(|miss| self.saves_half(miss.at)).map(|miss| miss.cause);
        placed.or(balance).unwrap_or(Cause::NoBalance)
    }

    /// All causes that were found, the named one first.
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes = vec![self.cause];
        let here = Cause::ALL.iter().copied().filter(|cause| cause.place() == Place::Here && self.parts.of(*cause) > Ns::ZERO);
        let mut here: Vec<Cause> = here.collect();
        here.sort_by_key(|&cause| std::cmp::Reverse(self.parts.of(cause)));
        let missed = self.placement.and_then(|placement| placement.missed);
        for cause in here.into_iter().take(2).chain(missed).chain(self.misses.iter().map(|miss| miss.cause)) {
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }
}

/// Whether a cause comes from others on the same CPU, so that another CPU would have been the way out.
const fn is_crowding(cause: Cause) -> bool {
    !matches!(cause, Cause::KernelTime | Cause::IdleExit | Cause::IpiFlight | Cause::OnTheWay)
}
