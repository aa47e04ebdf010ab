//! `conform`: decision by decision, does the model do what the recorded kernel did?

use crate::control::Control;
use crate::error::Error;
use crate::guard;
use crate::recorded_set::System;
use crate::scenario::Overrides;
use crate::trace_file;
use fairground_conform::{Lockstep, Outcome, Recording, Setup};
use fairground_formats::ImportStats;
use fairground_machine::Machine;
use fairground_model::TaskInfo;
use fairground_sched::Profile;
use fairground_sched::profile::KnownKind;
use fairground_stdx::{IndexVec, TaskId};
use std::path::Path;

/// Records walked through between two looks at the caller's flag.
const BATCH: usize = 4096;

/// What a comparison is made with.
#[derive(Clone, Debug, Default)]
pub struct ConformOptions {
    /// Flags that change profile and machine.
    pub overrides: Overrides,
    /// Disagreements to keep with their state, at least one.
    pub keep: usize,
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
    /// The tasks.
    pub tasks: IndexVec<TaskId, TaskInfo>,
    /// What came out.
    pub outcome: Outcome,
    /// What was assumed, and what was odd about the recording.
    pub notes: Vec<String>,
    /// Why a threshold says nothing about this recording, if so.
    pub no_threshold: Option<String>,
    /// Whether the caller stopped it.
    pub interrupted: bool,
}

/// Compares a trace, or the trace of a recorded set, with the model.
pub fn conform(path: &Path, options: &ConformOptions, control: Control<'_>) -> Result<Conformance, Error> {
    let source = trace_file::open(path)?;
    let (name, digest) = (source.name.clone(), source.digest);
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let system = System::find(folder).ok();
    let mut recording = Recording::default();
    let stats = source.read_into(&mut recording)?;
    let mut notes = import_notes(&name, &stats);
    let machine = machine_of(options, system.as_ref(), recording.nr_cpus(), &mut notes)?;
    let mut no_threshold = None;
    let profile = profile_of(options, system.as_ref(), &name, &mut notes, &mut no_threshold)?;
    let setup = Setup {
        profile: profile.clone(),
        machine: machine.view(),
        tick: system.is_some().then_some(machine.tick),
        keep: options.keep.max(1),
    };
    let walked = guard::catch(|| {
        let mut lockstep = Lockstep::new(&recording, &setup);
        while !control.stopped() && lockstep.advance(BATCH) < lockstep.len() {
            control.at(0, lockstep.len() as u64);
        }
        lockstep.finish()
    });
    let outcome = walked.map_err(|broken| Error::Broken(Box::new(broken)))?;
    let interrupted = outcome.records < recording.records.len() as u64;
    Ok(Conformance {
        name,
        digest,
        profile: profile.name.clone(),
        tasks: recording.tasks,
        outcome,
        notes,
        no_threshold,
        interrupted,
    })
}

fn import_notes(name: &str, stats: &ImportStats) -> Vec<String> {
    let mut notes: Vec<String> = stats.warnings().map(|note| format!("Warning: {note}")).collect();
    notes.push(format!("{name}: {} events read as {}, {} not used", stats.events, stats.format, stats.not_used));
    notes
}

fn machine_of(
    options: &ConformOptions,
    system: Option<&System>,
    nr_cpus: usize,
    notes: &mut Vec<String>,
) -> Result<Machine, Error> {
    let recorded = system.map(|system| system.machine(notes)).transpose()?;
    let machine = match recorded.filter(|machine| machine.cpus.len() >= nr_cpus) {
        Some(machine) => machine,
        None => {
            let name = format!("smp-{}", nr_cpus.max(1));
            notes.push(format!("no machine given: {name}, after the CPUs that the recording names"));
            Machine::preset(&name).map_err(|wrong| Error::input("--machine", "", wrong))?
        }
    };
    Ok(options.overrides.machine(Some(machine.clone()))?.filter(|changed| changed.cpus.len() >= nr_cpus).unwrap_or(machine))
}

fn profile_of(
    options: &ConformOptions,
    system: Option<&System>,
    name: &str,
    notes: &mut Vec<String>,
    no_threshold: &mut Option<String>,
) -> Result<Profile, Error> {
    let recorded = match system.map(|system| system.profile(&mut Vec::new())) {
        _ if options.overrides.profile.is_some() => None,
        Some(Ok(_)) => system.map(|system| system.profile(notes)).transpose()?,
        Some(Err(error)) => {
            let latest = latest_kernel();
            let why = format!("profile {latest} instead of the recorded kernel's: {error}");
            notes.push(why.clone());
            *no_threshold = Some(why);
            Some(Profile::parse(&latest).map_err(|wrong| Error::one("--profile", wrong.message, wrong.hint))?)
        }
        None => None,
    };
    options.overrides.profile(recorded)?.ok_or_else(|| {
        let message = "the recording does not tell its kernel";
        Error::one(name.to_string(), message, "Give it with --profile, such as `--profile v6.12`.")
    })
}

/// The latest kernel that is modelled: the nearest to recorded ones that are not.
fn latest_kernel() -> String {
    let known = Profile::known().into_iter();
    let latest = known.rev().find(|known| known.kind == KnownKind::Modelled && !known.name.contains('+'));
    latest.map_or_else(|| crate::scenario::DEFAULT_PROFILE.to_string(), |known| known.name)
}
