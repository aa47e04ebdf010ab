//! `cargo xtask record`: boots a stock kernel in an emulator, runs experiments in it and writes a recorded set.
//!
//! What the emulated machine is and how to read a set: recordings/ORACLE.md. Needs programs of Debian, which `--install` installs.

mod boot;
mod kernel;
mod set;

use crate::steps::succeeds;
use kernel::Kernel;
use set::How;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HELP: &str = "\
Records a set: boots a stock Debian kernel in QEMU with virtual time, runs experiments, writes their traces and figures.

cargo xtask record --kernel KERNEL --cpus CPUS --experiment NAME... --out recordings/SET
cargo xtask record --again recordings/SET
cargo xtask record --install

  --kernel KERNEL    5.10, 6.1, 6.12, 6.18 or 7.2: the build that the sets of that version were recorded with; or the name of a
                     package, as in linux-image-6.17.13+deb13-cloud-amd64. Probes (sets b_ and f_) fit the former only
  --cpus CPUS        a number of CPUs that share a cache, or PACKAGESxCORESxTHREADS: 8, 2x4x1, 1x4x2
  --experiment NAME  a file of recordings/rig/experiments, without .sh; may be given several times. Each has a boot of its own
  --out FOLDER       the new set, a folder that does not exist yet. Call it k<version>-<family>: the name tells readers the kernel
  --title TEXT       the first line of its README.md
  --starts MS,...    boots per experiment, each with the start moved by so many ms: the limits of the figures come from their
                     spread. Default 0,101.3,202.7
  --again SET        records a set of this tree anew, once, into target/record, and holds its figures against the set's limits
  --install          installs what is needed, by apt-get, as root (recordings/rig/install.sh)

One boot takes 20 to 60 s on a free CPU. Kernels are downloaded once, by apt-get, and unpacked into target/record.
";

/// The program that turns guest output into a set.
const WRITE_SET: &str = "recordings/rig/write_set.py";

/// What the command line asks for.
#[derive(Default, Debug, PartialEq, Eq)]
struct Wanted {
    kernel: Option<String>,
    cpus: Option<String>,
    experiments: Vec<String>,
    out: Option<PathBuf>,
    title: Option<String>,
    starts: Option<String>,
    again: Option<PathBuf>,
    install: bool,
    help: bool,
}

/// `cargo xtask record`.
pub(crate) fn run(root: &Path) -> bool {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let result = parse(&arguments).and_then(|wanted| act(root, wanted));
    if let Err(message) = &result {
        eprintln!("{message}");
    }
    result.is_ok()
}

/// A step of the night: the set that this recorder wrote, recorded anew.
pub(crate) fn again(root: &Path) -> bool {
    let result = record_again(root, Path::new("recordings/k6.12-weights-2cpu"));
    if let Err(message) = &result {
        eprintln!("{message}");
    }
    result.is_ok()
}

fn parse(arguments: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted { help: arguments.is_empty(), ..Wanted::default() };
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("{flag} needs a value: see cargo xtask record --help"));
        match flag.as_str() {
            "--kernel" => wanted.kernel = Some(value()?),
            "--cpus" => wanted.cpus = Some(value()?),
            "--experiment" => wanted.experiments.push(value()?),
            "--out" => wanted.out = Some(value()?.into()),
            "--title" => wanted.title = Some(value()?),
            "--starts" => wanted.starts = Some(value()?),
            "--again" => wanted.again = Some(value()?.into()),
            "--install" => wanted.install = true,
            "--help" | "-h" => wanted.help = true,
            unknown => return Err(format!("unknown flag {unknown}: see cargo xtask record --help")),
        }
    }
    Ok(wanted)
}

fn act(root: &Path, wanted: Wanted) -> Result<(), String> {
    if wanted.help {
        print!("{HELP}");
        return Ok(());
    }
    if wanted.install {
        return passes("the installation", Command::new("sh").arg(root.join("recordings/rig/install.sh")));
    }
    if let Some(set) = wanted.again {
        return record_again(root, &set);
    }
    let missing = |what: &str| format!("{what} is missing: see cargo xtask record --help");
    let kernel = Kernel::named(&wanted.kernel.ok_or_else(|| missing("--kernel"))?)?;
    let machine = boot::smp(&wanted.cpus.ok_or_else(|| missing("--cpus"))?)?;
    let out = wanted.out.ok_or_else(|| missing("--out"))?;
    if wanted.experiments.is_empty() {
        return Err(missing("--experiment"));
    }
    if out.exists() {
        return Err(format!("{} exists: a set is never written over", out.display()));
    }
    let starts = wanted.starts.unwrap_or_else(|| "0,101.3,202.7".to_string());
    let starts = starts.split(',').map(start).collect::<Result<Vec<_>, _>>()?;
    let how = How { package: kernel.package, version: kernel.version, machine, experiments: wanted.experiments, starts };
    how.check(root)?;
    let rows = record(root, &how, &out)?;
    set::describe(&how, &out, &rows, &wanted.title.unwrap_or_else(|| "Recorded experiments".to_string()))?;
    eprintln!("{} is a set: try `fairground conform {}`", out.display(), out.join(&how.experiments[0]).display());
    Ok(())
}

/// By how many ms the start of a run is moved.
fn start(text: &str) -> Result<String, String> {
    let is_ms = text.parse::<f64>().is_ok_and(|ms| (0.0..10_000.0).contains(&ms));
    is_ms.then(|| text.to_string()).ok_or_else(|| format!("--starts: `{text}` is no number of ms from 0 to 10000"))
}

/// Runs all experiments, writes their folders and `system/`. Returns a row of figures for each.
fn record(root: &Path, how: &How, out: &Path) -> Result<String, String> {
    how.check_programs(root)?;
    boot::needs()?;
    let place = root.join("target/record");
    let kernel = kernel::fetched(root, &place, &how.package, &how.version)?;
    let mut rows = String::new();
    let emulated = boot::Machine::new(root, &place, &kernel, &how.machine)?;
    for (index, experiment) in how.experiments.iter().enumerate() {
        let mut runs = Vec::new();
        for start in &how.starts {
            eprintln!("{experiment}, start {start} ms: booting {}", how.package);
            runs.push(emulated.run(experiment, start)?);
        }
        let folder = out.join(experiment);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        rows += &told(Command::new("python3").arg(root.join(WRITE_SET)).arg(&folder).args(&runs))?;
        if index == 0 {
            set::write_system(&runs[0].join("out/sys"), &out.join("system"))?;
        }
    }
    Ok(rows)
}

/// Records a set of the tree once more and holds the figures against its limits.
fn record_again(root: &Path, set: &Path) -> Result<(), String> {
    let how = How { starts: vec!["0".to_string()], ..How::read(&root.join(set))? };
    how.check(root)?;
    let name = set.file_name().ok_or_else(|| format!("{} is no set", set.display()))?;
    let anew = root.join("target/record/again").join(name);
    if anew.exists() {
        std::fs::remove_dir_all(&anew).map_err(|error| format!("{}: {error}", anew.display()))?;
    }
    record(root, &how, &anew)?;
    let inside = how.experiments.iter().filter(|experiment| {
        let folders = [anew.join(experiment), root.join(set).join(experiment)];
        succeeds(Command::new("python3").arg(root.join(WRITE_SET)).arg("--check").args(folders))
    });
    match how.experiments.len() - inside.count() {
        0 => Ok(()),
        differing => {
            Err(format!("{differing} of {} experiments lie outside the limits of {}", how.experiments.len(), set.display()))
        }
    }
}

/// What a command that must succeed writes to stdout.
fn told(command: &mut Command) -> Result<String, String> {
    let ended = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    if ended.status.success() { Ok(text) } else { Err(format!("{command:?} failed: {text}")) }
}

/// Runs a command that must succeed.
fn passes(what: &str, command: &mut Command) -> Result<(), String> {
    if succeeds(command) { Ok(()) } else { Err(format!("{what} failed: {command:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Wanted, String> {
        parse(&line.split_whitespace().map(str::to_string).collect::<Vec<_>>())
    }

    fn refused(line: &str) -> String {
        act(&crate::root(), parsed(line).unwrap()).unwrap_err()
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        assert!(parsed("--kernal 6.12").unwrap_err().contains("unknown flag --kernal"));
        assert!(parsed("--kernel").unwrap_err().contains("--kernel needs a value"));
        assert!(refused("--cpus 8").contains("--kernel is missing"));
        assert!(refused("--kernel 4.4 --cpus 8").contains("5.10, 6.1, 6.12, 6.18, 7.2"));
        assert!(refused("--kernel 6.12 --cpus 8").contains("--out is missing"));
        assert!(refused("--kernel 6.12 --cpus 0 --out x").contains("--cpus: `0`"));
        assert!(refused("--kernel 6.12 --cpus 8 --out x").contains("--experiment is missing"));
        assert!(
            refused("--kernel 6.12 --cpus 8 --out x --experiment ../up")
                .contains("`../up` is no file of recordings/rig/experiments")
        );
        assert!(refused("--kernel 6.12 --cpus 8 --out x --experiment a_3on2 --starts 1,x").contains("`x` is no number of ms"));
        let other = "--kernel linux-image-6.17.13+deb13-cloud-amd64 --cpus 8 --out x --experiment f_nest";
        assert!(refused(other).contains("f_nest does not fit linux-image-6.17.13"));
        assert!(refused("--kernel 6.12 --cpus 8 --out x --experiment d_hb1").contains("d_hb1 runs hackbench"));
        assert!(refused("--again recordings/real6.18-2cpu").contains("was not recorded by this command"));
        assert!(refused("--again recordings/k0.1-nothing").contains("k0.1-nothing"));
    }

    #[test]
    fn a_set_is_never_written_over() {
        let there = format!("--kernel 6.12 --cpus 2 --experiment a_3on2 --out {}", crate::root().join("recordings").display());
        assert!(refused(&there).contains("a set is never written over"));
    }
}
