//! `cargo xtask kernel-sources [VERSION...]`: kernel trees for tests of the core in C, from Debian's source packages.
//!
//! The trees are the upstream tarballs of those packages, without Debian's patches. Where the archive has lost the tarball, the
//! package linux-source-X.Y serves, which has them. What a build of the scheduler does not read is left out. They lie in target/kernel-sources, or below `FAIRGROUND_KERNEL_SOURCES`, never in the tree.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The series of profiles, each with the release whose recordings we have: the first choice.
const SERIES: [(&str, &str); 6] =
    [("5.10", "5.10.223"), ("6.1", "6.1.192"), ("6.6", ""), ("6.12", "6.12.107"), ("6.18", "6.18.15"), ("7.2", "7.2.12")];

/// So many releases of a series are tried.
const TRIES: usize = 4;

/// What is unpacked: all of the folders that the build compiles from, the headers, and what Kconfig and make read.
const WANTED: &[&str] = &[
    "*/COPYING",
    "*Kconfig*",
    "*Makefile*",
    "*Kbuild*",
    "*/kernel/*",
    "*/include/*",
    "*/lib/*",
    "*/scripts/*",
    "*/init/*",
    "*/arch/x86/*",
    "*.h",
];
const UNWANTED: &[&str] = &["*/drivers/*.[chS]", "*/tools/testing/*", "*/tools/perf/*", "*/Documentation/*.rst"];

/// `cargo xtask kernel-sources [VERSION...]`. A version is a series (`6.12`) or a release (`6.12.107`).
pub(crate) fn run(root: &Path) -> bool {
    let asked: Vec<String> = std::env::args().skip(2).collect();
    if asked.is_empty() {
        return fetch(root);
    }
    done(root, &asked)
}

/// All series: the step of `cargo xtask nightly`.
pub(crate) fn fetch(root: &Path) -> bool {
    done(root, &SERIES.map(|row| row.0.to_string()))
}

fn done(root: &Path, wanted: &[String]) -> bool {
    for version in wanted {
        if !version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') || version.split('.').count() < 2 {
            eprintln!("`{}` is no version such as 6.12 or 6.12.107", version.escape_default());
            return false;
        }
    }
    match fetch_all(root, wanted) {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            true
        }
        Err(why) => {
            eprintln!("{why}");
            false
        }
    }
}

fn fetch_all(root: &Path, wanted: &[String]) -> Result<Vec<String>, String> {
    let place = std::env::var_os("FAIRGROUND_KERNEL_SOURCES").map_or_else(|| root.join("target/kernel-sources"), PathBuf::from);
    let apt = Apt::new(root, &place)?;
    let mut known: Option<Vec<String>> = None;
    let mut lines = Vec::new();
    for version in wanted {
        let tree = place.join(series(version));
        if let Some(has) = release_of(&tree).filter(|has| is_of(has, version)) {
            lines.push(format!("{version:<9} {has}: {}", tree.display()));
            continue;
        }
        if known.is_none() {
            known = Some(apt.versions()?);
        }
        let choices = choices(version, known.as_deref().unwrap_or_default());
        let patched =
            || apt.unpack_patched(version, &tree).map_err(|why| eprintln!("{why}")).ok().and_then(|()| release_of(&tree));
        let place = tree.display();
        lines.push(match fetch_first(&apt, &choices, &tree) {
            Some(has) => format!("{version:<9} {has}: {place}"),
            None if let Some(has) = patched() => format!("{version:<9} {has}, with Debian's patches: {place}"),
            None if choices.is_empty() => {
                format!("{version:<9} not had: no release of it is in the archive (kcore/sources.list)")
            }
            None => format!("{version:<9} not had: none of {} could be fetched", choices.join(", ")),
        });
    }
    Ok(lines)
}

/// Unpacks the first of the packages that can be had: the archive lists a release for some time after its file is gone.
fn fetch_first(apt: &Apt, choices: &[String], tree: &Path) -> Option<String> {
    choices.iter().find_map(|package| match apt.unpack(package, tree) {
        Ok(()) => release_of(tree),
        Err(why) => {
            eprintln!("{why}");
            None
        }
    })
}

/// `6.12` of `6.12.107`.
fn series(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Whether a release is that version, or of that series.
fn is_of(release: &str, version: &str) -> bool {
    release.strip_prefix(version).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The package versions to try, in order: of a release its own; of a series that of our recordings, then the newest.
fn choices(version: &str, known: &[String]) -> Vec<String> {
    let upstream = |package: &str| package.split('-').next().unwrap_or_default().to_string();
    let first = SERIES.iter().find(|row| row.0 == version).map_or("", |row| row.1);
    let number = |package: &String| upstream(package).split('.').nth(2).and_then(|sub| sub.parse::<u32>().ok()).unwrap_or(0);
    let mut found: Vec<String> = known.iter().filter(|package| is_of(&upstream(package), version)).cloned().collect();
    found.sort_by_key(|package| (upstream(package) != first, Reverse(number(package))));
    found.dedup_by_key(|package| upstream(package));
    found.truncate(TRIES);
    found
}

/// The release of an unpacked tree, by its Makefile.
fn release_of(tree: &Path) -> Option<String> {
    let makefile = fs::read_to_string(tree.join("Makefile")).ok()?;
    let value = |name: &str| {
        let line = makefile.lines().take(10).find(|line| line.split([' ', '=']).next() == Some(name))?;
        Some(line.split_once('=')?.1.trim().to_string())
    };
    Some(format!("{}.{}.{}", value("VERSION")?, value("PATCHLEVEL")?, value("SUBLEVEL")?))
}

/// Debian's tools, with lists and downloads of our own.
struct Apt {
    place: PathBuf,
    list: PathBuf,
}

impl Apt {
    fn new(root: &Path, place: &Path) -> Result<Apt, String> {
        for folder in ["apt/lists/partial", "apt/cache/archives/partial", "downloads"] {
            fs::create_dir_all(place.join(folder)).map_err(|error| format!("{}: {error}", place.display()))?;
        }
        let place = place.canonicalize().map_err(|error| format!("{}: {error}", place.display()))?;
        let list = root.join("kcore/sources.list").canonicalize().map_err(|error| format!("kcore/sources.list: {error}"))?;
        Ok(Apt { place, list })
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(self.place.join("downloads"));
        command.args(["-o", "Dir::Etc::SourceParts=-", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none", "-q"]);
        for (what, path) in [
            ("Etc::SourceList", self.list.clone()),
            ("State::Lists", self.place.join("apt/lists")),
            ("Cache", self.place.join("apt/cache")),
        ] {
            command.arg("-o").arg(format!("Dir::{what}={}", path.display()));
        }
        command
    }

    /// The versions of the source package `linux` that the archive has.
    fn versions(&self) -> Result<Vec<String>, String> {
        said("reading the lists of sources", self.command("apt-get").arg("update"))?;
        let text = said("listing the sources", self.command("apt-cache").args(["showsrc", "linux"]))?;
        Ok(text.lines().filter_map(|line| line.strip_prefix("Version: ")).map(str::to_string).collect())
    }

    /// Fetches the upstream tarball, which stays in the archive longer than the package's other files, and unpacks it.
    fn unpack(&self, package: &str, tree: &Path) -> Result<(), String> {
        eprintln!("fetching linux {package}");
        let source = format!("linux={package}");
        let listed =
            said("listing the files", self.command("apt-get").args(["source", "--print-uris", "--download-only", &source]))?;
        let tarball = self.place.join(format!("downloads/linux_{}.orig.tar.xz", package.split('-').next().unwrap_or_default()));
        if !tarball.is_file() {
            let (address, digest) =
                orig(&listed).ok_or_else(|| format!("linux {package}: its list of files has no orig.tar.xz"))?;
            let mut helper = Command::new("/usr/lib/apt/apt-helper");
            said(
                "downloading",
                helper.args(["-o", "APT::Sandbox::User=root", "download-file"]).arg(address).arg(&tarball).arg(digest),
            )?;
        }
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&tarball);
        unpack_with(&mut tar, tree)?;
        fs::remove_file(&tarball).map_err(|error| format!("{}: {error}", tarball.display()))
    }

    /// Fetches the package linux-source-X.Y of a series, which holds the tree with Debian's patches, and unpacks it.
    fn unpack_patched(&self, series: &str, tree: &Path) -> Result<(), String> {
        let name = format!("linux-source-{series}");
        eprintln!("fetching {name}");
        let downloads = self.place.join("downloads");
        said("downloading", self.command("apt-get").args(["download", &name]))?;
        let files = fs::read_dir(&downloads).map_err(|error| format!("{}: {error}", downloads.display()))?;
        let is_ours =
            |path: &PathBuf| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}_")));
        let package = files.flatten().map(|entry| entry.path()).find(is_ours).ok_or_else(|| format!("{name}: no file came"))?;
        let inner = self.place.join("downloads/patched");
        said("unpacking", Command::new("dpkg-deb").arg("-x").arg(&package).arg(&inner))?;
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(inner.join(format!("usr/src/{name}.tar.xz")));
        unpack_with(&mut tar, tree)?;
        fs::remove_dir_all(&inner)
            .and_then(|()| fs::remove_file(&package))
            .map_err(|error| format!("{}: {error}", inner.display()))
    }
}

/// Unpacks what is wanted of a tarball into `tree`, which stands whole or not at all.
fn unpack_with(tar: &mut Command, tree: &Path) -> Result<(), String> {
    let partial = tree.with_extension("partial");
    for old in [&partial, tree] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(|error| format!("{}: {error}", old.display()))?;
        }
    }
    fs::create_dir_all(&partial).map_err(|error| format!("{}: {error}", partial.display()))?;
    tar.arg("-C").arg(&partial).args(["--strip-components=1", "--wildcards"]);
    tar.args(UNWANTED.iter().map(|pattern| format!("--exclude={pattern}"))).args(WANTED);
    said("unpacking", tar)?;
    fs::rename(&partial, tree).map_err(|error| format!("{}: {error}", tree.display()))
}

/// Address and digest of the upstream tarball, of the lines `'ADDRESS' FILE BYTES SHA256:DIGEST`.
fn orig(listed: &str) -> Option<(&str, &str)> {
    let line = listed.lines().find(|line| line.contains(".orig.tar.xz ") && line.starts_with('\''))?;
    Some((line.split('\'').nth(1)?, line.split_whitespace().last().filter(|word| word.starts_with("SHA256:"))?))
}

/// Runs it; the answer is what it printed, the error what it complained of.
fn said(what: &str, command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.output().map_err(|error| format!("{what}: {name}: {error}. On Debian: apt install apt dpkg-dev xz-utils"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{what}: {name} failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_the_release_of_our_recordings_or_else_its_newest() {
        let known = ["6.12.107-1", "6.12.9-1", "6.12.118-1", "6.12.118-2", "6.1.9-1", "7.2.13-1"].map(String::from);
        assert_eq!(choices("6.12", &known), ["6.12.107-1", "6.12.118-1", "6.12.9-1"]);
        assert_eq!(choices("6.12", &known[1..])[0], "6.12.118-1");
        assert_eq!(choices("6.12.9", &known), ["6.12.9-1"]);
        assert_eq!(choices("6.1", &known), ["6.1.9-1"]);
        assert!(choices("6.6", &known).is_empty());
    }

    #[test]
    fn the_tarball_is_found_among_the_files_of_a_package() {
        let listed = "Need to get 3 kB\n'http://x/linux_6.18.15-1.dsc' linux.dsc 12 SHA256:aa\n\
                      'http://x/linux_6.18.15.orig.tar.xz' linux_6.18.15.orig.tar.xz 99 SHA256:bb\n";
        assert_eq!(orig(listed), Some(("http://x/linux_6.18.15.orig.tar.xz", "SHA256:bb")));
        assert_eq!(orig("nothing\n"), None);
    }
}
