//! A scenario in the making: what is known of it before flags and defaults give the rest.

use crate::check::autogroups::Autogroups;
use crate::check::run::{check_duration, never_measured, never_started};
use crate::check::{group_states, slices};
use crate::nouns::at::At;
use crate::nouns::autogroup::Sessions;
use crate::nouns::groups::Groups;
use crate::nouns::profile;
use crate::nouns::workload::Workload;
use crate::text::fields::Spanned;
use crate::{Error, FileMistakes, Overrides, Scenario, Source};
use fairground_machine::Machine;
use fairground_model::{Mistakes, TaskSet};
use fairground_sched::profile::Profile;
use fairground_stdx::{CpuMask, Instant, Ns};

/// A scenario that is being read. Flags are applied once: to the machine before the tasks are read, since these are held
/// against its CPUs, and to the rest by `settle` before the whole is checked.
pub struct Parts {
    /// What it is about.
    pub title: Option<String>,
    /// The seed.
    pub seed: Option<u64>,
    /// How long is simulated.
    pub duration: Option<Ns>,
    /// When measurements of the programs count.
    pub window: Option<(Instant, Instant)>,
    /// The machine, as flags change it.
    pub machine: Option<Machine>,
    /// The kernel.
    pub profile: Option<Profile>,
    /// The tasks.
    pub workloads: Vec<Workload>,
    /// What was assumed when it was read.
    pub notes: Vec<String>,
    /// The groups of `[[group]]`.
    pub groups: Groups,
    /// The sessions of `[[session]]`.
    pub sessions: Sessions,
    /// Whether every session has a group of its own.
    pub sched_autogroup_enabled: bool,
    /// The changes of `[[at]]`.
    pub at: Vec<Spanned<At>>,
    source: Source,
    overrides: Overrides,
}

impl Parts {
    /// The parts of a scenario on a machine, of which flags may give and change everything.
    pub fn new(source: Source, machine: Option<Machine>, overrides: &Overrides) -> Result<Parts, Error> {
        let mut notes = Vec::new();
        let machine = overrides.machine(machine, &mut notes)?;
        Ok(Parts {
            title: None,
            seed: None,
            duration: None,
            window: None,
            machine,
            profile: None,
            workloads: Vec::new(),
            notes,
            groups: Groups::default(),
            sessions: Sessions::default(),
            sched_autogroup_enabled: false,
            at: Vec::new(),
            source,
            overrides: overrides.clone(),
        })
    }
    /// The parts of a workload that comes without a machine.
    pub fn of_workload(source: Source, workload: Workload, overrides: &Overrides) -> Result<Parts, Error> {
        let machine = Machine::preset(DEFAULT_MACHINE).map_err(|wrong| Error::input("--machine", "", wrong))?;
        let mut parts = Parts::new(source, Some(machine), overrides)?;
        if overrides.machine.is_none() {
            parts.notes.insert(0, no_value("machine", DEFAULT_MACHINE));
        }
        parts.duration = workload.duration;
        parts.workloads = vec![workload];
        Ok(parts)
    }
    /// How many CPUs a task may name. Where the machine itself is wrong, it is not held against the tasks that they do not fit.
    pub fn nr_cpus(&self) -> usize {
        self.machine.as_ref().map_or(CpuMask::CAPACITY, |machine| machine.cpus.len())
    }
    /// The scenario, with what flags say and with defaults for what nobody said; the defaults are noted.
    pub fn build(mut self) -> Result<Scenario, Error> {
        self.default_profile()?;
        if self.duration.is_none() && self.overrides.duration.is_none() {
            self.notes.push(no_value("duration", &DEFAULT_DURATION.to_string()));
            self.duration = Some(DEFAULT_DURATION);
        }
        self.settle()?;
        self.scenario()
    }
    /// Where nobody names a kernel it is the default one, and a note says so.
    pub(crate) fn default_profile(&mut self) -> Result<(), Error> {
        if self.profile.is_none() && self.overrides.profile.is_none() {
            let found = if let Some(name) = &self.overrides.else_profile {
                profile::named(name)
            } else {
                self.notes.push(no_value("profile", Profile::DEFAULT));
                Profile::parse(Profile::DEFAULT)
            };
            self.profile = Some(found.map_err(|wrong| Error::one("--profile", wrong.message, wrong.hint))?);
        }
        Ok(())
    }
    /// Applies the flags to all but the machine. The features that workloads set come before those of the flags.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        let (autogroup, of_profile) = self.overrides.split_autogroup()?;
        self.sched_autogroup_enabled = autogroup.unwrap_or(self.sched_autogroup_enabled);
        self.seed = self.overrides.seed.or(self.seed);
        self.duration = self.overrides.duration()?.or(self.duration);
        let profile = self.profile.take().map(|profile| workload_features(profile, &self.workloads)).transpose()?;
        self.profile = of_profile.profile(profile)?;
        Ok(())
    }
    /// The scenario of settled parts.
    pub(crate) fn scenario(mut self) -> Result<Scenario, Error> {
        let need = |what: &str| Error::one("command line", format!("no {what}"), format!("Give one with --{what}."));
        let machine = self.machine.take().ok_or_else(|| need("machine"))?;
        let profile = self.profile.take().ok_or_else(|| need("profile"))?;
        let duration = self.duration.ok_or_else(|| need("duration"))?;
        let mut wrong = Mistakes::default();
        check_duration(duration, None, &mut wrong);
        wrong.or(()).map_err(|wrong| Error::input("--duration", "", wrong))?;
        let tasks = merged(&self.groups, &self.workloads);
        let autogroups = self.autogroups(&tasks, &mut Mistakes::default());
        let mut notes = std::mem::take(&mut self.notes);
        notes.extend(self.workloads.iter().flat_map(|workload| workload.notes.iter().cloned()));
        notes.extend(never_started(&self.workloads, duration));
        notes.extend(autogroups.notes(self.sched_autogroup_enabled));
        notes.extend(group_states::never_stopped(&tasks, &profile));
        notes.extend(never_measured(self.window, &self.workloads, duration));
        notes.extend(slices::cut(&self.workloads, &self.at, &profile));
        notes.extend(profile.contradictions().map(str::to_string));
        Ok(Scenario {
            title: self.title.unwrap_or_else(|| self.source.name.clone()),
            seed: self.seed.unwrap_or(1),
            duration,
            window: self.window,
            machine,
            profile,
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
    /// The mistakes of its own text, and those of the files that it names.
    pub(crate) fn wrong(self, mistakes: Mistakes, files: Vec<FileMistakes>) -> Error {
        let of_text = mistakes.or(()).err();
        let mut all: Vec<FileMistakes> = of_text
            .map(|mistakes| FileMistakes { name: self.source.name, text: self.source.text, mistakes })
            .into_iter()
            .collect();
        all.extend(files);
        Error::Input(all)
    }
    pub(crate) fn autogroups(&self, tasks: &TaskSet, m: &mut Mistakes) -> Autogroups {
        Autogroups::new(self.sched_autogroup_enabled, &self.sessions, &self.groups, &self.workloads, tasks, m)
    }
}

/// The note on what nobody said.
fn no_value(what: &str, value: &str) -> String {
    format!("no {what} given: {value}")
}

const DEFAULT_MACHINE: &str = "smp-4";
const DEFAULT_DURATION: Ns = Ns::from_secs(10);

/// The profile with the features that workloads set before they start.
pub(crate) fn workload_features(profile: Profile, workloads: &[Workload]) -> Result<Profile, Error> {
    let mut writes = workloads.iter().flat_map(|workload| workload.features.iter().map(|write| (&workload.label, write)));
    writes.try_fold(profile, |profile, (label, write)| {
        profile.with_switch(*write).map_err(|wrong| Error::one(label.clone(), wrong.message, wrong.hint))
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
