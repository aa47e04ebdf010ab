//! A whole run that begins with one thing changed.
//!
//! What shortens one delay may only shift it: the section with interrupts off comes again, and then meets the task elsewhere. So
//! a change is held against all delays of the task. They are put in order of length, and the one of the same rank is compared:
//! for the worst delay the worst one with the change.

use super::Asked;
use super::cause::Cause;
use super::find::{Delay, Delays};
use super::one::Explained;
use super::what_if::{Change, Outcome};
use fairground_model::TaskSpec;
use fairground_scenario::{Error, Scenario};
use fairground_sim::Flow;
use fairground_stdx::{Instant, Ns, TaskId};

/// So many events (ticks, switches and wake-ups) may all whole runs of one answer have together: about a second of work.
const EVENTS_AT_MOST: u64 = 1_000_000;
/// So many whole runs are made at most.
const RUNS_AT_MOST: u32 = 16;
/// Into so many parts a run is cut, after each of which its events are counted.
const PARTS: u64 = 64;

/// Whether two delays are put in one order: those of requests of one pipe, and all others of the task that was named, or of all tasks
/// that are asked about if none was.
fn is_alike(row: &Delay, delay: &Delay, named: bool) -> bool {
    match (row.request, delay.request) {
        (Some(row), Some(delay)) => row.pipe == delay.pipe,
        (None, None) => !named || row.whose() == delay.whose(),
        _ => false,
    }
}

/// Whole runs with changes.
pub(super) struct WholeRuns<'s> {
    scenario: &'s Scenario,
    asked: &'s Asked,
    delay: Delay,
    /// The place of the delay among those with which it is compared, from 0: the longest.
    rank: usize,
    /// How many events one run has.
    each: u64,
    events_left: u64,
    runs_left: u32,
}

impl<'s> WholeRuns<'s> {
    /// Whether a task was named.
    pub(super) fn is_named(&self) -> bool {
        self.asked.named
    }
    /// `delays` are those of the run as it is, `events` are its events.
    pub(super) fn new(scenario: &'s Scenario, asked: &'s Asked, delays: &[Delay], delay: &Delay, events: u64) -> WholeRuns<'s> {
        let longer = |row: &&Delay| is_alike(row, delay, asked.named) && row.length() > delay.length();
        let rank = delays.iter().filter(longer).count();
        let (events_left, runs_left) = (EVENTS_AT_MOST, RUNS_AT_MOST);
        WholeRuns { scenario, asked, delay: *delay, rank, each: events, events_left, runs_left }
    }

    /// Tries changes that help the delay, in their order, until one halves that of the same rank in the whole run. If none does,
    /// or the cause is that ticks are far apart, those with which a run must begin are tried too, and are remedies if they do.
    /// What helps the whole run comes first, what does not comes last. The answer are changes that nobody could try: the run is
    /// too long, and nothing else helps.
    pub(super) fn judge(
        &mut self,
        one: &Explained,
        cause: Option<Cause>,
        is_set_by_itself: &dyn Fn(&str) -> bool,
        to_begin_with: &[String],
        outcomes: &mut Vec<Outcome>,
    ) -> Result<Vec<String>, Error> {
        let length = one.delay.length();
        let saved = |with: Option<Ns>| with.map_or(Ns::ZERO, |with| length.saturating_sub(with));
        let halves = |row: &Outcome| saved(row.whole).0 * 2 >= length.0;
        // What a program sets itself is not set for it from the state before the delay on, but in a run that begins with it.
        let counts = |row: &Outcome| row.whole.is_some() || one.is_worth(saved(row.delay)) || is_set_by_itself(&row.change);
        for row in outcomes.iter_mut().filter(|row| counts(row)) {
            if row.whole.is_none() {
                row.whole = self.try_text(&row.change)?;
            }
            if halves(row) {
                break;
            }
        }
        let mut untried = Vec::new();
        if cause == Some(Cause::TickGranularity) || !outcomes.iter().any(halves) {
            for text in to_begin_with.iter().filter(|text| outcomes.iter().all(|row| row.change != **text)).collect::<Vec<_>>() {
                let row = Outcome { change: text.clone(), delay: None, whole: self.try_text(text)? };
                if halves(&row) {
                    outcomes.push(row);
                    break;
                }
                untried.extend((row.whole.is_none() && !self.is_affordable()).then(|| text.clone()));
            }
        }
        outcomes.sort_by_key(|row| match row.whole {
            Some(_) if halves(row) => 0,
            Some(_) if one.is_worth(saved(row.whole)) => 1,
            None if one.is_worth(saved(row.delay)) => 2,
            _ => 3,
        });
        let helps = |row: &Outcome| one.is_worth(saved(row.left()));
        Ok(if outcomes.first().is_some_and(helps) { Vec::new() } else { untried })
    }

    /// What a change that was asked for makes of the whole run too.
    pub(super) fn beside(&mut self, change: &Change, outcome: Outcome) -> Result<Outcome, Error> {
        let whole = if change.is_from_the_beginning() { self.run(change)? } else { self.afford(change).unwrap_or_default() };
        Ok(Outcome { whole, ..outcome })
    }

    /// `None`: the budget does not allow it, or this scenario does not have it.
    pub(super) fn try_text(&mut self, text: &str) -> Result<Option<Ns>, Error> {
        match Change::parse(text, self.scenario) {
            Ok(change) if !change.is_idle(self.scenario) => self.afford(&change).or(Ok(None)),
            _ => Ok(None),
        }
    }

    fn afford(&mut self, change: &Change) -> Result<Option<Ns>, Error> {
        if self.is_affordable() { self.run(change) } else { Ok(None) }
    }
    fn is_affordable(&self) -> bool {
        self.runs_left > 0 && self.each <= self.events_left
    }

    /// The delay of the same rank in a run that begins with a change; `None` if no run is affordable, or there is none.
    pub(super) fn delay_with(&mut self, change: &Change) -> Result<Option<Delay>, Error> {
        let ordered = if self.is_affordable() { self.ordered(change)? } else { None };
        Ok(ordered.and_then(|rows| rows.get(self.rank).copied()))
    }

    /// The delay of the same rank; `None` if the run was given up.
    fn run(&mut self, change: &Change) -> Result<Option<Ns>, Error> {
        Ok(self.ordered(change)?.map(|rows| rows.get(self.rank).map_or(Ns::ZERO, Delay::length)))
    }

    /// The delays that are put in order, the longest first; `None` if the run was given up.
    fn ordered(&mut self, change: &Change) -> Result<Option<Vec<Delay>>, Error> {
        let mut run = change.whole(self.scenario)?;
        // With more workers there are more tasks.
        let (late, set) = (self.delay.whose(), change.before(self.scenario).tasks());
        let is_asked = |(task, spec): (TaskId, &TaskSpec)| if self.asked.named { task == late } else { spec.measured };
        let watched: Vec<bool> = set.tasks.iter_enumerated().map(is_asked).collect();
        let mut delays = Delays::new(&watched, run.sched().cpu_ids().count());
        let end = run.end().ns();
        self.runs_left = self.runs_left.saturating_sub(1);
        // One that was asked for may always be as long as the run without it.
        let most = self.events_left.max(self.each.saturating_mul(2));
        let (mut part, mut flow) = (0, Flow::More);
        while flow == Flow::More && run.counts().events() <= most {
            part += 1;
            let until = if part < PARTS { Instant::from_ns(end / PARTS * part) } else { Instant::MAX };
            flow = change.run_until(&mut run, until, &mut delays).map_err(|why| self.scenario.stopped(&why))?;
        }
        self.events_left = self.events_left.saturating_sub(run.counts().events());
        if flow == Flow::More {
            return Ok(None);
        }
        let sleepers = delays.sleepers();
        let mut counted = self.asked.that_count(delays.found(run.now()), &sleepers);
        counted.retain(|row| is_alike(row, &self.delay, self.asked.named));
        counted.sort_by_key(|row| std::cmp::Reverse(row.length()));
        Ok(Some(counted))
    }
}
