//! The same state with one thing changed: how late would the task have been?
//!
//! The state is the one in which the task last began to run before its last sleep, so that what the sleep asked for and its
//! placement count; no longer before the delay
//! than [`BACK_AT_MOST`] and four times its length. From there the run is followed twice, as it was and changed, up to the
//! same progress of the task: its first run after that sleep, the same lock, or the same time on a CPU. What it was late
//! on the way is compared.

use super::find::{Delay, Delays, Kind};
use super::late::Progress;
use fairground_model::TimedChange;
use fairground_scenario::{Error, Scenario};
use fairground_sched::profile::ProfileError;
use fairground_sched::{Profile, TaskState};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{Instant, Ns, TaskId, units};

/// A changed run is followed for so many times the delay beyond its end, and for no less than [`AT_LEAST`].
const PATIENCE: u64 = 20;
/// See [`PATIENCE`].
const AT_LEAST: Ns = Ns::from_ms(100);
/// What-ifs start no longer before a delay than this and four times its length.
const BACK_AT_MOST: Ns = Ns::from_ms(50);

/// A change that no kernel has: something is taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Without {
    /// Balance reads the load that is queued.
    Misreading,
    /// Devices do not interrupt.
    Interrupts,
    /// The host steals nothing.
    Steal,
    /// CPUs idle in their shallowest state.
    DeepIdle,
}

/// These changes by name.
const WITHOUT: [(&str, Without); 4] = [
    (QUEUED_LOAD, Without::Misreading),
    (NO_INTERRUPTS, Without::Interrupts),
    (NO_STEAL, Without::Steal),
    (NO_DEEP_IDLE, Without::DeepIdle),
];

/// Balance reads the load that is queued.
pub const QUEUED_LOAD: &str = "queued-load";
/// Devices do not interrupt.
pub const NO_INTERRUPTS: &str = "no-interrupts";
/// The host steals nothing.
pub const NO_STEAL: &str = "no-steal";
/// CPUs idle in their shallowest state.
pub const NO_DEEP_IDLE: &str = "no-deep-idle";

/// What is changed: one thing, or several together.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// As it was written.
    pub text: String,
    /// Another form of the profile.
    profile: Option<Box<Profile>>,
    /// Changes from outside.
    outside: Vec<TimedChange>,
    /// What is taken away.
    without: Vec<Without>,
    /// How late timers of tasks may ring.
    slack: Vec<(TaskId, Ns)>,
}

impl Change {
    /// An overlay (`independent-runnable`), a feature (`NO_WAKEUP_PREEMPTION`), a tunable (`sched_wakeup_granularity_ns=0`), a
    /// seam (`preemption=full`), a change of `[[at]]` (`affinity worker 0-3`), a timer slack (`slack worker 1us`), or one of [`QUEUED_LOAD`] and the other names of
    /// this module. Several stand with `;` between them.
    pub fn parse(text: &str, scenario: &Scenario, delay: &Delay) -> Result<Change, Error> {
        let mut change =
            Change { text: text.trim().to_string(), profile: None, outside: Vec::new(), without: Vec::new(), slack: Vec::new() };
        for part in text.split(';').map(str::trim) {
            if let Some((_, without)) = WITHOUT.iter().find(|row| row.0 == part) {
                change.without.push(*without);
            } else if let Some(words) = part.strip_prefix("slack ") {
                change.slack.extend(slack(words, scenario)?);
            } else if part.contains(char::is_whitespace) {
                for at in instants(scenario, delay) {
                    change.outside.extend(scenario.changes(part, at, "--what-if")?);
                }
            } else {
                let before = change.profile.map_or_else(|| scenario.profile.clone(), |profile| *profile);
                let wrong = |error: ProfileError| Error::one("command line", format!("--what-if: {}", error.message), error.hint);
                change.profile = Some(Box::new(changed(before, part).map_err(wrong)?));
            }
        }
        Ok(change)
    }
    /// Whether it changes nothing.
    pub(super) fn is_idle(&self, scenario: &Scenario) -> bool {
        let same = self.profile.as_ref().is_none_or(|profile| **profile == scenario.profile);
        same && self.outside.is_empty() && self.without.is_empty() && self.slack.is_empty()
    }
}

/// When a change is made: at the start, and again after each change of the scenario up to the end of the delay, which might take
/// it back.
fn instants(scenario: &Scenario, delay: &Delay) -> Vec<Instant> {
    let start = start_of(delay);
    let mut instants = vec![start];
    instants.extend(scenario.tasks().changes.iter().map(|change| change.at).filter(|&at| at > start && at < delay.until));
    instants.dedup();
    instants
}

/// Reads `NAME LENGTH`: the tasks of that name, and their timer slack, as /proc/PID/timerslack_ns has it.
fn slack(words: &str, scenario: &Scenario) -> Result<Vec<(TaskId, Ns)>, Error> {
    let wrong = |message: String, hint: &str| Error::one("command line", format!("--what-if: {message}"), hint);
    let form = || wrong(format!("`slack {words}` is no change"), "Write a task and a time with its unit: `slack worker 1us`.");
    let (name, length) = words.trim().rsplit_once(char::is_whitespace).ok_or_else(form)?;
    let length = units::parse_ns(length).map_err(|_| form())?;
    let tasks: Vec<(TaskId, Ns)> =
        scenario.tasks().tasks.iter_enumerated().filter(|row| row.1.name == name.trim()).map(|row| (row.0, length)).collect();
    match tasks.is_empty() {
        true => Err(wrong(format!("no task is called `{name}`"), "`fairground run` lists the tasks.")),
        false => Ok(tasks),
    }
}

/// A profile with a change in one word.
fn changed(profile: Profile, text: &str) -> Result<Profile, ProfileError> {
    match text.split_once('=') {
        Some((seam, variant)) if profile.has_seam(seam) => profile.with_seam(seam, variant),
        Some((tunable, value)) => profile.with_tunable(tunable, value),
        None if text.starts_with(|first: char| first.is_ascii_uppercase()) => profile.with_feature(text),
        None => profile.with_overlay(text.trim_start_matches('+')),
    }
}

/// What a change makes of a delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The change.
    pub change: String,
    /// The delay with it; `None` if the task had not come so far when the run was given up or ended.
    pub delay: Option<Ns>,
}

/// From when on changes act.
pub(super) fn start_of(delay: &Delay) -> Instant {
    let least = delay.from.ns().saturating_sub(BACK_AT_MOST.0.saturating_add(delay.length().0.saturating_mul(4)));
    Instant::from_ns(least).max(delay.back)
}

/// Tries changes from one state.
pub(super) struct Lab<'s> {
    scenario: &'s Scenario,
    start: Simulation,
    delay: Delay,
    /// How far the task had come when the delay began.
    before: Progress,
    /// How late it was up to its end, as it was.
    late: Ns,
}

impl<'s> Lab<'s> {
    /// `start` is the run just before [`start_of`].
    pub(super) fn new(scenario: &'s Scenario, start: Simulation, delay: Delay) -> Result<Lab<'s>, Error> {
        let stopped = |why| scenario.stopped(&why);
        let (mut run, mut way) = (start.clone(), follows(&start, delay.task));
        run.run_until(delay.from, &mut way).map_err(stopped)?;
        let unknown = Progress { ran: Ns::ZERO, wakings: 0, locks: 0, is_running: false };
        let before = way.progress(delay.task, delay.from).unwrap_or(unknown);
        let mut lab = Lab { scenario, start, delay, before, late: Ns::ZERO };
        lab.late = lab.follow(run, way, false)?.0;
        Ok(lab)
    }

    /// Follows the run with a change.
    pub(super) fn outcome(&self, change: &Change) -> Result<Outcome, Error> {
        let mut run = self.start.clone();
        if let Some(profile) = &change.profile {
            let wrong = |error: ProfileError| Error::one("command line", format!("--what-if: {}", error.message), error.hint);
            run.change_profile((**profile).clone(), &change.text).map_err(wrong)?;
        }
        change.outside.iter().for_each(|change| run.add_change(change.clone()));
        for without in &change.without {
            match without {
                Without::Misreading => {}
                Without::Interrupts => run.silence(false),
                Without::Steal => run.silence(true),
                Without::DeepIdle => run.stay_shallow(),
            }
        }
        change.slack.iter().for_each(|&(task, slack)| run.set_timer_slack(task, slack));
        let way = follows(&run, self.delay.task);
        let (late, reached) = self.follow(run, way, change.without.contains(&Without::Misreading))?;
        let with = (self.delay.length().0 + late.0).saturating_sub(self.late.0);
        Ok(Outcome { change: change.text.clone(), delay: reached.then_some(Ns(with)) })
    }

    /// How late the task is on the way to the end of the delay, and whether it comes there.
    fn follow(&self, mut run: Simulation, mut way: Delays, queued_load: bool) -> Result<(Ns, bool), Error> {
        let last = self.delay.until + Ns(self.delay.length().0.saturating_mul(PATIENCE)).max(AT_LEAST);
        while !self.is_there(&way, run.now()) && run.now() < last {
            if queued_load {
                run.read_queued_loads();
            }
            if run.step(&mut way).map_err(|stopped| self.scenario.stopped(&stopped))? == Flow::Done {
                break;
            }
        }
        let (now, reached) = (run.now(), self.is_there(&way, run.now()));
        Ok((Ns(way.found(now).iter().map(|delay| delay.length().0).sum()), reached))
    }

    /// Whether the task has come as far as it was when the delay was over.
    fn is_there(&self, way: &Delays, now: Instant) -> bool {
        let Some(here) = way.progress(self.delay.task, now) else { return false };
        match self.delay.kind {
            Kind::WakeUp => here.is_running && here.wakings > self.before.wakings,
            Kind::Start => here.is_running,
            Kind::Lock => here.locks > self.before.locks,
            Kind::Preempted | Kind::Interrupted => here.ran > self.before.ran,
        }
    }
}

/// Follows one task of a run.
fn follows(run: &Simulation, task: TaskId) -> Delays {
    let row = run.sched().task(task);
    let runs = (row.state == TaskState::Running).then_some((row.cpu, run.now()));
    Delays::of_one(task, runs, run.sched().cpu_ids().count())
}
