//! `cargo xtask python`: the Python package, built as for users, installed into a fresh environment and tested there.
//!
//! ```text
//! target/python/venv      the environment: tools and libraries of python/tests/requirements.txt, kept from one call to the next
//! target/python/wheels    the wheel; the parts in Rust are those of target/release, built once for the command and for it
//! ```

use crate::steps::succeeds;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest Python that is supported.
const OLDEST: (u32, u32) = (3, 10);
/// Size that a wheel may have, bytes.
const WHEEL_MAX: u64 = 15_000_000;
/// What Debian and Ubuntu call what is needed.
const PACKAGES: [&str; 3] = ["python3", "python3-venv", "python3-pip"];

/// `cargo xtask python`, and the step of `cargo xtask ci`.
pub(crate) fn run(root: &Path) -> bool {
    match tested(root) {
        Ok(passed) => passed,
        Err(why) => {
            eprintln!("{why}");
            false
        }
    }
}

fn tested(root: &Path) -> Result<bool, String> {
    let root = &root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let venv = environment(root)?;
    let wheel = wheel(root, &venv, "release", &root.join("target/python/wheels"))?;
    let in_venv = |program: &str| {
        let mut command = Command::new(program_of(&venv, program));
        command.current_dir(root.join("python"));
        command
    };
    let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"];
    done(in_venv("python").args(install).arg(&wheel))?;
    // Each is run, also after one that failed.
    let checks: [&[&str]; 4] = [
        &["-m", "pytest"],
        &["-m", "mypy", "--package", "fairground"],
        &["-m", "mypy", "tests"],
        &["-m", "mypy.stubtest", "fairground", "--ignore-disjoint-bases", "--allowlist", "tests/stubtest.txt"],
    ];
    Ok(checks.map(|check| succeeds(in_venv("python").args(check))).iter().all(|&passed| passed))
}

/// Builds a wheel into this folder, from which older ones go, and says where it is.
pub(crate) fn wheel(root: &Path, venv: &Path, profile: &str, out: &Path) -> Result<PathBuf, String> {
    let wheels = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "whl")).collect()
    };
    for old in wheels() {
        std::fs::remove_file(&old).map_err(|error| format!("{}: {error}", old.display()))?;
    }
    let mut command = Command::new(program_of(venv, "maturin"));
    command.current_dir(root.join("python")).args(["build", "--quiet", "--locked", "--profile", profile, "--out"]).arg(out);
    done(&mut command)?;
    let [wheel] = &wheels()[..] else { return Err(format!("{}: there is not one wheel", out.display())) };
    let size = std::fs::metadata(wheel).map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    if size > WHEEL_MAX {
        return Err(format!("{}: {size} bytes, at most {WHEEL_MAX} are wanted", wheel.display()));
    }
    eprintln!("{}: {size} bytes", wheel.display());
    Ok(wheel.clone())
}

/// The environment with all tools; what is there already is not fetched again.
pub(crate) fn environment(root: &Path) -> Result<PathBuf, String> {
    let venv = root.join("target/python/venv");
    let python = program_of(&venv, "python");
    if !is_supported(&python) {
        let system = system_python()?;
        done(Command::new(system).args(["-m", "venv", "--clear"]).arg(&venv))?;
    }
    let list = root.join("python/tests/requirements.txt");
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    done(Command::new(&python).args(install).arg(list))?;
    Ok(venv)
}

fn program_of(venv: &Path, program: &str) -> PathBuf {
    if cfg!(windows) { venv.join("Scripts").join(program) } else { venv.join("bin").join(program) }
}

/// A Python that can make environments; on Debian and Ubuntu it is installed if it is missing and may be.
fn system_python() -> Result<PathBuf, String> {
    if let Some(python) = found() {
        return Ok(python);
    }
    let by_packager = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        succeeds(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
    };
    if Path::new("/usr/bin/apt-get").exists() && by_packager(&["update"]) {
        by_packager(&[&["install", "--yes", "--no-install-recommends"][..], &PACKAGES].concat());
    }
    let (major, minor) = OLDEST;
    found().ok_or_else(|| {
        format!(
            "there is no Python {major}.{minor} or newer with the modules venv and ensurepip: install {}",
            PACKAGES.join(", ")
        )
    })
}

fn found() -> Option<PathBuf> {
    ["python3", "python", "/usr/bin/python3"].into_iter().map(PathBuf::from).find(|python| is_supported(python))
}

fn is_supported(python: &Path) -> bool {
    let (major, minor) = OLDEST;
    let code = format!("import sys, venv, ensurepip; sys.exit(sys.version_info < ({major}, {minor}))");
    let status = Command::new(python).args(["-c", &code]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn done(command: &mut Command) -> Result<(), String> {
    if succeeds(command) { Ok(()) } else { Err(format!("{command:?} failed")) }
}
