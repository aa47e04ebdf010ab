//! The same scenarios in debug and in release: the digest of the records must be equal, bit for bit.
//!
//! No test can see both builds, so this is a step of its own. Overflow checks are on in both; what could
//! differ is what the compiler makes of the arithmetic.

use crate::steps::{AS_FOR_USERS, AS_TESTED, program};
use std::path::Path;
use std::process::Command;

/// Scenarios that are run in both builds, relative to the root of the workspace.
const FOLDER: &str = "scenarios/examples";

/// Compares the digests of all example scenarios.
pub(crate) fn run(root: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(root.join(FOLDER)) else {
        eprintln!("no folder {FOLDER}");
        return false;
    };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| format!("{FOLDER}/{}", entry.file_name().to_string_lossy())).collect();
    names.sort();
    let [debug, release] = [AS_TESTED, AS_FOR_USERS].map(|build| {
        let program = program(root, build, "fairground");
        program.inspect_err(|why| eprintln!("{why}")).ok()
    });
    let (Some(debug), Some(release)) = (debug, release) else { return false };
    let equal = |name: &String| {
        let (debug, release) = (digest_of(root, &debug, name), digest_of(root, &release, name));
        eprintln!("{name}: debug {debug:?}, release {release:?}");
        debug.is_some() && debug == release
    };
    // All are compared, also after a difference.
    !names.is_empty() && names.iter().filter(|name| !equal(name)).count() == 0
}

/// The digest that a run prints.
fn digest_of(root: &Path, program: &str, scenario: &str) -> Option<String> {
    let output = Command::new(program).current_dir(root).args(["run", scenario]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("digest ")).map(|digest| digest.trim().to_string())
}
