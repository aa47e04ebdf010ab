//! The folder `system/` of recorded sets: the machine, the kernel, its features and tunables.

use crate::capacity;
use crate::kernel::version_of;
use crate::load;
use fairground_machine::machine::CAPACITY_SCALE;
use fairground_machine::{Imported, Machine, recorded};
use fairground_model::features::Feat;
use fairground_model::version::KernelVersion;
use fairground_scenario::{Error, Overrides, text_file::read_text};
use fairground_sched::profile::Profile;
use std::path::{Path, PathBuf};

/// The folder `system/` of a set, and the experiment's own.
pub struct System {
    system: PathBuf,
    experiment: PathBuf,
}

impl System {
    /// The folder of a set, or the one above it, must hold `system/`.
    pub fn find(folder: &Path) -> Result<System, Error> {
        let full = folder.canonicalize().map_err(|cause| Error::world("read", folder, cause))?;
        let places = [Some(full.join("system")), full.parent().map(|parent| parent.join("system"))];
        let found = places.into_iter().flatten().find(|place| place.is_dir());
        found.map(|system| System { system, experiment: full }).ok_or_else(|| {
            let message = "there is no folder `system` in it or beside it";
            Error::one(
                folder.display().to_string(),
                message,
                "Give --machine and --profile, or add `system/` with topology.txt and uname.txt.",
            )
        })
    }
    fn text(&self, name: &str) -> Result<(String, String), Error> {
        let path = self.system.join(name);
        Ok((path.display().to_string(), read_text(&path)?))
    }
    /// Reads a file that not every set has.
    fn optional(&self, name: &str) -> Result<String, Error> {
        if self.system.join(name).is_file() { Ok(self.text(name)?.1) } else { Ok(String::new()) }
    }
    fn topology(&self) -> Result<Imported, Error> {
        let (name, text) = self.text("topology.txt")?;
        recorded::parse_topology(&text).map_err(|wrong| Error::input(name, text.clone(), wrong))
    }
    /// The recorded machine. What was assumed about it is added to `notes`. Of the flags only `--capacities` counts: it goes
    /// before whatever else tells capacities that the topology does not tell.
    pub fn machine(&self, flags: &Overrides, notes: &mut Vec<String>) -> Result<Machine, Error> {
        let imported = self.topology()?;
        notes.extend(imported.notes);
        let mut machine = imported.machine;
        let is_asymmetric = recorded::has_asymmetric_capacity(&self.optional("debug_sched.txt")?);
        if is_asymmetric && machine.cpus.iter().all(|cpu| cpu.capacity == CAPACITY_SCALE) {
            let flag = flags.capacities().map_err(|wrong| Error::input("command line", "", wrong))?;
            let rows = load::read(&self.experiment)?.unwrap_or_default();
            notes.push(capacity::find(&mut machine, &flag, &rows, &self.family()));
        }
        Ok(machine)
    }
    /// The name of the folder above the experiment: `k6.12-hogs-1cpu`.
    fn family(&self) -> String {
        let above = self.experiment.parent().and_then(Path::file_name);
        above.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }
    /// The kernel's version and the file that tells it.
    fn kernel(&self) -> Result<(String, String), Error> {
        let (name, text) = self.text("uname.txt")?;
        match kernel_version(&text) {
            Some(version) => Ok((name, version)),
            None => {
                let message = format!("no kernel version in `{}`", text.trim());
                Err(Error::one(name, message, "The third word of uname -a is the version."))
            }
        }
    }
    /// The version in `uname.txt`.
    pub fn version(&self) -> Result<KernelVersion, Error> {
        let (name, version) = self.kernel()?;
        KernelVersion::parse(&version)
            .ok_or_else(|| Error::one(name, format!("`{version}` is no kernel version"), "As in v6.12."))
    }
    /// The recorded kernel with its features and tunables. What is not modelled of them is added to `notes`.
    pub fn profile(&self, notes: &mut Vec<String>) -> Result<Profile, Error> {
        let cpus = u32::try_from(self.topology()?.machine.cpus.len()).unwrap_or(u32::MAX);
        let (name, version) = self.kernel()?;
        let wrong = |message: String, hint: String| Error::one(name.clone(), message, hint);
        let mut profile = Profile::parse(&version).map_err(|error| wrong(error.message, error.hint))?;
        let debug = self.optional("debug_sched.txt")?;
        profile = with_features(profile, &debug, notes);
        Ok(with_tunables(profile, cpus, &[debug, self.optional("sysctl.txt")?], notes))
    }
}

/// `v5.10` from `Linux (none) 5.10.0-32-cloud-amd64 #1 …`.
fn kernel_version(uname: &str) -> Option<String> {
    let mut words = uname.split_whitespace().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    words.find_map(version_of).map(|version| version.to_string())
}

/// The features as debugfs shows them; those that the profile does not know are noted.
pub(crate) fn with_features(mut profile: Profile, debug: &str, notes: &mut Vec<String>) -> Profile {
    let Some(line) = debug.lines().map(|line| line.trim_start_matches("./features:")).find(|line| is_feature_line(line)) else {
        return profile;
    };
    let mut unknown = Vec::new();
    for word in line.split_whitespace() {
        match profile.clone().with_feature(word) {
            Ok(changed) => profile = changed,
            Err(_) => unknown.push(word),
        }
    }
    if !unknown.is_empty() {
        notes.push(format!("features that {} does not have are left out: {}", profile.name, unknown.join(" ")));
    }
    profile
}

fn is_feature_line(line: &str) -> bool {
    let known = |word: &str| Feat::by_name(word.strip_prefix("NO_").unwrap_or(word)).is_some();
    line.split_whitespace().next().is_some_and(known)
}

/// Tunables of `debug/sched` (`./latency_ns: 6000000`) and of sysctl (`/proc/sys/kernel/sched_latency_ns: …`).
/// The values are those that held on the machine, so nothing is scaled again; those that this kernel has on so
/// many CPUs anyway change nothing. What has no model is left out.
pub(crate) fn with_tunables(mut profile: Profile, cpus: u32, texts: &[String], notes: &mut Vec<String>) -> Profile {
    let mut left_out = Vec::new();
    for line in texts.iter().flat_map(|text| text.lines()) {
        let Some((path, value)) = line.split_once(':') else { continue };
        let name = path.rsplit('/').next().unwrap_or(path).trim();
        let is_tunable = name.ends_with("_ns") || name.ends_with("child_runs_first");
        if !is_tunable || value.trim().is_empty() {
            continue;
        }
        match profile.clone().with_tunable(name, value.trim()) {
            Ok(changed) if changed.tunables.at(cpus) == profile.tunables.at(cpus) => {}
            Ok(changed) => profile = changed,
            Err(_) => left_out.push(name.to_string()),
        }
    }
    if !left_out.is_empty() {
        notes.push(format!("tunables that have no model are left out: {}", left_out.join(" ")));
    }
    profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_features_and_tunables_are_read() {
        assert_eq!(kernel_version("Linux (none) 5.10.0-32-cloud-amd64 #1 SMP Debian 5.10.223-1").as_deref(), Some("v5.10"));
        assert_eq!(kernel_version("Linux h 6.12.107+deb13 x"), Some("v6.12".to_string()));
        assert_eq!(kernel_version("Linux"), None);
        let base = Profile::parse("v6.1").unwrap();
        let mut notes = Vec::new();
        let profile =
            with_features(base.clone(), "./latency_ns: 3\n./features: NO_START_DEBIT NEXT_BUDDY NO_SUCH_THING \n", &mut notes);
        assert_eq!(base.diff(&profile).len(), 2);
        assert!(notes[0].contains("NO_SUCH_THING"));
        let texts = ["./latency_ns: 24000000 \n./numa_balancing/scan_delay_ms: 1000\n".to_string()];
        let tuned = with_tunables(base.clone(), 1, &texts, &mut Vec::new());
        assert_eq!(base.diff(&tuned)[0].to.value, "24000000");
        // That is what the kernel has on eight CPUs without being told.
        assert_eq!(with_tunables(base.clone(), 8, &texts, &mut Vec::new()), base);
    }
}
