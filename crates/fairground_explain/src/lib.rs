//! `explain`: why was this wake-up late?
//!
//! ```text
//! run 1, cheap      find.rs       all wake-ups ─► the one that is asked for
//! run 2, to there   past.rs       how tasks were placed, by which rules they run
//!   from a copy     watch.rs      step by step to the switch: parts.rs, each ns in one part (hold.rs: by which rule)
//!                   elsewhere.rs  idle CPUs elsewhere, and why placement did not choose one
//!                   verdicts.rs   balances that could have brought the task there, and why they did not
//!   from copies     what_if.rs    the same state with one rule changed
//! ```
//!
//! The run is deterministic, so the second one comes to the same state; what is asked of it in detail changes nothing.

mod aggregate;
mod cause;
mod elsewhere;
mod find;
mod hold;
mod one;
mod parts;
mod past;
mod replay;
mod show;
mod verdicts;
mod watch;
mod what_if;

pub use aggregate::{Aggregate, CauseRow};
pub use cause::{Cause, Place};
pub use elsewhere::{IdleCpu, Placement};
pub use find::{Percentile, WakeUp};
pub use one::Explained;
pub use parts::{Meeting, Part, Parts, Who};
pub use show::{document, story, tables};
pub use verdicts::{Misread, Miss};
pub use what_if::{Change, Outcome, QUEUED_LOAD};

use fairground::run::{self, RunOptions};
use fairground_model::cgroup::ROOT;
use fairground_model::{TaskSet, event};
use fairground_scenario::{Control, Error, Scenario, guard};
use fairground_sim::Simulation;
use fairground_stdx::nearest;
use fairground_stdx::{Id, Instant, Ns, TaskId, TgId, units};
use find::WakeUps;
use replay::Replay;

/// Which wake-up is explained, and what is tried with it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExplainOptions {
    /// Only wake-ups of tasks of this name; else of the measured ones.
    pub task: Option<String>,
    /// The one that was under way at this time, or the next one; with a unit.
    pub at: Option<String>,
    /// The one at this percentile, with a table of all that were as late or later.
    pub percentile: Option<String>,
    /// Changes to try; what is plausible if there are none.
    pub what_if: Vec<String>,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// How many wake-ups were looked at.
    pub wakeups: u64,
    /// The percentile that was asked for.
    pub percentile: Option<Percentile>,
    /// The one that is explained.
    pub one: Explained,
    /// What the changes make of it.
    pub outcomes: Vec<Outcome>,
    /// All that were as late or later, if a percentile was asked for.
    pub aggregate: Option<Aggregate>,
    /// The names of all tasks and groups.
    pub names: Names,
    /// Digest of the records of the whole run.
    pub digest: u128,
}

/// Explains a wake-up of a scenario; `None` if the caller stopped it.
pub fn explain(scenario: &Scenario, options: &ExplainOptions, control: Control<'_>) -> Result<Option<Explanation>, Error> {
    let asked = Asked::read(scenario, options)?;
    let mut wakeups = WakeUps::new(asked.watched.clone());
    let outcome = run::run(scenario, &RunOptions::default(), &mut wakeups, control)?;
    if outcome.is_partial() {
        return Ok(None);
    }
    let found = wakeups.found();
    let (wake, later) = asked.choose(scenario, &found)?;
    let changes = options.what_if.iter().map(|text| Change::parse(text, scenario, &wake)).collect::<Result<Vec<_>, _>>()?;
    let names = Names::of(&outcome.tasks);
    let try_out = |start: &Simulation, change: &Change| what_if::outcome(scenario, start, &wake, change);
    let made = guard::catch(|| {
        let mut run = Replay::new(scenario)?;
        let (start, past) = run.to(wake.waking)?;
        let one = one::explain_one(scenario, start, past, wake)?;
        let outcomes = match changes.is_empty() {
            // What cannot join a run is not among the plausible.
            true => what_if::plausible(scenario, &one).iter().flat_map(|change| try_out(start, change)).collect(),
            false => changes.iter().map(|change| try_out(start, change)).collect::<Result<_, _>>()?,
        };
        let aggregate = asked.percentile.map(|_| aggregate::aggregate(scenario, later, control)).transpose()?;
        Ok((one, outcomes, aggregate))
    });
    let (one, outcomes, aggregate) = made.map_err(|broken| Error::Broken(Box::new(broken)))??;
    if aggregate.as_ref().is_some_and(|aggregate| aggregate.interrupted) {
        return Ok(None);
    }
    let (wakeups, percentile, digest) = (found.len() as u64, asked.percentile, outcome.digest);
    Ok(Some(Explanation { wakeups, percentile, one, outcomes, aggregate, names, digest }))
}

/// The options, read.
struct Asked {
    watched: Vec<bool>,
    at: Option<Instant>,
    percentile: Option<Percentile>,
}

impl Asked {
    fn read(scenario: &Scenario, options: &ExplainOptions) -> Result<Asked, Error> {
        let tasks = scenario.tasks();
        let mut wrong = fairground_model::Mistakes::default();
        let watched: Vec<bool> = match &options.task {
            None => tasks.tasks.iter().map(|task| task.measured).collect(),
            Some(name) => tasks.tasks.iter().map(|task| task.name == *name).collect(),
        };
        if let Some(name) = options.task.as_ref().filter(|_| !watched.contains(&true)) {
            let known = tasks.tasks.iter().map(|task| task.name.as_str());
            let hint = match nearest::nearest(name, known) {
                Some(near) => format!("Did you mean `{near}`?"),
                None => "`fairground run` lists the tasks.".to_string(),
            };
            wrong.whole(format!("--task: no task is called `{name}`"), hint);
        }
        let at = options.at.as_ref().and_then(|text| match units::parse_ns(text) {
            Ok(at) => Some(Instant::from_ns(at.0)),
            Err(error) => {
                wrong.whole(format!("--at: `{text}`: {error}"), "Write it with its unit, as in `--at 1.25s`.");
                None
            }
        });
        let percentile = options.percentile.as_ref().and_then(|text| {
            let read = Percentile::parse(text);
            if read.is_none() {
                wrong.whole(format!("--percentile: `{text}` is no percentile"), "A number above 0 and up to 100, such as 99.9.");
            }
            read
        });
        wrong.or(Asked { watched, at, percentile }).map_err(|wrong| Error::input("command line", "", wrong))
    }

    /// The wake-up that is meant, and all that belong to the table of a percentile.
    fn choose(&self, scenario: &Scenario, found: &[WakeUp]) -> Result<(WakeUp, Vec<WakeUp>), Error> {
        let chosen = match (self.at, self.percentile) {
            (Some(at), _) => find::at(found, at).map(|wake| (wake, Vec::new())),
            (None, Some(percentile)) => find::from_percentile(found, percentile),
            (None, None) => find::worst(found).map(|wake| (wake, Vec::new())),
        };
        chosen.ok_or_else(|| {
            let after = self.at.map_or_else(String::new, |at| format!(" after {}", Ns(at.ns())));
            let message = format!("none of these tasks woke and ran{after}");
            Error::one(
                scenario.name(),
                message,
                "Hogs never sleep; choose a task that does, a longer duration or an earlier time.",
            )
        })
    }
}

/// The names of all tasks and groups, by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    tasks: Vec<String>,
    groups: Vec<String>,
}

impl Names {
    fn of(set: &TaskSet) -> Names {
        let tasks = set.tasks.iter().map(|task| task.name.clone()).collect();
        Names { tasks, groups: set.groups.iter().map(|group| group.name.clone()).collect() }
    }
    /// Whether there are groups at all.
    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }
    /// The name of a task.
    pub fn task(&self, task: TaskId) -> &str {
        self.tasks.get(task.index()).map_or("?", String::as_str)
    }
    /// The path of a group.
    pub fn group(&self, group: Option<TgId>) -> &str {
        group.map_or(ROOT, |group| self.groups.get(group.index()).map_or("?", String::as_str))
    }
    /// A task with the path of the group in which it lies, if there are groups.
    fn task_in(&self, task: TaskId, group: Option<TgId>) -> String {
        match self.has_groups() {
            true => format!("{} in {}", self.task(task), self.group(group)),
            false => self.task(task).to_string(),
        }
    }
    /// Who stands for a task on a queue.
    pub fn entity(&self, who: event::Who) -> String {
        match who {
            event::Who::Task(task) => self.task(task).to_string(),
            event::Who::Group(group) => format!("group {}", self.group(Some(group))),
        }
    }
}
