//! `conform`: decision by decision, does the model do what the recorded kernel did?

mod groups;
mod quota;
mod scenario;
mod share;
mod show;
mod workload;

pub use quota::{QuotaReplay, RecordedQuotas, recorded_quotas};
pub use share::percent;
pub use show::{document, explain, parting, summary, tables};

use crate::beside;
use crate::kernel::{profile_of_release, version_of};
use crate::system::System;
use fairground_conform::{BatchRule, Fit, GroupMove, Kind, KindTally, Lockstep, Outcome, Quota, Recording, Setup, Tally};
use fairground_formats::ImportStats;
use fairground_formats::fgr::Container;
use fairground_machine::Machine;
use fairground_metrics::{Clip, Interval};
use fairground_model::cgroup::Memberships;
use fairground_model::features::FeatSet;
use fairground_model::{Mistakes, TaskInfo};
use fairground_scenario::{Control, Error, Overrides, guard, trace_file};
use fairground_sched::Profile;
use fairground_stdx::{IndexVec, TaskId, TgId};
use std::path::{Path, PathBuf};

/// Records walked through between two looks at the caller's flag.
const BATCH: usize = 4096;
/// Differences of accounts that are kept at least.
const KEPT_QUOTA_MISSES: usize = 5;

/// What a comparison is made with.
#[derive(Clone, Debug, Default)]
pub struct ConformOptions {
    /// Flags that change profile and machine.
    pub overrides: Overrides,
    /// Disagreements to keep with their state; at least one is kept.
    pub keep: usize,
    /// A scenario that tells of groups, quotas and tasks what the trace does not.
    pub scenario: Option<PathBuf>,
    /// Whether unknown lags of kernel threads are fitted too.
    pub fit: bool,
    /// The part of the record that is read; nothing is known of what lies before it.
    pub part: Interval,
}

/// A comparison that was made.
#[derive(Clone, Debug)]
pub struct Conformance {
    /// The recording's name.
    pub name: String,
    /// Digest of its bytes.
    pub digest: u128,
    /// The profile that the core had.
    pub profile: String,
    /// Its features, with those that the workload switched.
    pub feats: FeatSet,
    /// The tasks.
    pub tasks: IndexVec<TaskId, TaskInfo>,
    /// The groups, by their paths.
    pub groups: IndexVec<TgId, String>,
    /// What came out.
    pub outcome: Outcome,
    /// The same with fitted lags of kernel threads, if that was asked for and changes anything.
    pub fitted: Option<Fit>,
    /// What its accounts of quota had, if it has any.
    pub quota: Option<QuotaReplay>,
    /// How good the recording is.
    pub quality: serde_json::Value,
    /// What was assumed, and what was odd about the recording.
    pub notes: Vec<String>,
    /// Why a threshold says nothing about this recording, if so.
    pub no_threshold: Option<String>,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

/// A figure that a threshold is held against.
#[derive(Clone, PartialEq, Debug)]
pub struct Headline {
    /// `pick`, `tick_preempt.did` and the like.
    pub name: String,
    /// Decisions and agreements.
    pub tally: Tally,
}

impl Conformance {
    /// The figures that a threshold is held against: each kind that is modelled, preemption by what the kernel did.
    pub fn headlines(&self) -> Vec<Headline> {
        let mut headlines = Vec::new();
        let mut add = |name: String, tally: Tally| {
            if tally.decisions > 0 {
                headlines.push(Headline { name, tally });
            }
        };
        for kind in [Kind::Pick, Kind::WakeupPreempt, Kind::TickPreempt, Kind::UpdatePreempt] {
            let row = self.row(kind);
            if kind.has_sides() {
                add(format!("{}.did", kind.name()), row.did);
                add(format!("{}.did_not", kind.name()), row.did_not);
            } else {
                add(kind.name().to_string(), row.all);
            }
        }
        let (choices, allowed, _) = self.outcome.placement.sums(false);
        add("select_cpu.allowed".to_string(), Tally { decisions: choices, agree: allowed });
        let (births, allowed, _) = self.outcome.placement.sums(true);
        add("select_cpu.fork_allowed".to_string(), Tally { decisions: births, agree: allowed });
        add("migrate.kind".to_string(), self.outcome.moves.kind());
        add("migrate.batch_size".to_string(), self.outcome.moves.rule(BatchRule::Size));
        let vruntimes = self.outcome.vruntimes;
        add("vruntime".to_string(), Tally { decisions: vruntimes.compared, agree: vruntimes.exact });
        headlines
    }
    /// The same for accounts of quota: throttles and releases.
    fn quota_headlines(&self) -> Vec<Headline> {
        let row = |what: Quota| {
            let tally = self.quota.as_ref()?.of(what);
            (tally.decisions > 0).then(|| Headline { name: what.name().to_string(), tally })
        };
        [Quota::Throttle, Quota::Unthrottle].into_iter().filter_map(row).collect()
    }
    /// The figures that stay below `percent_wanted`; none where a threshold says nothing.
    pub fn below(&self, percent_wanted: f64) -> Vec<Headline> {
        self.held().into_iter().filter(|row| percent(row.tally.agree, row.tally.decisions) < percent_wanted).collect()
    }
    /// Whether not one decision, virtual time or account of quota was compared.
    pub fn is_empty(&self) -> bool {
        self.headlines().is_empty() && self.quota_headlines().is_empty()
    }
    /// The figures that a threshold is held against in this recording.
    pub fn held(&self) -> Vec<Headline> {
        let decisions = if self.no_threshold.is_none() { self.headlines() } else { Vec::new() };
        let is_held = self.quota.as_ref().is_some_and(|quota| quota.is_held);
        let accounts = if is_held { self.quota_headlines() } else { Vec::new() };
        decisions.into_iter().chain(accounts).collect()
    }
    /// The counts of a kind.
    pub fn row(&self, kind: Kind) -> KindTally {
        self.outcome.kinds.get(&kind).copied().unwrap_or_default()
    }
    /// A group by its path.
    pub(crate) fn group_name(&self, group: TgId) -> String {
        self.groups.get(group).map_or_else(|| format!("group {group}"), |path| format!("group {path}"))
    }
    /// A task as `name-pid`.
    pub(crate) fn task_name(&self, task: TaskId) -> String {
        self.tasks.get(task).map_or_else(|| format!("task {task}"), |info| format!("{}-{}", info.name, info.pid))
    }
}

/// Compares a trace, or the trace of a recorded set, with the model.
pub fn conform(path: &Path, options: &ConformOptions, control: Control<'_>) -> Result<Conformance, Error> {
    refuse_flags_of_runs(&options.overrides)?;
    let source = trace_file::open(path)?;
    let (name, digest) = (source.name.clone(), source.digest);
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let system = System::find(folder).ok();
    let mut recording = Recording::default();
    let stats = source.read_into(&mut Clip::new(options.part, &mut recording))?;
    let mut facts = Facts { notes: import_notes(&name, &stats), no_threshold: None, stands_in: false };
    let workload = workload::read(folder);
    facts.groups(&workload);
    let scenario = options.scenario.as_deref().map(|path| scenario::load(path, &options.overrides)).transpose()?;
    let container = stats.container.clone();
    let of_host = container.as_ref().and_then(|known| beside::machine_of(known, recording.nr_cpus(), &mut facts.notes));
    let tells_hz = container.as_ref().and_then(|known| known.beginning()).is_some_and(|host| host.host.hz.is_some());
    let tells_tick = system.is_some() || scenario.is_some() || (of_host.is_some() && tells_hz);
    let machine = match &scenario {
        Some(scenario) => machine_told(&scenario.machine, recording.nr_cpus())?,
        None => machine_of(options, of_host, system.as_ref(), recording.nr_cpus(), &mut facts.notes)?,
    };
    let is_set = folder.join("workload.txt").is_file();
    let profile = match &scenario {
        Some(scenario) => scenario.profile.clone(),
        None => {
            let of_host = container.as_ref().map(|known| (known.as_ref(), machine.cpus.len()));
            facts.profile_of(options, system.as_ref(), of_host, is_set, (&name, stats.kernel_release.as_deref()))?
        }
    };
    profile.rules_are_ours().map_err(|wrong| Error::one("command line", wrong.message, wrong.hint))?;
    let profile = facts.switched(profile, &workload);
    let mut told = scenario.as_ref().map_or_else(scenario::Told::default, |scenario| scenario::told(scenario, &recording));
    let (known, mut members) = match &scenario {
        Some(_) => (Some(std::mem::take(&mut told.groups)), Vec::new()),
        None if is_set => {
            let (groups, members) = workload::groups(&workload, &recording.tasks);
            (Some(groups), members)
        }
        None => match container.as_ref().and_then(|known| known.beginning().map(|begin| (known, begin))) {
            Some((known, begin)) => {
                told.specs = beside::specs(known, &recording.tasks);
                told.allowed = told.specs.iter().filter_map(|row| Some((row.0, row.1.affinity?))).collect();
                (Some(groups::of_host(begin, &mut facts.notes)), Vec::new())
            }
            None => (None, Vec::new()),
        },
    };
    let is_trace_alone = known.is_none();
    let memberships = Memberships::of(known, recording.groups.iter().map(|row| (row.task, row.group())));
    // What the record tells need not be found out.
    members.retain(|member| recording.groups.iter().all(|row| row.task != member.0));
    facts.told(groups::note(&memberships, is_trace_alone, &stats), &mut told);
    let moves = moves(&memberships, &recording);
    let (mut groups, begins) = (memberships.groups, memberships.begins);
    let quota = quota::of_set(&quota::Inputs {
        path,
        workload: &workload,
        recording: &recording,
        stats: &stats,
        profile: &profile,
        machine: &machine,
        groups: &groups,
        members: &members,
        keep: options.keep.max(KEPT_QUOTA_MISSES),
        is_held: !facts.stands_in,
    })?;
    recording.add_quota_probes(quota::changes(path, &workload, &recording, &mut groups, &members)?);
    let setup = Setup {
        profile: profile.clone(),
        machine: machine.view(),
        tick: tells_tick.then_some(machine.tick),
        keep: options.keep.max(1),
        lags: Vec::new(),
        specs: told.specs,
        allowed: workload::allowed(&workload, &recording.tasks).into_iter().chain(told.allowed).collect(),
        groups,
        members,
        begins,
        moves,
        // A set begins before its workload: little of its past is missing, and the page on fidelity takes that as it is.
        learns: !is_set && scenario.is_none(),
    };
    let (outcome, fitted) = walk(&recording, &setup, options.fit, control)?;
    // A search for lags that was stopped found none.
    let interrupted = outcome.records < recording.records.len() as u64 || (options.fit && fitted.is_none() && control.stopped());
    facts.cost_of_guesses(&outcome);
    facts.notes.extend(outcome.facts.iter().map(|(what, count)| format!("{count} {what}")));
    Ok(Conformance {
        name: set_name(path).unwrap_or(name),
        digest,
        profile: profile.name.clone(),
        feats: profile.feats,
        tasks: recording.tasks,
        groups: setup.groups.iter().map(|group| group.name.clone()).collect(),
        outcome,
        fitted,
        quota,
        quality: stats.quality_json(),
        notes: facts.notes,
        no_threshold: facts.no_threshold,
        interrupted,
    })
}

/// The moves between groups that the recording tells, at their places among the events.
fn moves(memberships: &Memberships, recording: &Recording) -> Vec<GroupMove> {
    let places = memberships.moves.iter().map(|&(place, task, group)| (&recording.groups[place], task, group));
    places.map(|(row, task, group)| GroupMove { before: row.before, at: row.at, writer: row.cpu, task, group }).collect()
}

/// Nothing is simulated: there are no random streams, and the recording says how long it is.
fn refuse_flags_of_runs(overrides: &Overrides) -> Result<(), Error> {
    let mut wrong = Mistakes::default();
    for (flag, given) in [("--seed", overrides.seed.is_some()), ("--duration", overrides.duration.is_some())] {
        if given {
            wrong.whole(format!("{flag}: a comparison with a recording has no use for it"), "Leave it out.");
        }
    }
    wrong.or(()).map_err(|wrong| Error::input("command line", "", wrong))
}

/// The folder of a set and the one above it: `k5.10-hogs-1cpu/a_eq2_1`.
fn set_name(path: &Path) -> Option<String> {
    let full = path.is_dir().then(|| path.canonicalize().ok()).flatten()?;
    let last: Vec<String> = full.iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
    Some(last.into_iter().rev().collect::<Vec<_>>().join("/"))
}

fn walk(recording: &Recording, setup: &Setup, fit: bool, control: Control<'_>) -> Result<(Outcome, Option<Fit>), Error> {
    let walked = guard::catch(|| {
        let mut lockstep = Lockstep::new(recording, setup);
        let total = lockstep.len() as u64;
        while !control.stopped() {
            let done = lockstep.advance(BATCH);
            control.at(done as u64, total);
            if done as u64 >= total {
                break;
            }
        }
        let outcome = lockstep.finish();
        let fitted = fit.then(|| fairground_conform::fit(recording, setup, &|| control.stopped())).flatten();
        (outcome, fitted)
    });
    walked.map_err(|broken| Error::Broken(Box::new(broken)))
}

fn import_notes(name: &str, stats: &ImportStats) -> Vec<String> {
    let mut notes = stats.headed_warnings();
    notes.push(format!("{name}: {} events read as {}, {} not used", stats.events, stats.format, stats.not_used));
    for (kind, without) in [
        ("sched_stat_runtime", "clocks follow timestamps, which are some 100 ns late, and virtual times are not compared"),
        ("sched_waking", "where a wake-up went is not compared"),
        ("sched_wakeup", "tasks are woken when they are first seen again, and no wake-up preemption is judged"),
    ] {
        if !stats.kinds.contains_key(kind) && stats.events > 0 {
            notes.push(format!("Warning: there is no {kind} in it: {without}"));
        }
    }
    notes
}

fn machine_of(
    options: &ConformOptions,
    of_host: Option<Machine>,
    system: Option<&System>,
    nr_cpus: usize,
    notes: &mut Vec<String>,
) -> Result<Machine, Error> {
    let recorded = match of_host {
        Some(machine) => Some(machine),
        None => system.map(|system| system.machine(&options.overrides, notes)).transpose()?,
    };
    let machine = match recorded.filter(|machine| machine.cpus.len() >= nr_cpus) {
        Some(machine) => machine,
        None => {
            let name = format!("smp-{}", nr_cpus.max(1));
            if options.overrides.machine.is_none() {
                notes.push(format!("no machine given: {name}, after the CPUs that the recording names"));
            }
            Machine::preset(&name).map_err(|wrong| Error::input("--machine", "", wrong))?
        }
    };
    match options.overrides.machine(Some(machine.clone()), notes)? {
        Some(changed) if changed.cpus.len() < nr_cpus => Err(Error::one(
            "--machine",
            format!("it has {} CPUs, the recording names {nr_cpus}", changed.cpus.len()),
            "Leave it out, or give a machine with at least as many CPUs.",
        )),
        changed => Ok(changed.unwrap_or(machine)),
    }
}

/// A machine that a scenario tells.
fn machine_told(machine: &Machine, nr_cpus: usize) -> Result<Machine, Error> {
    if machine.cpus.len() < nr_cpus {
        let message = format!("its machine has {} CPUs, the recording names {nr_cpus}", machine.cpus.len());
        return Err(Error::one("--scenario", message, "Give the scenario of this recording, or `--machine`."));
    }
    Ok(machine.clone())
}

/// What is found out about a recording on the way.
struct Facts {
    notes: Vec<String>,
    no_threshold: Option<String>,
    /// The profile is that of another kernel than the recorded one.
    stands_in: bool,
}

impl Facts {
    /// A set that does to groups what is not modelled yet.
    fn groups(&mut self, workload: &str) {
        if workload::is_beyond(workload) {
            self.without_threshold(
                "queues with a quota (cpu.max) are throttled and released when the record's probes say so, and a threshold applies to \
                 throttles and releases alone"
                    .to_string(),
            );
        }
    }
    /// What is known of groups beside the trace, and what a scenario does that is not followed.
    fn told(&mut self, note: Option<String>, told: &mut scenario::Told) {
        self.notes.extend(note);
        if let Some(why) = told.beyond.take() {
            self.without_threshold(why);
        }
    }
    /// The features that the set's workload switches. One that the profile does not have changes nothing.
    fn switched(&mut self, mut profile: Profile, workload: &str) -> Profile {
        for feature in workload::features(workload) {
            match profile.clone().with_feature(&feature) {
                Ok(changed) => profile = changed,
                Err(_) => self.notes.push(format!("{} has no feature {feature}: left out", profile.name)),
            }
        }
        profile
    }
    /// What is left when no decision rests on a guess of the past of tasks: rules, and what no trace tells.
    fn cost_of_guesses(&mut self, outcome: &Outcome) {
        let rows = [Kind::Pick, Kind::WakeupPreempt].into_iter().filter_map(|kind| outcome.kinds.get(&kind));
        let (mut differ, mut told) = (0, 0);
        for row in rows.filter(|row| row.told.decisions > 0) {
            differ += row.all.decisions - row.all.agree;
            told += row.told.decisions - row.told.agree;
        }
        if differ > 0 {
            self.notes.push(format!(
                "{differ} picks and wake-ups disagree, {told} of them between tasks whose places the record tells: there unknown groups, policies, \
                 tunables and our rules are left as causes"
            ));
        }
    }
    fn without_threshold(&mut self, why: String) {
        self.notes.push(why.clone());
        self.no_threshold = Some(why);
    }
    fn profile_of(
        &mut self,
        options: &ConformOptions,
        system: Option<&System>,
        of_host: Option<(&Container, usize)>,
        is_set: bool,
        (name, release): (&str, Option<&str>),
    ) -> Result<Profile, Error> {
        let recorded = match system {
            _ if options.overrides.profile.is_some() => None,
            _ if of_host.is_some() => {
                let profile = release.and_then(|release| self.of_release(release));
                let settled = |profile, notes: &mut Vec<String>| match of_host {
                    Some((known, cpus)) => beside::settled(profile, known, cpus, notes),
                    None => profile,
                };
                profile.map(|profile| settled(profile, &mut self.notes))
            }
            None if is_set => Some(self.nearest("the set has no `system/` that tells its kernel")?),
            None => release.and_then(|release| self.of_release(release)),
            Some(system) => match system.profile(&mut self.notes) {
                Ok(profile) => Some(profile),
                Err(error) => Some(self.nearest(&messages(&error))?),
            },
        };
        options.overrides.profile(recorded)?.ok_or_else(|| {
            let message = "the recording does not tell its kernel";
            Error::one(name.to_string(), message, "Give it with --profile, such as `--profile v6.12`.")
        })
    }
    /// The profile of the kernel that a binary recording names; one that only stands in for it is held to nothing.
    fn of_release(&mut self, release: &str) -> Option<Profile> {
        let profile = profile_of_release(release, &mut self.notes)?;
        if version_of(release) != Some(profile.base) {
            self.stands_in = true;
            self.without_threshold("nothing is held against a threshold under the profile of another kernel".to_string());
        }
        Some(profile)
    }
    /// The default kernel, for a recorded one that is not modelled.
    fn nearest(&mut self, why: &str) -> Result<Profile, Error> {
        self.stands_in = true;
        self.without_threshold(format!("{why}: {} is taken instead, and nothing is held against a threshold", Profile::DEFAULT));
        Profile::parse(Profile::DEFAULT).map_err(|wrong| Error::one("--profile", wrong.message, wrong.hint))
    }
}

/// What is wrong, without places and hints.
fn messages(error: &Error) -> String {
    match error {
        Error::Input(files) => {
            let mistakes = files.iter().flat_map(|file| &file.mistakes.0);
            mistakes.map(|mistake| mistake.message.clone()).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}
