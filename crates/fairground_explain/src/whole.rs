//! A whole run that begins with one thing changed.
//!
//! What shortens one delay may only shift it: the section with interrupts off comes again, and then meets the task elsewhere. So
//! a change is held against all delays of the task. They are put in order of length, and the one of the same rank is compared:
//! for the worst delay the worst one with the change.
//!
//! Another kernel, other ticks or more CPUs make another run from the first decision on, and any other run has another worst
//! delay. So such a change must also hold with other seeds, each with the change and without it: it is a remedy only if the delay
//! of the same rank is shorter in nearly all of these pairs.

use super::Asked;
use super::cause::Cause;
use super::find::{Delay, Delays};
use super::one::{Explained, is_share};
use super::what_if::{Change, Outcome, Pairs};
use fairground_model::TaskSpec;
use fairground_scenario::{Error, Scenario};
use fairground_sim::Flow;
use fairground_stdx::{Instant, Ns, TaskId};

/// So many events (ticks, switches and wake-ups) may all whole runs of one answer have together: about a second of work.
const EVENTS_AT_MOST: u64 = 1_000_000;
/// So many whole runs are made at most.
const RUNS_AT_MOST: u32 = 16;
/// So many pairs of runs with other seeds are made of a change with which a run must begin.
const PAIRS: u32 = 4;
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

/// What is saved of the delay if this is left of it.
fn saved(one: &Explained, left: Option<Ns>) -> Ns {
    left.map_or(Ns::ZERO, |left| one.delay.length().saturating_sub(left))
}

/// Whether a change halves the delay of the same rank in the whole run, and is not refuted by other seeds.
fn halves(one: &Explained, row: &Outcome) -> bool {
    row.holds() && saved(one, row.whole).0 * 2 >= one.delay.length().0
}

/// Changes that help the whole run first, those that do not last.
fn put_in_order(one: &Explained, outcomes: &mut [Outcome]) {
    outcomes.sort_by_key(|row| match row.whole {
        Some(_) if halves(one, row) => 0,
        Some(_) if row.holds() && one.is_worth(saved(one, row.whole)) => 1,
        None if one.is_worth(saved(one, row.delay)) => 2,
        _ => 3,
    });
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
    /// The delay of the same rank in runs with other seeds, as they are.
    others: Vec<(u64, Ns)>,
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
        WholeRuns { scenario, asked, delay: *delay, rank, each: events, events_left, runs_left, others: Vec::new() }
    }

    /// Tries changes that help the delay, in their order, until one halves that of the same rank in the whole run.
    /// What helps the whole run comes first, what does not comes last.
    pub(super) fn judge(
        &mut self,
        one: &Explained,
        is_set_by_itself: &dyn Fn(&str) -> bool,
        outcomes: &mut [Outcome],
    ) -> Result<(), Error> {
        // What a program sets itself is not set for it from the state before the delay on, but in a run that begins with it.
        let counts = |row: &Outcome| row.whole.is_some() || one.is_worth(saved(one, row.delay)) || is_set_by_itself(&row.change);
        for row in outcomes.iter_mut().filter(|row| counts(row)) {
            if row.whole.is_none() {
                row.whole = self.try_text(&row.change)?;
            }
            if halves(one, row) {
                break;
            }
        }
        put_in_order(one, outcomes);
        Ok(())
    }

    /// Last of all, if nothing halves the delay of the same rank, or the cause is that ticks are far apart: changes with which a run
    /// must begin, in their order, until one halves it, also with other seeds. The answer are those for which the budget did not suffice.
    pub(super) fn begin_with(
        &mut self,
        one: &Explained,
        texts: &[String],
        outcomes: &mut Vec<Outcome>,
    ) -> Result<Vec<String>, Error> {
        let is_tried = |row: &Outcome, text: &str| row.change == text && row.whole.is_some();
        if one.cause != Cause::TickGranularity && outcomes.iter().any(|row| halves(one, row)) {
            return Ok(Vec::new());
        }
        let mut left_out = Vec::new();
        for text in texts {
            if outcomes.iter().any(|row| is_tried(row, text)) {
                continue;
            }
            let Some(change) = self.change(text) else { continue };
            let whole = match self.is_affordable().then(|| self.run(&change)) {
                // The scenario cannot be run so: the kernel lacks something that it asks for.
                Some(Err(_)) => continue,
                Some(Ok(Some(whole))) => Some(whole),
                None | Some(Ok(None)) => {
                    left_out.push(text.clone());
                    continue;
                }
            };
            if !one.is_worth(saved(one, whole)) {
                continue;
            }
            let pairs = self.pairs(&change)?;
            outcomes.retain(|row| row.change != *text);
            outcomes.push(Outcome { change: text.clone(), delay: None, whole, pairs });
            if outcomes.last().is_some_and(|row| halves(one, row)) {
                break;
            }
        }
        put_in_order(one, outcomes);
        Ok(left_out)
    }

    /// In how many of other seeds a change holds; `None` if the budget allows no pair.
    fn pairs(&mut self, change: &Change) -> Result<Option<Pairs>, Error> {
        let mut pairs = Pairs { hold: 0, of: 0 };
        for number in 1..=PAIRS {
            let seed = self.scenario.seed.wrapping_add(u64::from(number));
            let known = self.others.iter().find(|row| row.0 == seed).map(|row| row.1);
            let needed = if known.is_none() { self.each.saturating_mul(2) } else { self.each };
            if needed > self.events_left {
                break;
            }
            let without = match known {
                Some(without) => without,
                None => {
                    let Some(rows) = self.ordered(&Change::none(), seed)? else { break };
                    let without = rows.get(self.rank).map_or(Ns::ZERO, Delay::length);
                    self.others.push((seed, without));
                    without
                }
            };
            let Some(rows) = self.ordered(change, seed)? else { break };
            let with = rows.get(self.rank).map_or(Ns::ZERO, Delay::length);
            pairs.of += 1;
            pairs.hold += u32::from(is_share(without.saturating_sub(with), without));
        }
        Ok((pairs.of > 0).then_some(pairs))
    }

    /// What a change that was asked for makes of the whole run too.
    pub(super) fn beside(&mut self, change: &Change, outcome: Outcome) -> Result<Outcome, Error> {
        let whole = if change.is_from_the_beginning() { self.run(change)? } else { self.afford(change).unwrap_or_default() };
        let pairs = if change.is_from_the_beginning() { self.pairs(change)? } else { None };
        Ok(Outcome { whole, pairs, ..outcome })
    }
    /// The change, if this scenario, kernel and machine have it and it is not so already.
    fn change(&self, text: &str) -> Option<Change> {
        Change::parse(text, self.scenario).ok().filter(|change| !change.is_idle(self.scenario))
    }

    /// `None`: the budget does not allow it, or this scenario does not have it.
    pub(super) fn try_text(&mut self, text: &str) -> Result<Option<Ns>, Error> {
        self.change(text).map_or(Ok(None), |change| self.afford(&change).or(Ok(None)))
    }

    fn afford(&mut self, change: &Change) -> Result<Option<Ns>, Error> {
        if self.is_affordable() { self.run(change) } else { Ok(None) }
    }
    fn is_affordable(&self) -> bool {
        self.runs_left > 0 && self.each <= self.events_left
    }

    /// The delay of the same rank in a run that begins with a change; `None` if no run is affordable, or there is none.
    pub(super) fn delay_with(&mut self, change: &Change) -> Result<Option<Delay>, Error> {
        let ordered = if self.is_affordable() { self.ordered(change, self.scenario.seed)? } else { None };
        Ok(ordered.and_then(|rows| rows.get(self.rank).copied()))
    }

    /// The delay of the same rank; `None` if the run was given up.
    fn run(&mut self, change: &Change) -> Result<Option<Ns>, Error> {
        Ok(self.ordered(change, self.scenario.seed)?.map(|rows| rows.get(self.rank).map_or(Ns::ZERO, Delay::length)))
    }

    /// The delays that are put in order, the longest first; `None` if the run was given up.
    fn ordered(&mut self, change: &Change, seed: u64) -> Result<Option<Vec<Delay>>, Error> {
        let mut run = change.whole_with_seed(self.scenario, seed)?;
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
        delays.add_unread(&run);
        let mut counted = self.asked.that_count(delays.found(run.now()), &sleepers);
        counted.retain(|row| is_alike(row, &self.delay, self.asked.named));
        counted.sort_by_key(|row| std::cmp::Reverse(row.length()));
        Ok(Some(counted))
    }
}
