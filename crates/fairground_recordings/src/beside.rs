//! What lies beside a recording in its container: the machine, the kernel, groups, and what tasks were given.

use crate::kernel::profile_of_release;
use crate::system::{with_features, with_tunables};
use fairground_formats::fgr::Container;
use fairground_machine::{Machine, machine_file};
use fairground_model::{TaskInfo, TaskSpec};
use fairground_sched::Profile;
use fairground_stdx::{IndexVec, ProgramId, TaskId};
use std::collections::BTreeSet;

/// The machine of a container, if it has at least the CPUs that the recording names. One that is not read is noted.
pub fn machine_of(container: &Container, nr_cpus: usize, notes: &mut Vec<String>) -> Option<Machine> {
    let text = &container.beginning()?.machine;
    if text.is_empty() {
        return None;
    }
    match machine_file::parse(text) {
        Ok(machine) if machine.cpus.len() >= nr_cpus => {
            let tells_hz = container.beginning().is_some_and(|snapshot| snapshot.host.hz.is_some());
            let guessed = if tells_hz { "" } else { ", which was not readable and is a guess" };
            notes.push(format!("the machine is that of the recording: {} CPUs, HZ {}{guessed}", machine.cpus.len(), machine.hz));
            Some(machine)
        }
        Ok(machine) => {
            notes.push(format!(
                "the machine beside the recording has {} CPUs, and the recording names {nr_cpus}: it is not used",
                machine.cpus.len()
            ));
            None
        }
        Err(wrong) => {
            let why = wrong.0.first().map_or_else(String::new, |mistake| mistake.message.clone());
            notes.push(format!("the machine beside the recording is not read: {why}"));
            None
        }
    }
}

/// The kernel of a container: that of its release, with the features, tunables and the preemption that were in force.
pub fn profile_of(container: &Container, release: Option<&str>, cpus: usize, notes: &mut Vec<String>) -> Option<Profile> {
    let profile = profile_of_release(release?, notes)?;
    Some(settled(profile, container, cpus, notes))
}

/// A profile with what the host tells of its kernel.
pub(crate) fn settled(profile: Profile, container: &Container, cpus: usize, notes: &mut Vec<String>) -> Profile {
    let Some(host) = container.beginning().map(|snapshot| &snapshot.host) else { return profile };
    let profile = with_features(profile, &host.features.join(" "), notes);
    let tunables: String = host.tunables.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let profile = with_tunables(profile, u32::try_from(cpus).unwrap_or(u32::MAX), &[tunables], notes);
    let Some(model) = host.preempt_in_force.as_ref().or(host.preempt.as_ref()) else { return profile };
    match profile.clone().with_seam("preemption", model) {
        Ok(changed) => changed,
        Err(_) => {
            notes.push(format!("preemption `{model}` is not modelled in {}: left as it is there", profile.name));
            profile
        }
    }
}

/// The tasks of a recording that were given something when it began, as they begin then.
pub(crate) fn specs(container: &Container, tasks: &IndexVec<TaskId, TaskInfo>) -> Vec<(TaskId, TaskSpec)> {
    let Some(begin) = container.beginning() else { return Vec::new() };
    let settings = begin.settings();
    let mut seen = BTreeSet::new();
    let mut specs = Vec::new();
    for (id, info) in tasks.iter_enumerated() {
        // An id that comes again is of another task.
        let Some(given) = settings.get(&info.pid).filter(|_| seen.insert(info.pid)) else { continue };
        let spec = TaskSpec {
            policy: given.policy.unwrap_or_default(),
            slice: given.slice,
            clamp: given.clamp,
            affinity: given.affinity,
            ..TaskSpec::new(info.name.clone(), ProgramId::new(0))
        };
        specs.push((id, spec));
    }
    specs
}
