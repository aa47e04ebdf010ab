//! `cargo xtask fidelity`: docs/fidelity.md, made again from the recorded sets or held against them.
//!
//! Without flags it is written, with `--check` compared byte by byte, with `--quick --check` for a fixed subset of
//! the sets row by row.

use crate::steps::{cargo, succeeds};
use std::path::Path;

/// The recorded sets, relative to the root of the workspace.
const RECORDINGS: &str = "recordings";
/// The page.
const PAGE: &str = "docs/fidelity.md";

/// `cargo xtask fidelity [--quick] [--check]`.
pub(crate) fn run(root: &Path) -> bool {
    let flags: Vec<String> = std::env::args().skip(2).collect();
    if let Some(unknown) = flags.iter().find(|flag| !["--quick", "--check"].contains(&flag.as_str())) {
        eprintln!("unknown flag {unknown}: cargo xtask fidelity [--quick] [--check]");
        return false;
    }
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    match (has("--quick"), has("--check")) {
        (true, true) => check_quick(root),
        (false, true) => check(root),
        // To stdout: a page of a few sets is no page of the documentation.
        (true, false) => scorecard(root, &[], &["--quick"]),
        (false, false) => scorecard(root, &["--release"], &["--output", PAGE]),
    }
}

/// The whole page, byte by byte.
pub(crate) fn check(root: &Path) -> bool {
    scorecard(root, &["--release"], &["--check", PAGE])
}

/// The rows of the small subset. In the profile of the tests, which are built anyway.
pub(crate) fn check_quick(root: &Path) -> bool {
    scorecard(root, &[], &["--quick", "--check", PAGE])
}

fn scorecard(root: &Path, build: &[&str], flags: &[&str]) -> bool {
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "fairground_scorecard"]).args(build).args(["--", RECORDINGS]).args(flags);
    succeeds(&mut command)
}
