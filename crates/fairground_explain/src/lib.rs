//! `explain`: why was this task late?
//!
//! ```text
//! run 1              replay.rs      keeps copies; find.rs, late.rs: all delays of the watched tasks ─► the one that is asked for
//! from a copy        past.rs        how tasks were placed, by which rules they run
//!                    watch.rs       step by step to its end: parts.rs, each ns in one part (hold.rs, lock.rs: by which rule)
//!                    elsewhere.rs   idle CPUs elsewhere, and why placement did not choose one
//!                    verdicts.rs    balances that could have brought the task there, and why they did not
//!                    pool.rs        who used up the quota
//! from before its    what_if.rs     the same state with one thing changed
//! last sleep         levers.rs      what could be changed against a cause
//!                    proof.rs       the cause whose removal saves most is named
//! from the beginning whole.rs       whether a change helps the whole run, and changes with which a run must begin
//! of a single wait   glance.rs      where its time went, and nothing tried
//! of what has no     recorded.rs    a trace, or
//! reasons            tree.rs        a run over a kernel tree: who ran meanwhile, and beside.rs, what the rules would have done
//! ```
//!
//! The run is deterministic, so a copy comes to the same state; what is asked of it in detail changes nothing.

mod aggregate;
mod also;
mod beside;
mod cause;
mod elsewhere;
mod find;
mod glance;
mod hold;
mod late;
mod levers;
mod lock;
mod one;
mod own;
mod parts;
mod past;
mod percentile;
mod pool;
mod proof;
mod recorded;
mod replay;
mod show;
mod tree;
mod verdicts;
mod watch;
mod what_if;
mod whole;

pub use aggregate::{Aggregate, CauseRow};
pub use beside::Beside;
pub use cause::{Cause, Place};
pub use elsewhere::{IdleCpu, Placement};
pub use find::{Delay, Kind};
pub use glance::worst_wait;
pub use one::Explained;
pub use parts::{Keeps, Meeting, Part, Parts, Stretch, Who};
pub use percentile::Percentile;
pub use pool::PoolStory;
pub use proof::{Confidence, Proof, Suspect};
pub use recorded::{Ran, RecordedOptions, RecordedStory, RecordedWait, is_recording, recorded};
pub use show::{document, document_of_none, story, story_of_none, tables};
pub use tree::over_tree;
pub use verdicts::{Misread, Miss};
pub use what_if::{Change, NO_DEEP_IDLE, NO_HOLDER_PREEMPTION, NO_INTERRUPTS, NO_STEAL, Outcome, Pairs, QUEUED_LOAD};

use fairground_model::cgroup::ROOT;
use fairground_model::{Start, TaskSet, TaskSpec, event};
use fairground_scenario::{Control, Error, Scenario, guard};
use fairground_sim::FIRST_PID;
use fairground_stdx::nearest;
use fairground_stdx::{Id, Instant, TaskId, TgId, units};
use levers::Named;
use replay::{FirstRun, Replay};
use whole::WholeRuns;

/// Which delay is explained, and what is tried with it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExplainOptions {
    /// Only delays of tasks of this name; else of the measured ones.
    pub task: Option<String>,
    /// The one that was under way at this time, or the next one; with a unit.
    pub at: Option<String>,
    /// The one at this percentile of those after a wake-up, with a table of all that were as long or longer.
    pub percentile: Option<String>,
    /// Changes to try; what is plausible if there are none.
    pub what_if: Vec<String>,
}

/// The answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// A delay, explained.
    Late(Box<Explanation>),
    /// There is none, and so no cause.
    NeverLate {
        /// The task that was asked about, if one was named.
        task: Option<String>,
        /// Digest of the records of the whole run.
        digest: u128,
    },
}

impl Answer {
    /// The delay, if there is one.
    pub fn late(self) -> Option<Explanation> {
        match self {
            Answer::Late(explanation) => Some(*explanation),
            Answer::NeverLate { .. } => None,
        }
    }
}

/// A delay with its cause.
#[derive(Clone, PartialEq, Debug)]
pub struct Explanation {
    /// How many delays were looked at.
    pub delays: u64,
    /// The percentile that was asked for.
    pub percentile: Option<Percentile>,
    /// The one that is explained.
    pub one: Explained,
    /// How sure the cause is, and what changes make of the delay; no causes come into question if changes were given.
    pub proof: Proof,
    /// The quota that kept the task, or the holder of its lock, from running.
    pub pool: Option<PoolStory>,
    /// All that were as long or longer, if a percentile was asked for.
    pub aggregate: Option<Aggregate>,
    /// The names of all tasks and groups.
    pub names: Names,
    /// Digest of the records of the whole run.
    pub digest: u128,
}

impl Explanation {
    /// The change that helps most: in the whole run if that was tried, else from the state before the delay. `None` if no change
    /// saves a twentieth.
    pub fn remedy(&self) -> Option<&Outcome> {
        self.proof.outcomes.first().filter(|row| self.helps(row))
    }
    /// Whether a change saves a twentieth of the delay.
    fn helps(&self, row: &Outcome) -> bool {
        row.holds() && row.left().is_some_and(|left| self.one.is_worth(self.one.delay.length().saturating_sub(left)))
    }
    /// What the time went to: each cause with its share in thousandths, the greatest first. Causes elsewhere have none.
    pub fn shares(&self) -> Vec<(Cause, u64)> {
        let whole = self.one.parts.total().0.max(1);
        let share = |cause: Cause| (cause, (u128::from(self.one.parts.of(cause).0) * 1000 / u128::from(whole)) as u64);
        self.one.here().into_iter().map(share).collect()
    }
    /// Who ran instead, used the quota up or had the lock, for longest; `None` if no task did.
    pub fn who_ran(&self) -> Option<&str> {
        let of_pool = || self.pool.as_ref().and_then(|pool| pool.used.first()).map(|row| row.0);
        let task = match self.one.cause {
            Cause::Throttled | Cause::Burst => of_pool(),
            // Its own runtime is used up by nobody else.
            Cause::DeadlineThrottled => Some(self.one.delay.task),
            // The kernel, the machine, or nobody.
            Cause::Interrupt | Cause::Stolen | Cause::TimerLate | Cause::IdleExit | Cause::IpiFlight | Cause::KernelTime => None,
            _ => self.one.parts.longest_task().or_else(of_pool),
        };
        task.map(|task| self.names.task(task))
    }
}

/// Explains a delay of a scenario; `None` if the caller stopped it.
pub fn explain(scenario: &Scenario, options: &ExplainOptions, control: Control<'_>) -> Result<Option<Answer>, Error> {
    let asked = Asked::read(scenario, options)?;
    let made = guard::catch(|| explained(scenario, options, &asked, control));
    made.map_err(|broken| Error::Broken(Box::new(broken)))?
}

fn explained(
    scenario: &Scenario,
    options: &ExplainOptions,
    asked: &Asked,
    control: Control<'_>,
) -> Result<Option<Answer>, Error> {
    let Some(FirstRun { delays, sleepers, mut replay, digest, end, events }) =
        Replay::first_run(scenario, &asked.watched, control)?
    else {
        return Ok(None);
    };
    let delays = asked.that_count(delays, &sleepers);
    let Some((delay, later)) = asked.choose(scenario, &delays, end)? else {
        return Ok(Some(Answer::NeverLate { task: options.task.clone(), digest }));
    };
    let changes = options.what_if.iter().map(|text| Change::parse(text, scenario)).collect::<Result<Vec<_>, _>>()?;
    let set = scenario.tasks();
    let (start, past) = replay.to(delay.from)?;
    let mut one = one::explain_one(scenario, start, past, delay)?;
    let lab = what_if::Lab::new(scenario, replay.to(what_if::start_of(&delay))?.0.clone(), delay)?;
    let mut whole = WholeRuns::new(scenario, asked, &delays, &delay, events);
    let proof = match changes.is_empty() {
        true => {
            let mut proof = proof::prove(scenario, &set, &one, &lab, &mut whole)?;
            one.cause = proof.suspects.first().map_or(one.cause, |first| first.cause);
            also::look((scenario, &set), &one, (&mut proof, &mut whole))?;
            let last = Named::new(scenario, &set, &one, asked.named).to_begin_with();
            proof.untried = whole.begin_with(&one, &last, &mut proof.outcomes)?;
            proof
        }
        false => Proof {
            suspects: Vec::new(),
            confidence: Confidence::Unproved,
            outcomes: changes.iter().map(|change| whole.beside(change, lab.outcome(change)?)).collect::<Result<_, _>>()?,
            also: None,
            untried: Vec::new(),
        },
    };
    let pool = pool::story(scenario, &mut replay, &one)?;
    let aggregate = asked.percentile.map(|_| aggregate::aggregate(scenario, &mut replay, later, control)).transpose()?;
    if aggregate.as_ref().is_some_and(|aggregate| aggregate.interrupted) {
        return Ok(None);
    }
    let (delays, percentile, names) = (delays.len() as u64, asked.percentile, Names::of(&set));
    let explanation = Explanation { delays, percentile, one, proof, pool, aggregate, names, digest };
    Ok(Some(Answer::Late(Box::new(explanation))))
}

/// The options, read.
struct Asked {
    watched: Vec<bool>,
    /// Whether the watched tasks were named.
    named: bool,
    /// Which tasks are forked by others.
    forked: Vec<bool>,
    at: Option<Instant>,
    percentile: Option<Percentile>,
}

/// Whether `--task` means this task: its name, its process id, or both as they are shown.
pub(crate) fn is_called(wanted: &str, name: &str, pid: u32) -> bool {
    wanted == name
        || wanted.parse() == Ok(pid)
        || wanted.rsplit_once(':').is_some_and(|(of, number)| of == name && number.parse() == Ok(pid))
}

impl Asked {
    fn read(scenario: &Scenario, options: &ExplainOptions) -> Result<Asked, Error> {
        let tasks = scenario.tasks();
        let mut wrong = fairground_model::Mistakes::default();
        let watched: Vec<bool> = match &options.task {
            None => tasks.tasks.iter().map(|task| task.measured).collect(),
            Some(name) => {
                let of_row = |(task, pid): (&TaskSpec, u32)| is_called(name, &task.name, pid);
                tasks.tasks.iter().zip(FIRST_PID..).map(of_row).collect()
            }
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
        let forked = tasks.tasks.iter().map(|task| task.start == Start::Forked).collect();
        wrong
            .or(Asked { watched, named: options.task.is_some(), forked, at, percentile })
            .map_err(|wrong| Error::input("command line", "", wrong))
    }

    /// The delays of which one is meant. That a task starts late counts if another forked it. Tasks that never sleep have nothing to be late for: they count only if they were asked
    /// for, or if there are no others. A percentile is one of delays after wake-ups.
    fn that_count(&self, found: Vec<Delay>, sleepers: &[bool]) -> Vec<Delay> {
        let all = self.named || !sleepers.contains(&true);
        let counts = |delay: &Delay| match self.percentile {
            None if delay.kind == Kind::Start && !self.is_forked(delay.task) => self.at.is_some(),
            None => all || sleepers[delay.whose().index()],
            Some(_) => delay.kind == Kind::WakeUp && delay.wakes.is_none(),
        };
        found.into_iter().filter(counts).collect()
    }
    fn is_forked(&self, task: TaskId) -> bool {
        self.forked.get(task.index()).is_some_and(|&forked| forked)
    }

    /// Whether a request is a delay of the task that is asked about. Where one task alone reads a pipe, its own work is none.
    fn asks_for_requests(&self, scenario: &Scenario) -> bool {
        !self.named || scenario.service().is_some()
    }
    /// The delay that is meant, and all that belong to the table of a percentile; `None` if there is none at all.
    fn choose(&self, scenario: &Scenario, found: &[Delay], end: Instant) -> Result<Option<(Delay, Vec<Delay>)>, Error> {
        // A delay that made others late is asked about itself, if its task is one of those that are.
        let requests = self.asks_for_requests(scenario);
        let is_asked = |row: &&Delay| {
            row.is_a_delay() && (requests || row.request.is_none()) && (row.wakes.is_none() || !self.watched[row.task.index()])
        };
        let found: Vec<Delay> = found.iter().filter(is_asked).copied().collect();
        let found = &found[..];
        let chosen = match (self.at, self.percentile) {
            (Some(at), _) => find::at(found, at).map(|delay| (delay, Vec::new())),
            (None, Some(percentile)) => find::from_percentile(found, percentile),
            (None, None) => find::worst(found).map(|delay| (delay, Vec::new())),
        };
        let Some(at) = self.at.filter(|_| chosen.is_none()) else { return Ok(chosen) };
        Err(match at >= end {
            true => Error::one(
                "command line",
                format!("--at: the run ends at {} s, before {} s", show::seconds(end), show::seconds(at)),
                "Choose an earlier time, or a longer duration.",
            ),
            false => Error::one(
                scenario.name(),
                format!("none of these tasks was late after {} s", show::seconds(at)),
                "Choose an earlier time, or another task.",
            ),
        })
    }
}

/// The names of all tasks and groups, by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    tasks: Vec<String>,
    /// As texts and tables show them: with the process id where two have one name.
    shown: Vec<String>,
    groups: Vec<String>,
}

impl Names {
    fn of(set: &TaskSet) -> Names {
        let tasks: Vec<String> = set.tasks.iter().map(|task| task.name.clone()).collect();
        let mut sorted: Vec<&String> = tasks.iter().collect();
        sorted.sort_unstable();
        let is_twin = |name: &String| sorted.partition_point(|row| *row <= name) - sorted.partition_point(|row| *row < name) > 1;
        let shown = tasks.iter().zip(FIRST_PID..);
        let shown = shown.map(|(name, pid)| if is_twin(name) { format!("{name}:{pid}") } else { name.clone() }).collect();
        Names { tasks, shown, groups: set.groups.iter().map(|group| group.name.clone()).collect() }
    }
    /// Whether there are groups at all.
    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty()
    }
    /// The name of a task.
    pub fn task(&self, task: TaskId) -> &str {
        self.tasks.get(task.index()).map_or("?", String::as_str)
    }
    /// The name of a task as texts and tables show it: `NAME:PID` where two have one name.
    pub fn shown(&self, task: TaskId) -> &str {
        self.shown.get(task.index()).map_or("?", String::as_str)
    }
    /// The path of a group.
    pub fn group(&self, group: Option<TgId>) -> &str {
        group.map_or(ROOT, |group| self.groups.get(group.index()).map_or("?", String::as_str))
    }
    /// A task with the path of the group in which it lies, if there are groups.
    fn task_in(&self, task: TaskId, group: Option<TgId>) -> String {
        match self.has_groups() {
            true => format!("{} in {}", self.shown(task), self.group(group)),
            false => self.shown(task).to_string(),
        }
    }
    /// Who stands for a task on a queue.
    pub fn entity(&self, who: event::Who) -> String {
        match who {
            event::Who::Task(task) => self.shown(task).to_string(),
            event::Who::Group(group) => format!("group {}", self.group(Some(group))),
        }
    }
}
