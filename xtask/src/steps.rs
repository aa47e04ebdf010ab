//! Lists of steps: what a change must pass, and what runs at night.
//!
//! Every step is a command that a developer can type. The names and times of the steps go to stderr.

use crate::{book, digests, dist, fidelity, fuzz, instructions, kernel_sources, licences, python, record, reproduce, tidy};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// What a step does.
enum Act {
    /// Runs cargo with these arguments and environment variables.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// Runs our own command line, as users get it.
    Fairground(&'static [&'static str]),
    /// Runs one of our tools.
    Tool(fn(&Path) -> bool),
}

/// A step: its name, and what it does.
type Step = (&'static str, Act);

/// Two lanes of about the same length that go on side by side, since one thread of work seldom keeps two CPUs busy: what is built for tests,
/// and what is built as for users. The Python package comes when the command is built, and the fidelity page when the tests are, which have
/// their parts. Cargo locks the folder of each build by itself.
const CI: [&[Step]; 2] = [
    &[
        ("format", Act::Cargo(&["fmt", "--all", "--", "--check"], &[])),
        ("tidy", Act::Tool(tidy::run)),
        ("licences", Act::Tool(licences::check)),
        ("clippy", Act::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])),
        ("docs", Act::Cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])),
        ("test", Act::Cargo(&["test", "--workspace"], &[])),
        ("digests of both builds", Act::Tool(digests::run)),
    ],
    &[
        ("reproduce, quick", Act::Tool(reproduce::run_quick)),
        ("python", Act::Tool(python::run)),
        ("fidelity, quick", Act::Tool(fidelity::check_quick)),
        ("instructions per event", Act::Tool(instructions::check)),
    ],
];

const NIGHTLY: &[Step] = &[
    ("all tests in release", Act::Cargo(&["test", "--workspace", "--release"], &[("PROPTEST_CASES", "20000")])),
    ("reproduce, full", Act::Fairground(&["reproduce", "all"])),
    ("fidelity, full", Act::Tool(fidelity::check)),
    ("record a set anew", Act::Tool(record::again)),
    // The long hunts only: the short ones are tests like all others.
    ("random whole systems, every rule", Act::Fairground(&["vopr", "--seed", "2000", "--runs", "100000", "--rules"])),
    (
        "planted delays",
        Act::Cargo(
            &["run", "--release", "--quiet", "--package", "fairground_exam", "--", "explain", "--seeds", "1001..1100"],
            &[],
        ),
    ),
    (
        "answers, full",
        Act::Cargo(
            &["run", "--release", "--quiet", "--package", "fairground_exam", "--", "explain", "--check", "docs/answers.md"],
            &[],
        ),
    ),
    (
        "random services",
        Act::Cargo(
            &["run", "--release", "--quiet", "--package", "fairground_exam", "--", "advise", "--seeds", "1001..1002", "--check"],
            &[],
        ),
    ),
    (
        "planted changes",
        Act::Cargo(
            &[
                "run",
                "--release",
                "--quiet",
                "--package",
                "fairground_exam",
                "--",
                "bisect",
                "--seeds",
                "1001..1025",
                "--floor",
                "95",
            ],
            &[],
        ),
    ),
    (
        "sides with known differences",
        Act::Cargo(
            &["run", "--release", "--quiet", "--package", "fairground_exam", "--", "compare", "--seeds", "1001..1020", "--check"],
            &[],
        ),
    ),
    ("mutated inputs", Act::Tool(fuzz::nightly)),
    (
        "a sweep that is disturbed",
        Act::Cargo(
            &["test", "--release", "--package", "fairground_cli", "--test", "cli", "--", "chaos::", "--nocapture"],
            &[("FAIRGROUND_CHAOS", "200")],
        ),
    ),
    ("slow tests", Act::Cargo(&["test", "--release", "--workspace", "--", "--ignored"], &[])),
    ("kernel sources", Act::Tool(kernel_sources::fetch)),
    (
        "the core in C",
        Act::Cargo(&["test", "--release", "--package", "fairground_vopr", "--features", "trees", "--test", "trees"], &[]),
    ),
    (
        "random systems beside C",
        Act::Cargo(
            &[
                "test",
                "--release",
                "--package",
                "fairground_vopr",
                "--features",
                "trees",
                "--test",
                "trees",
                "differ::census",
                "--",
                "--ignored",
                "--nocapture",
            ],
            &[("FAIRGROUND_CENSUS", "1000..2000")],
        ),
    ),
    (
        "a patch, from a tree to a verdict",
        Act::Cargo(
            &["test", "--release", "--package", "fairground_cli", "--features", "trees", "--test", "cli", "--", "kernel::"],
            &[],
        ),
    ),
    ("a tree that is copied in mid-run", Act::Fairground(&["kernel", "build", "target/kernel-sources/6.12", "--as", "nightly"])),
    (
        "copies of a run over a tree",
        Act::Cargo(
            &["test", "--release", "--package", "fairground", "--features", "trees", "--test", "all", "tree_copies"],
            &[("FAIRGROUND_TREE", "nightly")],
        ),
    ),
    ("cargo-deny", Act::Cargo(&["install", "cargo-deny", "--locked"], &[])),
    (
        "licences, bans and sources of all crates",
        Act::Cargo(&["deny", "--all-features", "check", "bans", "licenses", "sources"], &[]),
    ),
    // Asks the database of RustSec on GitHub.
    ("advisories", Act::Cargo(&["deny", "--all-features", "check", "advisories"], &[])),
    ("release page", Act::Tool(dist::run)),
    ("the same page, made in another folder", Act::Tool(dist::again)),
    ("mdBook", Act::Cargo(&["install", "mdbook", "--no-default-features", "--features", "search"], &[])),
    ("book", Act::Tool(book::run)),
    ("benches", Act::Cargo(&["bench", "--workspace"], &[])),
];

/// `cargo xtask ci`: everything that a change must pass; `cargo xtask ci STEP`: one step of it.
pub(crate) fn ci(root: &Path) -> bool {
    let Some(wanted) = std::env::args().nth(2) else { return run_lanes(root) };
    let Some((_, act)) = CI.iter().copied().flatten().find(|step| step.0 == wanted) else {
        let names: Vec<&str> = CI.iter().copied().flatten().map(|step| step.0).collect();
        eprintln!("ci: no step is called `{wanted}`: it has {}", names.join("; "));
        return false;
    };
    run(root, act)
}

/// Runs both lanes, each step as a process of its own, whose output is shown when it has ended.
fn run_lanes(root: &Path) -> bool {
    let myself = match copy_of_myself(root) {
        Ok(path) => path,
        Err(error) => {
            eprintln!("ci: no copy of this program for the steps: {error}");
            return false;
        }
    };
    let lines = Mutex::new(Vec::new());
    let lane = |steps: &[Step]| {
        for (name, _) in steps {
            eprintln!("== {name} begins");
            let start = Instant::now();
            let (passed, said) = apart(root, &myself, name).unwrap_or_else(|error| (false, error.to_string()));
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            eprintln!("== {name}\n{said}");
            lines.push((passed, told(name, passed, start)));
        }
    };
    std::thread::scope(|scope| CI.iter().for_each(|steps| drop(scope.spawn(|| lane(steps)))));
    let lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    let texts: Vec<&str> = lines.iter().map(|line| line.1.as_str()).collect();
    eprintln!("\n{}", texts.join("\n"));
    lines.iter().all(|line| line.0)
}

/// The folder of what the steps say and of the program that runs them, relative to the root of the workspace.
const FOLDER: &str = "target/ci";

/// A copy of this program. The step `test` builds `xtask` with the features of the whole workspace and so replaces the file that runs here:
/// a step that begins after that would find no program.
fn copy_of_myself(root: &Path) -> std::io::Result<PathBuf> {
    let folder = root.join(FOLDER);
    std::fs::create_dir_all(&folder)?;
    let copy = folder.join("xtask").with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::copy(std::env::current_exe()?, &copy)?;
    Ok(copy)
}

/// Runs one step as a process of its own; returns whether it passed, and what it said. Until then that can be read in [`FOLDER`].
fn apart(root: &Path, myself: &Path, name: &str) -> std::io::Result<(bool, String)> {
    let path = root.join(FOLDER).join(format!("{}.log", name.replace([' ', ','], "-")));
    let log = File::create(&path)?;
    let status = Command::new(myself).args(["ci", name]).stdout(log.try_clone()?).stderr(log).status()?;
    Ok((status.success(), String::from_utf8_lossy(&std::fs::read(&path)?).into_owned()))
}

/// How a step ended, printed and returned.
fn told(name: &str, passed: bool, start: Instant) -> String {
    let word = if passed { "passed" } else { "FAILED" };
    let line = format!("{name:<24} {word:<7} {:>6} s", start.elapsed().as_secs());
    eprintln!("== {line}");
    line
}

/// `cargo xtask nightly`: what takes too long for every change.
pub(crate) fn nightly(root: &Path) -> bool {
    run_all(root, NIGHTLY)
}

/// Runs all steps, also after a failure, and prints how each ended.
fn run_all(root: &Path, steps: &[Step]) -> bool {
    let mut lines = Vec::new();
    let mut all_passed = true;
    for (name, act) in steps {
        eprintln!("== {name}");
        let start = Instant::now();
        let passed = run(root, act);
        all_passed &= passed;
        lines.push(told(name, passed, start));
    }
    eprintln!("\n{}", lines.join("\n"));
    all_passed
}

fn run(root: &Path, act: &Act) -> bool {
    match act {
        Act::Cargo(arguments, environment) => succeeds(cargo(root).args(*arguments).envs(environment.iter().copied())),
        Act::Tool(tool) => tool(root),
        Act::Fairground(arguments) => succeeds(fairground(root).args(*arguments)),
    }
}

pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Our own command line, in release.
pub(crate) fn fairground(root: &Path) -> Command {
    let mut command = cargo(root);
    command.args(["run", "--release", "--quiet", "--package", "fairground_cli", "--"]);
    command
}

/// What builds all programs as the tests have them, and nothing that `cargo test --workspace` does not build. Of a package alone cargo
/// would build most parts once more: what is selected together decides which features a library has.
pub(crate) const AS_TESTED: &[&str] = &["build", "--workspace", "--bins", "--tests"];
/// What builds our own command line in release, with the parts that the Python package shares with it.
pub(crate) const AS_FOR_USERS: &[&str] = &["build", "--release", "--package", "fairground_cli", "--package", "fairground_python"];

/// Builds by one of these, and says where a program of that build is.
pub(crate) fn program(root: &Path, build: &[&str], name: &str) -> Result<String, String> {
    let mut command = cargo(root);
    command.args(build).args(["--quiet", "--message-format=json"]).stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let path = path_of(&String::from_utf8_lossy(&output.stdout), name);
    path.filter(|_| output.status.success()).ok_or_else(|| format!("{command:?}: `{name}` was not built"))
}

/// Where a program lies by what cargo says of a build. Its unit tests have the same name, and are another program.
fn path_of(said: &str, name: &str) -> Option<String> {
    let (kind, name) = ("\"kind\":[\"bin\"]", format!("\"name\":\"{name}\""));
    let is_it = |line: &&str| line.contains(kind) && line.contains(&name) && line.contains("\"test\":false}");
    let path = |line: &str| Some(line.split_once("\"executable\":\"")?.1.split_once('"')?.0.to_string());
    said.lines().filter(is_it).find_map(path)
}

pub(crate) fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("{command:?}: {error}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn a_program_is_not_its_unit_tests() {
        let line = |name: &str, kind: &str, test: bool, path: &str| {
            format!(
                r#"{{"target":{{"kind":["{kind}"],"name":"{name}","test":true}},"profile":{{"opt_level":"0","test":{test}}},"executable":"{path}"}}"#
            )
        };
        let said = [
            line("fairground", "lib", false, "/lib"),
            line("fairground", "bin", true, "/unit-tests"),
            line("fairground_exam", "bin", false, "/exam"),
            line("fairground", "bin", false, "/program"),
        ];
        assert_eq!(path_of(&said.join("\n"), "fairground").as_deref(), Some("/program"));
        assert_eq!(path_of(&said[..3].join("\n"), "fairground"), None);
    }
}
