//! The same state with one rule changed: how late would the wake-up have been?

use super::cause::Cause;
use super::find::WakeUp;
use super::one::Explained;
use fairground_model::{Sink, TimedChange, TraceEvent};
use fairground_scenario::{Error, Scenario};
use fairground_sched::Profile;
use fairground_sched::profile::{KnownKind, ProfileError};
use fairground_sim::{Flow, Simulation};
use fairground_stdx::{CpuId, Instant, Ns, TaskId};

/// The change that no kernel has: balance reads the load that is queued.
pub const QUEUED_LOAD: &str = "queued-load";
/// A run with a changed rule is followed for so many times the delay, and for no less than [`AT_LEAST`].
const PATIENCE: u64 = 20;
/// See [`PATIENCE`].
const AT_LEAST: Ns = Ns::from_ms(100);

/// A change of one rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// As it was written.
    pub text: String,
    what: What,
}

#[derive(Clone, PartialEq, Debug)]
enum What {
    /// Another form of the profile.
    Profile(Box<Profile>),
    /// Changes from outside at the instant of the wake-up.
    Outside(Vec<TimedChange>),
    /// [`QUEUED_LOAD`].
    QueuedLoad,
}

impl Change {
    /// An overlay (`independent-runnable`), a feature (`NO_WAKEUP_PREEMPTION`), a tunable
    /// (`sched_wakeup_granularity_ns=0`), a change of `[[at]]` (`affinity worker 0-3`), or [`QUEUED_LOAD`].
    pub fn parse(text: &str, scenario: &Scenario, wake: &WakeUp) -> Result<Change, Error> {
        let text = text.trim();
        let profile = || scenario.profile.clone();
        let changed = |profile: Result<Profile, ProfileError>| {
            let wrong = |error: ProfileError| Error::one("command line", format!("--what-if: {}", error.message), error.hint);
            profile.map(|profile| What::Profile(Box::new(profile))).map_err(wrong)
        };
        let what = if text == QUEUED_LOAD {
            What::QueuedLoad
        } else if text.contains(char::is_whitespace) {
            What::Outside(scenario.changes(text, wake.waking, "--what-if")?)
        } else if let Some((name, value)) = text.split_once('=') {
            changed(profile().with_tunable(name, value))?
        } else if text.starts_with(|first: char| first.is_ascii_uppercase()) {
            changed(profile().with_feature(text))?
        } else {
            changed(profile().with_overlay(text.trim_start_matches('+')))?
        };
        Ok(Change { text: text.to_string(), what })
    }
}

/// What a change makes of a delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The change.
    pub change: String,
    /// The delay with it; `None` if the task had not run when the run was given up or ended.
    pub delay: Option<Ns>,
}

/// Makes the wake-up again with a change. `start` is the run just before the instant of the wake-up.
pub(super) fn outcome(scenario: &Scenario, start: &Simulation, wake: &WakeUp, change: &Change) -> Result<Outcome, Error> {
    let mut run = start.clone();
    match &change.what {
        What::Profile(profile) => {
            let wrong = |error: ProfileError| Error::one("command line", format!("--what-if: {}", error.message), error.hint);
            run.change_profile((**profile).clone(), &change.text).map_err(wrong)?;
        }
        What::Outside(changes) => changes.iter().for_each(|change| run.add_change(change.clone())),
        What::QueuedLoad => {}
    }
    let mut waits = Waits { task: wake.task, waking: None, until: None };
    let last = wake.waking + Ns(wake.latency().0.saturating_mul(PATIENCE)).max(AT_LEAST);
    while waits.until.is_none() && run.now() < last {
        if change.what == What::QueuedLoad {
            run.read_queued_loads();
        }
        if run.step(&mut waits).map_err(|stopped| scenario.stopped(&stopped))? == Flow::Done {
            break;
        }
    }
    let delay = waits.waking.and_then(|waking| Some(waits.until?.since(waking)));
    Ok(Outcome { change: change.text.clone(), delay })
}

/// The first wake-up of a task.
struct Waits {
    task: TaskId,
    waking: Option<Instant>,
    until: Option<Instant>,
}

impl Sink for Waits {
    fn record(&mut self, at: Instant, _cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::SchedWaking { task, .. } if task == self.task => _ = self.waking.get_or_insert(at),
            TraceEvent::SchedSwitch { next, .. } if next == Some(self.task) && self.waking.is_some() => {
                self.until.get_or_insert(at);
            }
            _ => {}
        }
    }
}

/// What could plausibly have helped against these causes, by the rules that this kernel has; each written as
/// [`Change::parse`] reads it.
pub(super) fn plausible(scenario: &Scenario, one: &Explained) -> Vec<Change> {
    let (wake, tasks) = (&one.wake, scenario.tasks().tasks);
    let task = &tasks[wake.task].name;
    let other = one.parts.longest_task().map_or(task, |other| &tasks[other].name);
    let all = format!("0-{}", scenario.machine.cpus.len() - 1);
    let mut texts: Vec<String> = Vec::new();
    let named = |text: &str| text.replace("{task}", task).replace("{other}", other).replace("{all}", &all);
    for cause in one.causes() {
        texts.extend(against(cause).iter().map(|text| named(text)));
    }
    texts.extend(Profile::known().into_iter().filter(|row| row.kind == KnownKind::Modelled).filter_map(|row| {
        let (base, overlay) = row.name.split_once('+')?;
        (Profile::parse(base).ok()?.base == scenario.profile.base).then(|| overlay.to_string())
    }));
    let mut changes: Vec<Change> = Vec::new();
    for text in texts {
        // What this kernel does not have is no rule of it; what is so already changes nothing.
        let Ok(change) = Change::parse(&text, scenario, wake) else { continue };
        let same = matches!(&change.what, What::Profile(profile) if **profile == scenario.profile);
        if !same && changes.iter().all(|other| other.text != change.text) {
            changes.push(change);
        }
    }
    changes
}

/// The rules whose change could help against a cause, for kernels that have them.
const fn against(cause: Cause) -> &'static [&'static str] {
    match cause {
        Cause::QueueLength | Cause::EarlierDeadline | Cause::NotEligible | Cause::TickGranularity => &[
            "sched_min_granularity_ns=100000",
            "sched_latency_ns=1000000",
            "sched_base_slice_ns=100000",
            "NO_RUN_TO_PARITY",
            "NEXT_BUDDY",
            "nice {task} -20",
        ],
        Cause::HeavierTask => {
            &["nice {other} 0", "nice {task} -20", "sched_min_granularity_ns=100000", "sched_base_slice_ns=100000"]
        }
        Cause::IdlePolicy | Cause::BatchPolicy => &["policy {task} other"],
        Cause::RealTime => &["policy {other} other"],
        Cause::SleeperCredit => &["GENTLE_FAIR_SLEEPERS", "sched_latency_ns=1000000"],
        Cause::WithinWakeupGranularity => &["sched_wakeup_granularity_ns=0", "NEXT_BUDDY"],
        Cause::NoWakeupPreemption => &["WAKEUP_PREEMPTION"],
        Cause::ShorterSlice => &["slice {task} 100us", "NO_PREEMPT_SHORT", "NO_RUN_TO_PARITY"],
        Cause::Protected => &["NO_RUN_TO_PARITY", "slice {task} 100us"],
        Cause::DelayedDequeue => &["nice {task} -20", "NO_DELAY_DEQUEUE", "NO_PLACE_LAG"],
        Cause::Buddy => &["NO_NEXT_BUDDY", "NO_LAST_BUDDY"],
        Cause::Affinity => &["affinity {task} {all}"],
        Cause::SearchCut => &["NO_SIS_PROP"],
        Cause::OtherCache | Cause::IdleCpuTaken => &["NO_WA_WEIGHT", "NO_WA_IDLE", "NO_TTWU_QUEUE"],
        Cause::MisledStatistic => &[QUEUED_LOAD, "NO_LB_BIAS"],
        Cause::NewidleGate | Cause::CacheHot => &["sched_migration_cost_ns=0"],
        Cause::NewidleOff => &["NO_NI_RANDOM"],
        Cause::EnergyFirst
        | Cause::NotDue
        | Cause::OtherBalances
        | Cause::NoImbalance
        | Cause::OtherQueue
        | Cause::NotMovable
        | Cause::NobodyWaits
        | Cause::NoBalance => &["sched_migration_cost_ns=0", "NO_LB_BIAS", QUEUED_LOAD],
        Cause::KernelThread
        | Cause::ReschedPending
        | Cause::KernelTime
        | Cause::IdleExit
        | Cause::IpiFlight
        | Cause::OnTheWay => &["NO_TTWU_QUEUE"],
    }
}
