//! Stock kernels: packages of Debian, unpacked and never installed.

use super::passes;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kernel {
    pub(super) package: String,
    /// The version of the package; empty = what the lists offer.
    pub(super) version: String,
}

/// The builds of the recorded sets. The offsets of structs in recordings/rig/guest/rig.sh belong to them.
pub(super) const BUILDS: &[(&str, &str, &str)] = &[
    ("5.10", "linux-image-5.10.0-32-cloud-amd64", "5.10.223-1"),
    ("6.1", "linux-image-6.1.0-56-cloud-amd64", "6.1.192-2"),
    ("6.12", "linux-image-6.12.107+deb13-cloud-amd64", "6.12.107-1"),
    ("6.18", "linux-image-6.18.15+deb13-cloud-amd64", "6.18.15-1~bpo13+1"),
    ("7.2", "linux-image-7.2.12+deb13-cloud-amd64", "7.2.12-1~bpo13+1"),
];

impl Kernel {
    /// The build of a version, or a package by its name.
    pub(super) fn named(name: &str) -> Result<Kernel, String> {
        if let Some((_, package, version)) = BUILDS.iter().find(|row| row.0 == name) {
            return Ok(Kernel { package: package.to_string(), version: version.to_string() });
        }
        let is_package =
            name.starts_with("linux-image-") && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-+.~".contains(&byte));
        let versions: Vec<&str> = BUILDS.iter().map(|row| row.0).collect();
        let wrong = || format!("--kernel: `{name}` is none of {}, and no package linux-image-…", versions.join(", "));
        is_package.then(|| Kernel { package: name.to_string(), version: String::new() }).ok_or_else(wrong)
    }
}

/// The folder with the unpacked files of a package; it is downloaded if it is not there.
pub(super) fn fetched(root: &Path, place: &Path, package: &str, version: &str) -> Result<PathBuf, String> {
    let folder = place.join("kernels").join(format!("{package}_{version}"));
    if folder.join("boot").is_dir() {
        return Ok(folder);
    }
    let make = |path: PathBuf| {
        std::fs::create_dir_all(&path).map(|()| path.clone()).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (downloads, _, _) =
        (make(place.join("downloads"))?, make(place.join("apt/lists/partial"))?, make(place.join("apt/cache/archives/partial"))?);
    let place = place.canonicalize().map_err(|error| format!("{}: {error}", place.display()))?;
    let list = root.join("recordings/rig/kernels.list").canonicalize().map_err(|error| format!("kernels.list: {error}"))?;
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.current_dir(&downloads).args(["-o", "Dir::Etc::SourceParts=-", "-o", "APT::Sandbox::User=root", "-q"]);
        for (what, path) in
            [("Etc::SourceList", list.clone()), ("State::Lists", place.join("apt/lists")), ("Cache", place.join("apt/cache"))]
        {
            command.arg("-o").arg(format!("Dir::{what}={}", path.display()));
        }
        command.args(arguments);
        command
    };
    let wanted = if version.is_empty() { package.to_string() } else { format!("{package}={version}") };
    if !downloaded(&downloads, package) {
        passes("reading the lists of packages", &mut apt(&["update"]))?;
        passes(
            &format!("downloading {wanted} (old builds leave the archive: see snapshot.debian.org)"),
            &mut apt(&["download", &wanted]),
        )?;
    }
    let file = deb(&downloads, package).ok_or_else(|| format!("apt-get wrote no {package}_*.deb"))?;
    let partial = make(folder.with_extension("partial"))?;
    passes("unpacking the kernel", Command::new("dpkg").arg("-x").arg(file).arg(&partial))?;
    std::fs::rename(&partial, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn downloaded(downloads: &Path, package: &str) -> bool {
    deb(downloads, package).is_some()
}

fn deb(downloads: &Path, package: &str) -> Option<PathBuf> {
    let start = format!("{package}_");
    let files = downloads.read_dir().ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_build_of_its_sets_and_any_package_may_be_named() {
        assert_eq!(Kernel::named("6.12").unwrap().version, "6.12.107-1");
        let other = "linux-image-6.17.13+deb13-cloud-amd64";
        assert_eq!(Kernel::named(other).unwrap(), Kernel { package: other.to_string(), version: String::new() });
        for wrong in ["6.13", "linux-image-$(x)", "bash"] {
            assert!(Kernel::named(wrong).unwrap_err().contains("is none of 5.10, 6.1, 6.12, 6.18, 7.2"));
        }
    }
}
