//! What flags change of a scenario: profile, features, settings, machine, seed, duration.

use crate::error::Error;
use crate::nouns::autogroup::{self, SCHED_AUTOGROUP_ENABLED};
use crate::nouns::capacities::Capacities;
use crate::nouns::machine;
use crate::nouns::profile;
use crate::text_file::Texts;
use fairground_machine::Machine;
use fairground_model::Mistakes;
use fairground_sched::profile::{Profile, ProfileError};
use fairground_stdx::{Ns, units};

/// Changes to a scenario, as flags say them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overrides {
    /// `--profile`: the kernel to take instead. What the input sets of its own profile is kept, or refused if this kernel lacks it.
    pub profile: Option<String>,
    /// The kernel that is taken where neither the input nor a flag names one; none: the default one, with a note. A comparison gives its
    /// baseline's, so that the input's settings are held against that.
    pub else_profile: Option<String>,
    /// `--feature`: features as debugfs spells them.
    pub features: Vec<String>,
    /// `--set NAME=VALUE`: a tunable or a seam of the profile, or `machine.KEY=VALUE`.
    pub set: Vec<String>,
    /// `--machine`: a preset, a machine file, an lstopo file or an hwloc synthetic string.
    pub machine: Option<String>,
    /// `--capacities`: capacities of CPUs, such as `0-3=512,4-7=1024`.
    pub capacities: Option<String>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--duration`, with its unit.
    pub duration: Option<String>,
    /// Texts that are taken instead of the files of these paths; no flag.
    pub texts: Texts,
}

impl Overrides {
    /// What they say of autogroups, and all the rest: autogroups are no part of a profile.
    pub(super) fn split_autogroup(&self) -> Result<(Option<bool>, Overrides), Error> {
        let is_sysctl = |text: &&String| text.split_once('=').is_some_and(|row| row.0.trim() == SCHED_AUTOGROUP_ENABLED);
        let (said, set): (Vec<&String>, Vec<&String>) = self.set.iter().partition(is_sysctl);
        let rest = Overrides { set: set.into_iter().cloned().collect(), ..self.clone() };
        let value = said.last().and_then(|text| text.split_once('=')).map(|row| autogroup::enabled(row.1.trim()));
        match value.transpose() {
            Ok(value) => Ok((value, rest)),
            Err((message, hint)) => Err(Error::one("command line", format!("--set: {message}"), hint)),
        }
    }
    /// The profile after all changes; every wrong flag is reported.
    pub fn profile(&self, base: Option<Profile>) -> Result<Option<Profile>, Error> {
        let mut wrong = Mistakes::default();
        let mut current = base;
        if let Some(name) = &self.profile {
            // What the input sets beside its kernel stays: nobody asked to drop it.
            let kept = |profile: Profile| current.as_ref().map_or(Ok(profile.clone()), |base| profile.with_settings_of(base));
            current = keep(profile::named(name).and_then(kept), "--profile", &mut wrong).or(current);
        }
        for name in &self.features {
            let Some(profile) = current.clone() else { break };
            current = keep(profile.with_feature(name), "--feature", &mut wrong).or(current);
        }
        let settings: Vec<(&str, &str)> =
            self.settings(&mut wrong).into_iter().filter(|row| !row.0.starts_with(machine::PREFIX)).collect();
        if let Some(profile) = current.clone() {
            current = keep(profile::with_settings(profile, &settings), "--set", &mut wrong).or(current);
        }
        finish(current, wrong)
    }
    /// The machine after all changes. What was assumed about one of another program's description is added to `notes`.
    pub fn machine(&self, base: Option<Machine>, notes: &mut Vec<String>) -> Result<Option<Machine>, Error> {
        let mut current = base;
        if let Some(text) = &self.machine {
            current = Some(machine::from_flag(text, &self.texts, notes)?);
        }
        let mut wrong = Mistakes::default();
        for (key, value) in self.settings(&mut Mistakes::default()) {
            let Some(key) = key.strip_prefix(machine::PREFIX) else { continue };
            if let Some(machine) = current.take() {
                match machine::with_key(&machine, key, value) {
                    Ok(changed) => current = Some(changed),
                    Err(mistakes) => {
                        let named =
                            mistakes.0.into_iter().map(|row| (format!("--set machine.{key}={value}: {}", row.message), row.hint));
                        named.for_each(|(message, hint)| wrong.whole(message, hint));
                        current = Some(machine);
                    }
                }
            }
        }
        match (self.capacities(), &mut current) {
            (Ok(capacities), Some(machine)) => capacities.apply(machine, &mut wrong),
            (Ok(_), None) => {}
            (Err(mistakes), _) => wrong.0.extend(mistakes.0),
        }
        finish(current, wrong)
    }
    /// The capacities that the flag gives to CPUs.
    pub fn capacities(&self) -> Result<Capacities, Mistakes> {
        self.capacities.as_deref().map_or_else(|| Ok(Capacities::default()), Capacities::parse)
    }
    /// The duration, if a flag gives one.
    pub(super) fn duration(&self) -> Result<Option<Ns>, Error> {
        let Some(text) = &self.duration else { return Ok(None) };
        match units::parse_ns(text) {
            Ok(duration) => Ok(Some(duration)),
            Err(error) => {
                Err(Error::one("--duration", format!("`{text}`: {error}"), "Write it with its unit, as in `--duration 10s`."))
            }
        }
    }
    fn settings(&self, wrong: &mut Mistakes) -> Vec<(&str, &str)> {
        let mut rows = Vec::new();
        for text in &self.set {
            match text.split_once('=') {
                Some((name, value)) => rows.push((name.trim(), value.trim())),
                None => wrong.whole(
                    format!("--set {text}: no value"),
                    "Write `--set NAME=VALUE`, as in `--set sched_latency_ns=24000000`.",
                ),
            }
        }
        rows
    }
}

fn keep(found: Result<Profile, ProfileError>, flag: &str, wrong: &mut Mistakes) -> Option<Profile> {
    found.map_err(|error| wrong.whole(format!("{flag}: {}", error.message), error.hint)).ok()
}

fn finish<T>(value: T, wrong: Mistakes) -> Result<T, Error> {
    wrong.or(value).map_err(|mistakes| Error::input("command line", "", mistakes))
}
