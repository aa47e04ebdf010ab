//! `cargo xtask fidelity`: docs/fidelity.md, its CSV files and the README's table of trust, made again from the recorded sets or
//! held against them.
//!
//! Without flags they are written, with `--check` compared line by line, with `--quick --check` for a fixed subset of the sets.

use crate::steps::{AS_TESTED, cargo, program, succeeds};
use std::path::Path;
use std::process::Command;

/// The recorded sets, relative to the root of the workspace.
const RECORDINGS: &str = "recordings";
/// The page; its CSV files lie in the folder `fidelity` beside it.
const PAGE: &str = "docs/fidelity.md";
/// The page that shows the table of trust too.
const README: &str = "README.md";

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
        (false, false) => scorecard(root, &["--release"], &["--output", PAGE, "--readme", README, "--commit", &commit(root)]),
    }
}

/// All of it, line by line.
pub(crate) fn check(root: &Path) -> bool {
    scorecard(root, &["--release"], &["--check", PAGE, "--readme", README])
}

/// The rows of the small subset. In the build of the tests, which is made anyway.
pub(crate) fn check_quick(root: &Path) -> bool {
    let Ok(program) = program(root, AS_TESTED, "fairground_scorecard").inspect_err(|why| eprintln!("{why}")) else {
        return false;
    };
    let mut command = Command::new(program);
    succeeds(command.current_dir(root).args([RECORDINGS, "--quick", "--check", PAGE, "--readme", README]))
}

fn scorecard(root: &Path, build: &[&str], flags: &[&str]) -> bool {
    let mut command = cargo(root);
    command.args(["run", "--quiet", "--package", "fairground_scorecard"]).args(build).args(["--", RECORDINGS]).args(flags);
    succeeds(&mut command)
}

/// The commit that is checked out, short; `unknown` where there is no history.
fn commit(root: &Path) -> String {
    let asked = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).current_dir(root).output();
    let hash = asked.ok().filter(|output| output.status.success()).and_then(|output| String::from_utf8(output.stdout).ok());
    hash.map_or_else(|| "unknown".to_string(), |hash| hash.trim().to_string())
}
