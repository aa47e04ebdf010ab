//! The same state with one thing changed: how late would the task have been?
//!
//! The state is the one in which the task last began to run before its last sleep, so that what the sleep asked for and its
//! placement count; no longer before the delay
//! than [`BACK_AT_MOST`] and four times its length. From there the run is followed twice, as it was and changed, up to the
//! same progress of the task: its first run after that sleep, the same lock, or the same time on a CPU. What it was late
//! on the way is compared.

use super::find::{Delay, Delays, Kind, Request};
use super::late::Progress;
use super::own;
use fairground_model::{Change as Outside, MessageAct, MessageEvent, Sink, Start, TimedChange, TraceEvent};
use fairground_scenario::{Error, Overrides, Scenario};
use fairground_sched::profile::ProfileError;
use fairground_sched::{Profile, TaskState};
use fairground_sim::{Flow, Simulation, Stopped};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns, TaskId, units};

/// A changed run is followed for so many times the delay beyond its end, and for no less than [`AT_LEAST`].
const PATIENCE: u64 = 20;
/// See [`PATIENCE`].
const AT_LEAST: Ns = Ns::from_ms(100);
/// So long after its start a task is there for all who look.
const BEGUN_AFTER: Ns = Ns::from_us(100);
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
    /// Holders of locks are not preempted.
    HolderPreemption,
}

/// These changes by name.
const WITHOUT: [(&str, Without); 5] = [
    (QUEUED_LOAD, Without::Misreading),
    (NO_INTERRUPTS, Without::Interrupts),
    (NO_STEAL, Without::Steal),
    (NO_DEEP_IDLE, Without::DeepIdle),
    (NO_HOLDER_PREEMPTION, Without::HolderPreemption),
];

/// The most workers that a service has.
pub(super) const WORKERS_AT_MOST: u32 = 1024;
/// What stands before a setting of the machine, as `--set` has it.
const MACHINE: &str = "machine.";
/// What stands before the name of another kernel.
const KERNEL: &str = "kernel=";
/// What stands before a number of CPUs.
pub(super) const CPUS: &str = "cpus=";
/// What stands before a number of workers.
pub(super) const WORKERS: &str = "workers=";

/// Balance reads the load that is queued.
pub const QUEUED_LOAD: &str = "queued-load";
/// Devices do not interrupt.
pub const NO_INTERRUPTS: &str = "no-interrupts";
/// The host steals nothing.
pub const NO_STEAL: &str = "no-steal";
/// CPUs idle in their shallowest state.
pub const NO_DEEP_IDLE: &str = "no-deep-idle";
/// Who holds a lock gives way only when it has released all that it holds.
pub const NO_HOLDER_PREEMPTION: &str = "no-holder-preemption";

/// What is changed: one thing, or several together.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// As it was written.
    pub text: String,
    /// Another form of the profile.
    profile: Option<Box<Profile>>,
    /// The scenario with another machine or kernel, with which a run must begin.
    rebuilt: Option<Box<Scenario>>,
    /// Changes from outside, as `[[at]]` has them.
    acts: Vec<String>,
    /// What is taken away.
    without: Vec<Without>,
    /// How late timers of tasks may ring.
    slack: Vec<(TaskId, Ns)>,
}

impl Change {
    /// Nothing is changed.
    pub(super) fn none() -> Change {
        let (acts, without, slack) = (Vec::new(), Vec::new(), Vec::new());
        Change { text: String::new(), profile: None, rebuilt: None, acts, without, slack }
    }
    /// An overlay (`independent-runnable`), a feature (`NO_WAKEUP_PREEMPTION`), a tunable (`sched_wakeup_granularity_ns=0`), a
    /// seam (`preemption=full`), a change of `[[at]]` (`affinity worker 0-3`), a timer slack (`slack worker 1us`), another kernel
    /// (`kernel=6.12`), a number of workers of the service (`workers=16`), a greater number of CPUs (`cpus=8`), a setting of the
    /// machine (`machine.hz=1000`), or one of [`QUEUED_LOAD`] and the other names of this module. Several stand with `;` between
    /// them.
    pub fn parse(text: &str, scenario: &Scenario) -> Result<Change, Error> {
        let mut change = Change { text: text.trim().to_string(), ..Change::none() };
        for part in text.split(';').map(str::trim) {
            if let Some((_, without)) = WITHOUT.iter().find(|row| row.0 == part) {
                change.without.push(*without);
            } else if let Some(words) = part.strip_prefix("slack ") {
                change.slack.extend(slack(words, scenario)?);
            } else if part.contains(char::is_whitespace) {
                scenario.changes(part, Instant::ZERO, "--what-if")?;
                change.acts.push(part.to_string());
            } else if part.starts_with(MACHINE) {
                let set = Overrides { set: vec![part.to_string()], ..Overrides::default() };
                let before = change.before(scenario);
                let machine = set.machine(Some(before.machine.clone()), &mut Vec::new())?;
                change.rebuilt = machine.map(|machine| Box::new(before.with_machine(machine)));
            } else if let Some(workers) = part.strip_prefix(WORKERS) {
                change.rebuilt = Some(Box::new(with_workers(change.before(scenario), workers)?));
            } else if let Some(cpus) = part.strip_prefix(CPUS) {
                change.rebuilt = Some(Box::new(with_cpus(change.before(scenario), cpus)?));
            } else if let Some(name) = part.strip_prefix(KERNEL) {
                let before = change.before(scenario);
                // What the scenario sets beside its kernel stays: nobody asked to drop it.
                let kernel = Profile::parse(name).and_then(|kernel| kernel.with_settings_of(&before.profile)).map_err(wrong)?;
                change.rebuilt = Some(Box::new(before.with_profile(kernel)));
            } else {
                let before = change.profile.take().map_or_else(|| change.before(scenario).profile.clone(), |profile| *profile);
                change.profile = Some(Box::new(changed(before, part).map_err(|error| wrong(with_names(error, part)))?));
            }
        }
        Ok(change)
    }
    /// The scenario with another machine or kernel, if there is one.
    pub(super) fn before<'a>(&'a self, scenario: &'a Scenario) -> &'a Scenario {
        self.rebuilt.as_deref().unwrap_or(scenario)
    }
    /// Whether it changes nothing.
    pub(super) fn is_idle(&self, scenario: &Scenario) -> bool {
        let same_profile = self.profile.as_ref().is_none_or(|profile| **profile == scenario.profile);
        let same_scenario = self.rebuilt.as_ref().is_none_or(|rebuilt| **rebuilt == *scenario);
        same_profile && same_scenario && self.acts.is_empty() && self.without.is_empty() && self.slack.is_empty()
    }
    /// Whether a run must begin with it: no running kernel takes another HZ, or becomes another kernel.
    pub(super) fn is_from_the_beginning(&self) -> bool {
        self.rebuilt.is_some()
    }
    /// The changes from outside, made at `from`, those of forked tasks at `again`, and again after each change of the scenario before `until`, which might take them
    /// back.
    fn outside(&self, scenario: &Scenario, from: Instant, again: Instant, until: Instant) -> Result<Vec<TimedChange>, Error> {
        let mut instants = vec![from];
        let set = scenario.tasks();
        let is_named = |name: &str| {
            let mut words = self.acts.iter().filter_map(|act| act.split_once(' ')?.1.split_once(' '));
            words.any(|row| row.0 == name)
        };
        // A task that has not begun cannot be changed; a forked one is as its parent was.
        for spec in set.tasks.iter().filter(|spec| is_named(&spec.name)) {
            let begins = match spec.start {
                Start::At(at) if at > from && at + BEGUN_AFTER < until => Some(at + BEGUN_AFTER),
                Start::Forked if again > from => Some(again),
                _ => None,
            };
            instants.extend(begins);
        }
        if !self.acts.is_empty() {
            instants.extend(set.changes.iter().map(|change| change.at).filter(|&at| at > from && at < until));
        }
        instants.sort_unstable();
        instants.dedup();
        let made = instants.iter().flat_map(|&at| self.acts.iter().map(move |act| scenario.changes(act, at, "--what-if")));
        Ok(made.collect::<Result<Vec<_>, _>>()?.concat())
    }
    /// Takes away what no kernel can take away, and sets the slack of timers.
    fn take_away(&self, run: &mut Simulation) {
        for without in &self.without {
            match without {
                Without::Misreading => {}
                Without::Interrupts => run.silence(false),
                Without::Steal => run.silence(true),
                Without::DeepIdle => run.stay_shallow(),
                Without::HolderPreemption => run.keep_lock_holders(),
            }
        }
        self.slack.iter().for_each(|&(task, slack)| run.set_timer_slack(task, slack));
    }
    /// Whether balance is to read the load that is queued.
    fn reads_queued_load(&self) -> bool {
        self.without.contains(&Without::Misreading)
    }
    /// Runs up to an instant under the change.
    pub(super) fn run_until(&self, run: &mut Simulation, until: Instant, sink: &mut dyn Sink) -> Result<Flow, Stopped> {
        if !self.reads_queued_load() {
            return run.run_until(until, sink);
        }
        let mut flow = Flow::More;
        while flow == Flow::More && run.now() < until {
            run.read_queued_loads();
            flow = run.step(sink)?;
        }
        Ok(flow)
    }
    /// A run that begins with the change.
    pub(super) fn whole(&self, scenario: &Scenario) -> Result<Simulation, Error> {
        self.whole_of(self.before(scenario).clone())
    }
    /// The same with another seed.
    pub(super) fn whole_with_seed(&self, scenario: &Scenario, seed: u64) -> Result<Simulation, Error> {
        self.whole_of(self.before(scenario).with_seed(seed))
    }
    fn whole_of(&self, mut changed: Scenario) -> Result<Simulation, Error> {
        if let Some(profile) = &self.profile {
            changed.profile = (**profile).clone();
        }
        let mut setup = changed.setup()?;
        let outside = self.outside(&changed, Instant::ZERO, Instant::ZERO, Instant::MAX)?;
        // A CPU that shall be on line never leaves: its tasks would move away, and come back only when somebody balances.
        let stays = |cpu: CpuId| outside.iter().any(|row| row.change == Outside::Hotplug { cpu, online: true });
        setup.tasks.changes.retain(|row| !matches!(row.change, Outside::Hotplug { cpu, online: false } if stays(cpu)));
        setup.tasks.changes.extend(outside);
        setup.tasks.changes.sort_by_key(|change| change.at);
        for &(task, slack) in &self.slack {
            own::keep(&mut setup.tasks, task, &own::Kept::Slack(slack));
        }
        for change in self.outside(&changed, Instant::ZERO, Instant::ZERO, Instant::ZERO)? {
            if let Some((task, kept)) = own::Kept::of(&change.change) {
                own::keep(&mut setup.tasks, task, &kept);
            }
        }
        let mut run = Simulation::new(setup).map_err(|mistakes| changed.wrong(mistakes))?;
        self.take_away(&mut run);
        Ok(run)
    }
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

/// The scenario with so many workers of its service.
fn with_workers(scenario: &Scenario, workers: &str) -> Result<Scenario, Error> {
    let wrong = |message: String, hint: &str| Error::one("command line", format!("--what-if: {message}"), hint);
    let Some((row, service)) = scenario.service() else {
        return Err(wrong(
            format!("`workers={workers}`: no workload is a service"),
            "Workers are those of the workload `service`.",
        ));
    };
    let number = workers.trim().parse().ok().filter(|number| (1..=WORKERS_AT_MOST).contains(number));
    let Some(workers) = number else {
        return Err(wrong(format!("`{workers}` is no number of workers"), "Write 1 to 1024, as in `workers=16`."));
    };
    let mut service = service.clone();
    service.workers = workers;
    Ok(scenario.with_service(row, service))
}

/// The scenario on a machine with more CPUs. What is bound to some of them stays so.
fn with_cpus(scenario: &Scenario, cpus: &str) -> Result<Scenario, Error> {
    let own = scenario.machine.cpus.len();
    match cpus.trim().parse::<usize>() {
        Ok(count) if (own..=CpuMask::CAPACITY).contains(&count) => Ok(scenario.with_machine(scenario.machine.with_cpus(count))),
        Ok(count) if (1..own).contains(&count) => Err(Error::one(
            "command line",
            format!("--what-if: `cpus={cpus}`: the machine has {own} CPUs already"),
            format!(
                "For fewer CPUs take some off line: `--what-if \"offline {}\"`.",
                CpuMask::first_n(own).and_not(&CpuMask::first_n(count))
            ),
        )),
        _ => Err(Error::one(
            "command line",
            format!("--what-if: `cpus={cpus}`: no such number of CPUs"),
            format!("Write {own} to {}, as in `cpus={}`.", CpuMask::CAPACITY, 2 * own),
        )),
    }
}

/// A word in small letters may have been meant for an overlay, or for one of [`WITHOUT`]: the hint has these first.
fn with_names(error: ProfileError, part: &str) -> ProfileError {
    let is_word = part.starts_with(|first: char| first.is_ascii_lowercase()) && !part.contains('=');
    let names = WITHOUT.map(|row| row.0).join(", ");
    let hint = if is_word { format!("What no kernel has is one of {names}. {}", error.hint) } else { error.hint };
    ProfileError { hint, ..error }
}

/// What is wrong with a profile, as a mistake of the command line.
fn wrong(error: ProfileError) -> Error {
    Error::one("command line", format!("--what-if: {}", error.message), error.hint)
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

/// Pairs of runs with other seeds, each with a change and without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pairs {
    /// In how many of them the delay of the same rank is shorter by a twentieth at least.
    pub hold: u32,
    /// How many there are.
    pub of: u32,
}

/// What a change makes of a delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The change.
    pub change: String,
    /// The delay with it, from the state before it; `None` if the task had not come so far when the run was given up or ended, or
    /// if a run must begin with the change.
    pub delay: Option<Ns>,
    /// The delay of the same rank among those of the task in a run that begins with the change; `None` if that was not tried.
    pub whole: Option<Ns>,
    /// Whether that holds with other seeds, of a change with which a run must begin; `None` if it was not tried.
    pub pairs: Option<Pairs>,
}

impl Outcome {
    /// What is left of the delay: in the whole run if that was tried.
    pub fn left(&self) -> Option<Ns> {
        self.whole.or(self.delay)
    }
    /// Whether other seeds do not refute it: it holds in at least three quarters of their pairs.
    pub fn holds(&self) -> bool {
        self.pairs.is_none_or(|pairs| pairs.hold * 4 >= pairs.of * 3)
    }
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
    /// How late it was up to its end, as it was; of a request, how long it took in all.
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
        lab.late = match delay.request {
            None => lab.follow(run, way, false)?.0,
            Some(request) => lab.follow_request(lab.start.clone(), request, false)?.unwrap_or(delay.until.since(delay.from)),
        };
        Ok(lab)
    }

    /// Follows the run with a change. One with which a run must begin has no outcome here.
    pub(super) fn outcome(&self, change: &Change) -> Result<Outcome, Error> {
        if change.rebuilt.is_some() {
            return Ok(Outcome { change: change.text.clone(), delay: None, whole: None, pairs: None });
        }
        let mut run = self.start.clone();
        if let Some(profile) = &change.profile {
            run.change_profile((**profile).clone(), &change.text).map_err(wrong)?;
        }
        let outside = change.outside(self.scenario, start_of(&self.delay), self.delay.from, self.delay.until)?;
        outside.into_iter().for_each(|change| run.add_change(change));
        change.take_away(&mut run);
        let (late, reached) = match self.delay.request {
            None => {
                let way = follows(&run, self.delay.task);
                self.follow(run, way, change.reads_queued_load())?
            }
            Some(request) => {
                let took = self.follow_request(run, request, change.reads_queued_load())?;
                (took.unwrap_or_default(), took.is_some())
            }
        };
        let with = (self.delay.length().0 + late.0).saturating_sub(self.late.0);
        Ok(Outcome { change: change.text.clone(), delay: reached.then_some(Ns(with)), whole: None, pairs: None })
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

    /// How long a request takes, whoever reads it: from when it is written to when it was dealt with. `None`: it did not come so far.
    fn follow_request(&self, mut run: Simulation, request: Request, queued_load: bool) -> Result<Option<Ns>, Error> {
        let last = self.delay.until + Ns(self.delay.length().0.saturating_mul(PATIENCE)).max(AT_LEAST);
        let mut way = Served { request, reader: None, written: self.delay.from, done: None };
        while way.done.is_none() && run.now() < last {
            if queued_load {
                run.read_queued_loads();
            }
            if run.step(&mut way).map_err(|stopped| self.scenario.stopped(&stopped))? == Flow::Done {
                break;
            }
        }
        Ok(way.done.map(|done| done.saturating_since(way.written)))
    }

    /// Whether the task has come as far as it was when the delay was over.
    fn is_there(&self, way: &Delays, now: Instant) -> bool {
        let Some(here) = way.progress(self.delay.task, now) else { return false };
        match self.delay.kind {
            Kind::WakeUp => here.is_running && here.wakings > self.before.wakings,
            Kind::Start => here.is_running,
            Kind::Lock => here.locks > self.before.locks,
            Kind::Preempted | Kind::Interrupted | Kind::Request => here.ran > self.before.ran,
        }
    }
}

/// Follows one message until it was dealt with.
struct Served {
    request: Request,
    reader: Option<TaskId>,
    written: Instant,
    done: Option<Instant>,
}

impl Sink for Served {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::SchedProcessExit { task } = *event
            && self.reader == Some(task)
        {
            self.done = Some(at);
        }
    }
    fn message(&mut self, at: Instant, event: &MessageEvent) {
        match event.act {
            MessageAct::Has { number, written, .. } if (event.pipe, number) == (self.request.pipe, self.request.number) => {
                (self.reader, self.written) = (Some(event.task), written);
            }
            MessageAct::Asks if self.reader == Some(event.task) => self.done = self.done.or(Some(at)),
            _ => {}
        }
    }
}

/// Follows one task of a run.
fn follows(run: &Simulation, task: TaskId) -> Delays {
    let row = run.sched().task(task);
    let runs = (row.state == TaskState::Running).then_some((row.cpu, run.now()));
    Delays::of_one(task, runs, run.sched().cpu_ids().count())
}
