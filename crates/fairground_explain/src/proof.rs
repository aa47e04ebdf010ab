//! The cause by proof: what is taken away tells what it was.
//!
//! Each cause that comes into question is removed by a change of its own, from the state in which the task last began to run
//! before its last sleep. It scores by two figures: the time that it had in the delay, and what its removal saves.
//!
//! - A rule of its own (a quota, a feature, a policy): the mean of the two, since a rule often leads to the next one, which
//!   then has the time.
//! - Others that were ahead and would have to yield: half of the smaller one, since that removes every wait for a CPU. If many had
//!   their turns, all of it, and all turns are its time: why each of them was ahead (its credit, a tick to come) is a detail of that,
//!   but for ticks if finer ones halve the delay.
//!   No less than half of that for the time alone: a new task waits its turn behind them all the same.
//! - On another CPU: what the removal saves.
//! - A state that no change removes: its time, since the account of the time is exact.
//!
//! Any other cause whose removal saves less than a twentieth scores nothing. The one with the highest score is named. But if half of the
//! delay goes with a cause on another CPU, or with one that somebody set (a policy, WAKEUP_PREEMPTION, a burst), that goes first.

use super::cause::{Cause, Place};
use super::find::Delay;
use super::levers::Named;
use super::one::{Explained, LEAST_PCT};
use super::what_if::{Change, Lab, Outcome, WORKERS, WORKERS_AT_MOST};
use super::whole::WholeRuns;
use fairground_model::TaskSet;
use fairground_scenario::{Error, Scenario};
use fairground_stdx::Ns;

/// What a change says that makes others yield.
const YIELDS: &str = " idle";
/// Workers are doubled so often at most.
const DOUBLED_AT_MOST: u32 = 4;
/// So many changes are tried at most.
const CHANGES_AT_MOST: usize = 40;

/// How sure the named cause is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confidence {
    /// Without it the delay is at most half as long.
    Proved,
    /// Without it the delay is shorter.
    InPart,
    /// No change takes it away: the account of the time says it.
    Accounted,
    /// Nothing that was tried made the delay shorter.
    Unproved,
}

impl Confidence {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Proved => "proved",
            Confidence::InPart => "in-part",
            Confidence::Accounted => "accounted",
            Confidence::Unproved => "unproved",
        }
    }
}

/// A cause that came into question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suspect {
    /// The cause.
    pub cause: Cause,
    /// The time that it had in the delay: zero if it lies elsewhere.
    pub time: Ns,
    /// If many tasks had the CPU in turn: the time of all turns, whatever the rule of each.
    pub turns: Option<Ns>,
    /// Whether there are changes that take it away, be it that this kernel has none of them or that it is so already.
    pub removable: bool,
    /// The change that takes it away and saves most, and what that saves; `None` if no change does.
    pub removal: Option<(String, Ns)>,
}

impl Suspect {
    /// What it explains of a delay of this length.
    pub fn score(&self, length: Ns) -> Ns {
        let saved = self.removal.as_ref().map(|row| row.1.min(length));
        let (behind, half) = self.turns.map_or((self.time, 2), |turns| (turns, 1));
        Ns(match (saved, self.cause.place()) {
            // To make others yield is not to be without them: they may have their turns all the same.
            (Some(saved), Place::Here) if is_generic(self.cause) => (behind.min(saved).0 / half).max(behind.0 / half / 2),
            (Some(saved), _) if saved.0 * 100 < length.0 * LEAST_PCT => 0,
            (Some(saved), Place::Elsewhere) => saved.0,
            (Some(saved), Place::Here) => (self.time.0 + saved.0) / 2,
            // What could be tried is so already, and the task waits all the same.
            (None, Place::Here) if self.removable => self.time.0 / 2,
            (None, _) => self.time.0,
        })
    }
    /// Causes with which half of the delay goes, and which go before all that the kernel's own rules did here: first of all CPUs
    /// that were taken away, then others that go before the task by a class or a weight that somebody gave them, then a CPU that
    /// was free, then what somebody had set.
    fn rank(&self, length: Ns) -> u32 {
        let was_set = matches!(self.cause, Cause::NoWakeupPreemption | Cause::BatchPolicy | Cause::IdlePolicy | Cause::Burst);
        let goes_first = matches!(
            self.cause,
            Cause::RealTime
                | Cause::Deadline
                | Cause::HeavierTask
                | Cause::IdlePolicy
                | Cause::KernelSection
                | Cause::PreemptOff
                | Cause::IrqsOff
        );
        let is_shown = self.time.0 * 2 >= length.0;
        let saved = self.removal.as_ref().map_or(Ns::ZERO, |row| row.1);
        match self.cause.place() {
            // Nobody can take it away, and the account of the time is exact.
            Place::Here if goes_first && is_shown && !self.removable => 3,
            _ if saved.0 * 2 < length.0 => 0,
            _ if self.cause == Cause::CpuOffline => 4,
            Place::Here if goes_first && is_shown => 3,
            Place::Elsewhere => 2,
            Place::Here => u32::from(was_set),
        }
    }
}

/// Whether a cause says only that others were ahead.
const fn is_generic(cause: Cause) -> bool {
    matches!(cause, Cause::QueueLength | Cause::EarlierDeadline | Cause::NotEligible | Cause::KernelThread)
}

/// What trying came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The causes that came into question, the named one first.
    pub suspects: Vec<Suspect>,
    /// How sure that is.
    pub confidence: Confidence,
    /// All changes that were tried, those that save most first.
    pub outcomes: Vec<Outcome>,
    /// Where the one change is not enough: the delay that is about as long in a run that begins with it, and its cause.
    pub also: Option<(Cause, Delay)>,
    /// Changes with which a run must begin that were left out, since the run is too long to be made again so often.
    pub untried: Vec<String>,
}

/// Tries what could take the delay away.
pub(super) fn prove(
    scenario: &Scenario,
    set: &TaskSet,
    one: &Explained,
    lab: &Lab<'_>,
    whole: &mut WholeRuns<'_>,
) -> Result<Proof, Error> {
    let named = Named::new(scenario, set, one, whole.is_named());
    let length = one.delay.length();
    let mut tried = Tried { lab, scenario, outcomes: Vec::new() };
    let mut elsewhere = one.elsewhere();
    if !one.offline.is_empty() && one.here().iter().any(|&cause| super::one::is_crowding(cause)) {
        elsewhere.push(Cause::CpuOffline);
    }
    let mut suspects = Vec::new();
    let mut here = one.here();
    if one.is_worth(one.parts.behind_heavier()) && !here.contains(&Cause::HeavierTask) {
        here.push(Cause::HeavierTask);
    }
    here.extend(one.first().filter(|first| !here.contains(first)));
    for cause in elsewhere.into_iter().chain(here) {
        if cause == Cause::WorkersBusy {
            suspects.push(workers(scenario, one, &mut tried, whole)?);
            continue;
        }
        let mut best: Option<(String, Ns)> = None;
        let removals = named.removals(cause);
        let removable = !removals.is_empty();
        for text in removals {
            let Some(outcome) = tried.outcome(&text)? else { continue };
            let mut saved = outcome.delay.map_or(Ns::ZERO, |with| length.saturating_sub(with));
            // A task that was not taken off its queue while it slept does not move at its next wake-up.
            let moves = matches!(cause, Cause::Affinity | Cause::CpuOffline) && saved.0 * 2 < length.0;
            if named.sets_itself(&text) || named.names_forked(&text) || moves || outcome.delay.is_none() {
                let left = whole.try_text(&text)?;
                tried.outcomes.iter_mut().filter(|row| row.change == text).for_each(|row| row.whole = left);
                saved = saved.max(left.map_or(Ns::ZERO, |left| length.saturating_sub(left)));
            }
            if best.as_ref().is_none_or(|best| saved > best.1) {
                best = Some((text, saved));
            }
            // The file of the other version of cgroups says the same.
            if matches!(cause, Cause::Throttled | Cause::LockHolderThrottled) {
                break;
            }
            // A kernel with other ticks is another one, and none spares who holds a lock: where another change does, they are not tried.
            if matches!(cause, Cause::TickGranularity | Cause::LockHolderPreempted) && saved.0 * 2 >= length.0 {
                break;
            }
        }
        let time = if cause == Cause::HeavierTask { one.parts.behind_heavier() } else { one.parts.of(cause) };
        suspects.push(Suspect { cause, time, removal: best, turns: None, removable });
    }
    suspects.extend(burst(&named, one, &mut tried, whole)?);
    for text in named.remedies().into_iter().chain(named.overlays()) {
        tried.outcome(&text)?;
    }
    if one.parts.is_many_turns() {
        let turns = turns(one, &suspects);
        suspects.iter_mut().for_each(|suspect| suspect.turns = Some(turns));
    }
    let both = both(&suspects, length, &mut tried)?;
    let mut outcomes = tried.outcomes;
    suspects.sort_by_key(|suspect| std::cmp::Reverse((suspect.rank(length), rounded(suspect.score(length), length))));
    if suspects.first().is_none_or(|first| first.score(length) == Ns::ZERO) {
        // Nothing helps: the account of the time stands.
        suspects.sort_by_key(|suspect| (suspect.cause.place() == Place::Elsewhere, std::cmp::Reverse(suspect.time)));
    }
    let confidence = suspects.first().map_or(Confidence::Unproved, |first| match &first.removal {
        None => Confidence::Accounted,
        Some((_, saved)) if saved.0 * 2 >= length.0 => Confidence::Proved,
        Some((_, saved)) if one.is_worth(*saved) => Confidence::InPart,
        Some(_) => Confidence::Unproved,
    });
    let own = suspects.first().and_then(|first| first.removal.as_ref()).map(|removal| removal.0.as_str());
    // The cause's own stands first if it saves half. Of changes that save about as much, those that make others yield stand last.
    let place = |row: &Outcome| {
        let with = row.left().map_or(u64::MAX, |with| with.0.saturating_mul(20) / length.0.max(1));
        let is_own = own == Some(row.change.as_str()) && with <= 10;
        (both.as_ref() == Some(&row.change), !is_own || row.change.contains(YIELDS), with, row.change.contains(YIELDS), row.delay)
    };
    outcomes.sort_by_key(|row| place(row));
    whole.judge(one, &|text| named.sets_itself(text), &mut outcomes)?;
    Ok(Proof { suspects, confidence, outcomes, also: None, untried: Vec::new() })
}

/// The time of all turns. Ticks that are far apart make turns long, whoever has them: where finer ones halve the delay, that is no detail.
fn turns(one: &Explained, suspects: &[Suspect]) -> Ns {
    let length = one.delay.length();
    let is_halved = |row: &&Suspect| row.removal.as_ref().is_some_and(|row| row.1.0 * 2 >= length.0);
    let ticks = suspects.iter().filter(|row| row.cause == Cause::TickGranularity).find(is_halved);
    one.parts.turns().saturating_sub(ticks.map_or(Ns::ZERO, |row| row.time))
}

/// A burst of work is the cause of a throttled group if the quota is enough in the long run: with all of its unused quota kept, the
/// delay of the same rank in the whole run is at most half as long. Where no whole run is affordable the state before it decides.
fn burst(
    named: &Named<'_>,
    one: &Explained,
    tried: &mut Tried<'_, '_>,
    whole: &mut WholeRuns<'_>,
) -> Result<Option<Suspect>, Error> {
    let (length, time) = (one.delay.length(), one.parts.of(Cause::Throttled));
    let removals = if one.is_worth(time) { named.removals(Cause::Burst) } else { Vec::new() };
    let Some(text) = removals.into_iter().next() else { return Ok(None) };
    if tried.outcome(&text)?.is_none() {
        return Ok(None);
    }
    let Some(row) = tried.outcomes.iter_mut().find(|row| row.change == text) else { return Ok(None) };
    row.whole = whole.try_text(&text)?;
    let saved = row.left().map_or(Ns::ZERO, |left| length.saturating_sub(left));
    let halves = saved.0 * 2 >= length.0;
    Ok(halves.then_some(Suspect { cause: Cause::Burst, time, turns: None, removable: true, removal: Some((text, saved)) }))
}

/// More workers: no run can begin to have them in its middle, so whole runs tell, each with twice as many, until the delay halves.
fn workers(scenario: &Scenario, one: &Explained, tried: &mut Tried<'_, '_>, whole: &mut WholeRuns<'_>) -> Result<Suspect, Error> {
    let (length, time) = (one.delay.length(), one.parts.of(Cause::WorkersBusy));
    let mut suspect = Suspect { cause: Cause::WorkersBusy, time, turns: None, removable: false, removal: None };
    let Some((_, service)) = scenario.service() else { return Ok(suspect) };
    for double in 1..=DOUBLED_AT_MOST {
        let number = service.workers.saturating_mul(1 << double).min(WORKERS_AT_MOST);
        let text = format!("{WORKERS}{number}");
        let Some(left) = whole.try_text(&text)? else { break };
        tried.outcomes.push(Outcome { change: text.clone(), delay: None, whole: Some(left), pairs: None });
        let saved = length.saturating_sub(left);
        suspect.removable = true;
        if suspect.removal.as_ref().is_none_or(|best| saved > best.1) {
            suspect.removal = Some((text, saved));
        }
        if saved.0 * 2 >= length.0 || number == WORKERS_AT_MOST {
            break;
        }
    }
    Ok(suspect)
}

/// What takes away the two causes that had most of the time, together: it is a remedy if nothing else is.
fn both(suspects: &[Suspect], length: Ns, tried: &mut Tried<'_, '_>) -> Result<Option<String>, Error> {
    let is_worth = |time: Ns| time.0 * 5 >= length.0;
    let mut rows: Vec<&Suspect> = suspects.iter().filter(|row| is_worth(row.time)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.time));
    let texts: Vec<&str> = rows.iter().filter_map(|row| Some(row.removal.as_ref()?.0.as_str())).collect();
    if let [first, second, ..] = texts[..]
        && first != second
        && !first.starts_with(WORKERS)
        && !second.starts_with(WORKERS)
    {
        let text = format!("{first}; {second}");
        return Ok(tried.outcome(&text)?.map(|_| text));
    }
    Ok(None)
}

/// A score in twentieths of the delay.
fn rounded(score: Ns, length: Ns) -> u64 {
    score.0.min(length.0).saturating_mul(20) / length.0.max(1)
}

/// Changes that were tried.
struct Tried<'a, 's> {
    lab: &'a Lab<'s>,
    scenario: &'a Scenario,
    outcomes: Vec<Outcome>,
}

impl Tried<'_, '_> {
    /// Tries a change, once. `None`: this kernel, machine or scenario does not have it, or it is so already.
    fn outcome(&mut self, text: &str) -> Result<Option<Outcome>, Error> {
        if let Some(known) = self.outcomes.iter().find(|row| row.change == text) {
            return Ok(Some(known.clone()));
        }
        let Ok(change) = Change::parse(text, self.scenario) else { return Ok(None) };
        if change.is_idle(self.scenario) || self.outcomes.len() == CHANGES_AT_MOST {
            return Ok(None);
        }
        // What cannot join a run in its middle is not tried.
        let Ok(outcome) = self.lab.outcome(&change) else { return Ok(None) };
        self.outcomes.push(outcome.clone());
        Ok(Some(outcome))
    }
}
