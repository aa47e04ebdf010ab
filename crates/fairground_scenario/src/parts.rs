//! A scenario in the making: what is known of it before flags and defaults give the rest.

use crate::check::autogroups::Autogroups;
use crate::check::run::{check_duration, never_measured, never_started};
use crate::check::{limits, slices};
use crate::nouns::at::At;
use crate::nouns::autogroup::Sessions;
use crate::nouns::groups::Groups;
use crate::nouns::workload::Workload;
use crate::text::fields::Spanned;
use crate::{Error, Overrides, Scenario, Source};
use fairground_machine::Machine;
use fairground_model::{Mistakes, TaskSet};
use fairground_sched::profile::Profile;
use fairground_stdx::{Instant, Ns};

/// A scenario of which flags may give the rest.
#[derive(Default)]
pub struct Parts {
    /// What it is about.
    pub title: Option<String>,
    /// The seed.
    pub seed: Option<u64>,
    /// How long is simulated.
    pub duration: Option<Ns>,
    /// When measurements of the programs count.
    pub window: Option<(Instant, Instant)>,
    /// The machine.
    pub machine: Option<Machine>,
    /// The kernel.
    pub profile: Option<Profile>,
    /// The tasks.
    pub workloads: Vec<Workload>,
    /// What was assumed when it was read.
    pub notes: Vec<String>,
    /// The text from which it was read.
    pub source: Source,
    /// The groups of `[[group]]`.
    pub groups: Groups,
    /// The sessions of `[[session]]`.
    pub sessions: Sessions,
    /// Whether every session has a group of its own.
    pub sched_autogroup_enabled: bool,
    /// The changes of `[[at]]`.
    pub at: Vec<Spanned<At>>,
}

impl Parts {
    /// The scenario, with what flags say and with defaults for what nobody said; the defaults are noted.
    pub fn build(mut self, overrides: &Overrides) -> Result<Scenario, Error> {
        let (autogroup, profile_flags) = overrides.split_autogroup()?;
        self.sched_autogroup_enabled = autogroup.unwrap_or(self.sched_autogroup_enabled);
        let autogroups = self.autogroups(&merged(&self.groups, &self.workloads), &mut Mistakes::default());
        let mut notes = self.notes;
        let mut default = |what: &str, value: &str| notes.push(format!("no {what} given: {value}"));
        let machine = match (self.machine, &overrides.machine) {
            (None, None) => {
                default("machine", DEFAULT_MACHINE);
                Some(Machine::preset(DEFAULT_MACHINE).map_err(|wrong| Error::input("--machine", "", wrong))?)
            }
            (machine, _) => machine,
        };
        let profile = match (self.profile, &overrides.profile) {
            (None, None) => {
                default("profile", DEFAULT_PROFILE);
                Some(Profile::parse(DEFAULT_PROFILE).map_err(|wrong| Error::one("--profile", wrong.message, wrong.hint))?)
            }
            (profile, _) => profile,
        };
        let duration = match (overrides.duration()?, self.duration) {
            (Some(duration), _) | (None, Some(duration)) => duration,
            (None, None) => {
                default("duration", &DEFAULT_DURATION.to_string());
                DEFAULT_DURATION
            }
        };
        let mut wrong = Mistakes::default();
        check_duration(duration, None, &mut wrong);
        wrong.or(()).map_err(|wrong| Error::input("--duration", "", wrong))?;
        let profile = match profile {
            Some(profile) => Some(workload_features(profile, &self.workloads)?),
            None => None,
        };
        notes.extend(self.workloads.iter().flat_map(|workload| workload.notes.iter().cloned()));
        notes.extend(never_started(&self.workloads, duration));
        let profile = profile_flags.profile(profile)?;
        notes.extend(autogroups.notes(self.sched_autogroup_enabled));
        notes.extend(profile.iter().flat_map(|profile| limits::never_stopped(&merged(&self.groups, &self.workloads), profile)));
        notes.extend(never_measured(self.window, &self.workloads, duration));
        notes.extend(profile.iter().flat_map(|profile| slices::cut(&self.workloads, &self.at, profile)));
        notes.extend(profile.iter().flat_map(Profile::contradictions).map(str::to_string));
        let machine = overrides.machine(machine, &mut notes)?;
        let need = |what: &str| Error::one("command line", format!("no {what}"), format!("Give one with --{what}."));
        Ok(Scenario {
            title: self.title.unwrap_or_else(|| self.source.name.clone()),
            seed: overrides.seed.or(self.seed).unwrap_or(1),
            duration,
            window: self.window,
            machine: machine.ok_or_else(|| need("machine"))?,
            profile: profile.ok_or_else(|| need("profile"))?,
            workloads: self.workloads,
            bands: Vec::new(),
            notes,
            sched_autogroup_enabled: self.sched_autogroup_enabled,
            groups: self.groups,
            sessions: self.sessions,
            at: self.at,
            source: self.source,
        })
    }
    pub(crate) fn autogroups(&self, tasks: &TaskSet, m: &mut Mistakes) -> Autogroups {
        Autogroups::new(self.sched_autogroup_enabled, &self.sessions, &self.groups, &self.workloads, tasks, m)
    }
}

const DEFAULT_MACHINE: &str = "smp-4";
/// The kernel of a run that names none.
pub const DEFAULT_PROFILE: &str = "v5.19";
const DEFAULT_DURATION: Ns = Ns::from_secs(10);

/// The profile with the features that workloads set before they start.
pub(crate) fn workload_features(profile: Profile, workloads: &[Workload]) -> Result<Profile, Error> {
    let mut names = workloads.iter().flat_map(|workload| workload.features.iter().map(|name| (&workload.label, name)));
    names.try_fold(profile, |profile, (label, name)| {
        profile.with_feature(name).map_err(|wrong| Error::one(label.clone(), wrong.message, wrong.hint))
    })
}

/// The groups that are declared and the tasks of all workloads, with the groups that these bring along.
pub(crate) fn merged(groups: &Groups, workloads: &[Workload]) -> TaskSet {
    let mut tasks = groups.set();
    for workload in workloads {
        tasks.append(workload.tasks.clone());
    }
    tasks
}
