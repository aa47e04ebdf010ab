//! What tests of several crates share: the recorded sets of this checkout.
//!
//! A set is part of the checkout, so a test that needs one fails where it is missing.
#![allow(clippy::panic, reason = "a test stops where it fails")]

use std::path::{Path, PathBuf};

/// The folder `recordings` of this checkout.
pub fn recordings() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
    assert!(folder.is_dir(), "{} is missing: the recorded sets are part of the checkout", folder.display());
    folder
}

/// The folder of a set (`k6.1-hogs-1cpu`) or of one of its experiments (`k6.1-hogs-1cpu/a_eq2_1`).
pub fn recording(name: &str) -> PathBuf {
    let folder = recordings().join(name);
    assert!(folder.is_dir(), "{} is missing: it is a recorded set of the checkout", folder.display());
    folder
}

/// The sets whose name satisfies `wanted`, in order of their names. There is at least one.
pub fn sets(wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let is_set = |path: &PathBuf| !experiments_of(path).is_empty() && wanted(&name(path));
    let found: Vec<PathBuf> = folders(&recordings()).into_iter().filter(is_set).collect();
    assert!(!found.is_empty(), "no recorded set in {} has such a name", recordings().display());
    found
}

/// The experiments of those sets, in order of their paths.
pub fn experiments(wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    sets(wanted).iter().flat_map(|set| experiments_of(set)).collect()
}

/// The experiments of one set: its folders that hold a `workload.txt`.
pub fn experiments_of(set: &Path) -> Vec<PathBuf> {
    let mut found = folders(set);
    found.retain(|folder| folder.join("workload.txt").is_file());
    found
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = path.read_dir().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_found_by_its_name_and_holds_experiments() {
        let found = experiments(|set| set == "k6.12-press-8cpu");
        assert_eq!(found, [recording("k6.12-press-8cpu/c_press24_120")]);
        assert!(sets(|_| true).len() > 50 && sets(|_| true).iter().all(|set| name(set) != "rig"));
    }

    #[test]
    #[should_panic(expected = "is missing: it is a recorded set of the checkout")]
    fn a_missing_set_fails_the_test_that_needs_it() {
        recording("k0.1-nothing");
    }

    #[test]
    #[should_panic(expected = "has such a name")]
    fn a_family_without_sets_fails_the_test_that_needs_it() {
        experiments(|set| set.starts_with("k0.1-"));
    }
}
