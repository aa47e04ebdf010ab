//! The description of a set: `recorded.toml` says how it was recorded, `README.md` and `system/` what was recorded.

use super::kernel::BUILDS;
use std::fs;
use std::path::Path;
use toml_edit::{Document, Item};

/// What a set's `recorded.toml` holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct How {
    pub(super) package: String,
    pub(super) version: String,
    /// As QEMU's `-smp` has it.
    pub(super) machine: String,
    pub(super) experiments: Vec<String>,
    /// By how many ms the start of each run is moved.
    pub(super) starts: Vec<String>,
}

/// The head of the table of experiments; `write_set.py` prints the rows.
const TABLE: &str = "| experiment | tasks | window ms | switches | migrations | slice p50 us | max wait ms | lost events |
|---|---|---|---|---|---|---|---|";

impl How {
    /// Reads a set's `recorded.toml`.
    pub(super) fn read(set: &Path) -> Result<How, String> {
        let path = set.join("recorded.toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let file: Document<String> = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
        let lacks = |key: &str| format!("{}: `{key}` is missing or no text", path.display());
        let word = |key: &str| file.get(key).and_then(Item::as_str).map(str::to_string).ok_or_else(|| lacks(key));
        if let Ok(by_hand) = word("by_hand") {
            return Err(format!("{} was not recorded by this command: {by_hand}", set.display()));
        }
        let words = |key: &str| {
            let array = file.get(key).and_then(Item::as_array).ok_or_else(|| lacks(key))?;
            array.iter().map(|value| value.as_str().map(str::to_string).ok_or_else(|| lacks(key))).collect::<Result<Vec<_>, _>>()
        };
        Ok(How {
            package: word("package")?,
            version: word("version")?,
            machine: word("smp")?,
            experiments: words("experiments")?,
            starts: if file.contains_key("starts_ms") { words("starts_ms")? } else { vec!["0".to_string()] },
        })
    }

    /// Fails where an experiment has no file, or asks for what the guest does not have.
    pub(super) fn check(&self, root: &Path) -> Result<(), String> {
        self.experiments.iter().try_for_each(|name| self.check_experiment(root, name))
    }

    fn check_experiment(&self, root: &Path, name: &str) -> Result<(), String> {
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let file = root.join("recordings/rig/experiments").join(format!("{name}.sh"));
        let text = fs::read_to_string(file).ok().filter(|_| is_word).ok_or_else(|| {
            format!("`{name}` is no file of recordings/rig/experiments: put NAME.sh there, so that the set can name it")
        })?;
        if text.contains("_probes") && !BUILDS.iter().any(|build| build.1 == self.package) {
            let told =
                "probes read fields of structs, whose offsets recordings/rig/guest/rig.sh has for the builds of --help only";
            return Err(format!("{name} does not fit {}: {told}", self.package));
        }
        Ok(())
    }

    /// Fails where an experiment runs a program that this recorder does not put into the guest.
    pub(super) fn check_programs(&self, root: &Path) -> Result<(), String> {
        let runs_it = |name: &&String| {
            let file = root.join("recordings/rig/experiments").join(format!("{name}.sh"));
            fs::read_to_string(file).is_ok_and(|text| text.contains("hackbench"))
        };
        let told =
            "runs hackbench, which is not in the guest: put a static one of rt-tests into the initrd (recordings/rig/README.md)";
        self.experiments.iter().find(runs_it).map_or(Ok(()), |name| Err(format!("{name} {told}")))
    }

    fn text(&self, version: &str) -> String {
        let list = |words: &[String]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        format!(
            "# How this set was recorded. `cargo xtask record --again` on this folder records it anew.\npackage = {:?}\nversion = {version:?}\n\
             smp = {:?}\nexperiments = [{}] # files of recordings/rig/experiments\nstarts_ms = [{}]\n",
            self.package,
            self.machine,
            list(&self.experiments),
            list(&self.starts)
        )
    }
}

/// Copies topology, features, tunables, boot line and version as the guest wrote them.
pub(super) fn write_system(guest: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let files = [
        ("uname", "uname.txt"),
        ("cmdline", "cmdline.txt"),
        ("debug_sched.txt", "debug_sched.txt"),
        ("sysctl.txt", "sysctl.txt"),
        ("topology.txt", "topology.txt"),
    ];
    for (from, name) in files {
        let path = guest.join(from);
        let mut text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if name == "cmdline.txt" {
            let is_kept = |word: &&str| !word.starts_with("exp=") && !word.starts_with("jit=");
            text = text.split_whitespace().filter(is_kept).collect::<Vec<_>>().join(" ") + "\n";
        }
        fs::write(to.join(name), text).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

/// Writes `recorded.toml` and `README.md` of a new set.
pub(super) fn describe(how: &How, out: &Path, rows: &str, title: &str) -> Result<(), String> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let uname = read(&out.join("system/uname.txt"))?;
    let version = version(&uname).unwrap_or(&how.version);
    let mut page = format!(
        "# {title}\n\nKernel: {} {version}, `{}`.\nMachine: `-smp {}` of the emulator that `../ORACLE.md` describes; `system/` has its topology, domains, features and sysctl values.\n\
         `recorded.toml` says how the set was recorded; `cargo xtask record --again` records it anew.\n\n\
         Each experiment was run {} times, with the start moved by {} ms. The first run is the record. The others are under `variants` in\n`summary.json`, and widen the limits in `expect`.\n\n{TABLE}\n{rows}\nWorkloads:\n\n```\n",
        how.package,
        uname.trim(),
        how.machine,
        how.starts.len(),
        how.starts.join(", "),
    );
    for experiment in &how.experiments {
        page += &format!("# {experiment}\n{}", read(&out.join(experiment).join("workload.txt"))?);
    }
    page += "```\n";
    for (name, text) in [("README.md", page), ("recorded.toml", how.text(version))] {
        fs::write(out.join(name), text).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    Ok(())
}

/// The version of the package in `… SMP Debian 6.12.107-1 (2026-08-29) x86_64 …`.
fn version(uname: &str) -> Option<&str> {
    uname.split(" Debian ").nth(1)?.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::super::boot::BOOT_LINE;
    use super::*;
    use std::path::PathBuf;

    fn sets() -> Vec<PathBuf> {
        let folder = crate::root().join("recordings");
        let mut found: Vec<PathBuf> = folder.read_dir().unwrap().flatten().map(|entry| entry.path()).collect();
        found.retain(|path| path.is_dir() && !path.ends_with("rig"));
        found.sort();
        assert!(found.len() > 50, "{} sets", found.len());
        found
    }

    /// The commands of an experiment's file without those that only serve recording.
    fn commands(text: &str) -> Vec<String> {
        let serves = |line: &str| {
            line.is_empty()
                || ["pelt_probes", "bw_probes", "trace_off", "echo > $T/kprobe_events"].contains(&line)
                || line.starts_with("sleep ")
        };
        text.lines().map(str::trim).filter(|line| !serves(line)).map(str::to_string).collect()
    }

    /// "How was k6.12-press-8cpu recorded?" has an answer in the tree, and it is the true one.
    #[test]
    fn each_set_says_how_it_was_recorded_and_its_files_agree() {
        let root = crate::root();
        let mut by_hand = Vec::new();
        for set in sets() {
            let name = set.file_name().unwrap().to_string_lossy().into_owned();
            let how = match How::read(&set) {
                Ok(how) => how,
                Err(told) if told.contains("was not recorded by this command") => {
                    by_hand.push(name);
                    continue;
                }
                Err(wrong) => panic!("{wrong}"),
            };
            how.check(&root).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
            let read = |file: &str| fs::read_to_string(set.join(file)).unwrap_or_else(|error| panic!("{name}/{file}: {error}"));
            assert_eq!(read("system/cmdline.txt").trim(), BOOT_LINE, "{name}");
            let uname = read("system/uname.txt");
            assert_eq!(version(&uname), Some(how.version.as_str()), "{name}");
            assert!(uname.contains(how.package.strip_prefix("linux-image-").unwrap()), "{name}");
            assert!(how.machine.starts_with(&format!("{},", read("system/topology.txt").lines().count())), "{name}");
            let mut folders: Vec<String> = set
                .read_dir()
                .unwrap()
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.join("workload.txt").is_file())
                .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
                .collect();
            folders.sort();
            assert_eq!(folders, how.experiments, "{name}");
            for experiment in &how.experiments {
                let file = fs::read_to_string(root.join("recordings/rig/experiments").join(format!("{experiment}.sh"))).unwrap();
                assert_eq!(commands(&file), commands(&read(&format!("{experiment}/workload.txt"))), "{name}/{experiment}");
            }
        }
        assert_eq!(by_hand, ["karm6.1-asym-4half-4full", "karm6.1-pelt-4half-4full", "real6.18-2cpu"]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let words = |list: &[&str]| list.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let how = How {
            package: "linux-image-x".into(),
            version: "1-1".into(),
            machine: "2,sockets=1,cores=2,threads=1".into(),
            experiments: words(&["a_3on2", "g_w13_2"]),
            starts: words(&["0", "101.3"]),
        };
        let folder = crate::root().join("target/tmp-record-test");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("recorded.toml"), how.text("1-1")).unwrap();
        assert_eq!(How::read(&folder), Ok(how));
        fs::remove_dir_all(&folder).unwrap();
    }
}
