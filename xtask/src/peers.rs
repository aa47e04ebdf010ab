//! `cargo xtask peers`: how fast simulators are that people could use in our place, on the same work as two of our cases.
//!
//! The peers come from their registries into `target/peers`. What each of them carries out is in `xtask/peers`. The runs
//! take turns, so that what else the machine does hits all of them. `docs/peers.md` gets the table.

use crate::steps::{cargo, succeeds};
use crate::{callgrind, instructions};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The page with the table, and the line after which the table stands.
const PAGE: &str = "docs/peers.md";
const MARK: &str = "<!-- The table below is written by `cargo xtask peers`. -->";
/// Where the programs of the peers lie, and where they are built.
const SOURCES: &str = "xtask/peers";
const BUILT: &str = "target/peers";
const ROUNDS: usize = 5;

/// How a program that runs the cases comes about.
enum Built {
    /// Our benchmark.
    Bench,
    /// A Python package in an environment of its own: the package with its version, and the script.
    Python { package: &'static str, script: &'static str },
    /// A crate beside the workspace.
    Rust { folder: &'static str, program: &'static str },
}

/// A simulator, and the simulated milliseconds of its runs of each of [`CASES`]: timed, then the two that are counted.
struct Peer {
    name: &'static str,
    /// What it carries out in each case.
    does: [&'static str; CASES.len()],
    built: Built,
    ms: [[u64; 3]; CASES.len()],
}

const CASES: [&str; 2] = ["hogs-2x10", "sleepers-112x224"];

const PEERS: &[Peer] = &[
    Peer {
        name: "Fairground",
        does: ["rules and prices of v5.19"; CASES.len()],
        built: Built::Bench,
        ms: [[10_000, 1_000, 21_000], [500, 20, 40]],
    },
    Peer {
        name: "NeXosim 1.0.0",
        does: ["virtual times, a model per CPU"; CASES.len()],
        built: Built::Rust { folder: "nexosim", program: "nexosim_peer" },
        ms: [[100_000, 1_000, 11_000], [500, 20, 40]],
    },
    Peer {
        name: "SimPy 4.1.2",
        does: ["virtual times", "a resource per CPU"],
        built: Built::Python { package: "simpy==4.1.2", script: "simpy_peer.py" },
        ms: [[100_000, 100, 1_100], [500, 10, 20]],
    },
    Peer {
        name: "SimSo 0.8.5",
        does: ["virtual times, a scheduler class"; CASES.len()],
        built: Built::Python { package: "simso==0.8.5", script: "simso_peer.py" },
        ms: [[10_000, 50, 150], [5, 2, 3]],
    },
];

/// What a peer reached in one case.
struct Reached {
    events: u64,
    seconds: f64,
    ms: u64,
    instructions: u64,
}

/// What starts a peer's program, or why there is none: one or two words.
type Program = Result<Vec<OsString>, String>;

/// `cargo xtask peers`.
pub(crate) fn run(root: &Path) -> bool {
    if std::env::args().nth(2).is_some() {
        eprintln!("usage: cargo xtask peers");
        return false;
    }
    all(root).unwrap_or_else(|message| {
        eprintln!("{message}");
        false
    })
}

fn all(root: &Path) -> Result<bool, String> {
    let page = std::fs::read_to_string(root.join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let (text, _) = page.split_once(MARK).ok_or_else(|| format!("{PAGE}: no line {MARK}"))?;
    let programs: Vec<_> = PEERS.iter().map(|peer| program(root, &peer.built)).collect();
    let mut table =
        String::from("| case | simulator | what it carries out | events/s | simulated s per s | instructions per event |\n");
    table.push_str("| --- | --- | --- | ---: | ---: | ---: |\n");
    let mut whole = true;
    for case in 0..CASES.len() {
        let reached = reached(&programs, case);
        for (peer, reached) in PEERS.iter().zip(reached) {
            whole &= reached.is_ok();
            table.push_str(&row(case, peer, &reached));
        }
    }
    println!("{table}");
    let processor = processor();
    let note = format!("Measured on {processor}, one thread, the best of {ROUNDS} runs that took turns.\n");
    std::fs::write(root.join(PAGE), format!("{text}{MARK}\n\n{table}\n{note}")).map_err(|error| format!("{PAGE}: {error}"))?;
    Ok(whole)
}

fn row(case: usize, peer: &Peer, reached: &Result<Reached, String>) -> String {
    let (name, does, case) = (peer.name, peer.does[case], CASES[case]);
    match reached {
        Ok(Reached { events, seconds, ms, instructions }) => {
            let rate = *events as f64 / seconds / 1e6;
            let simulated = *ms as f64 / 1000.0 / seconds;
            format!("| {case} | {name} | {does} | {rate:.3} M | {simulated:.3} | {} |\n", thousands(*instructions))
        }
        Err(why) => {
            eprintln!("{name}: {why}");
            format!("| {case} | {name} | {does} | not measured | - | - |\n")
        }
    }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let from_right = digits.len() % 3;
    let comma =
        |(at, digit): (usize, char)| [if at > 0 && at % 3 == from_right { "," } else { "" }.to_string(), digit.to_string()];
    digits.chars().enumerate().flat_map(comma).collect()
}

/// The best of all rounds of each peer; in each round they take turns.
fn reached(programs: &[Program], case: usize) -> Vec<Result<Reached, String>> {
    let mut best: Vec<Result<(u64, f64), String>> = programs.iter().map(|_| Ok((0, f64::MAX))).collect();
    for round in 0..ROUNDS {
        eprintln!("{}: round {} of {ROUNDS}", CASES[case], round + 1);
        for ((peer, program), best) in PEERS.iter().zip(programs).zip(&mut best) {
            let Ok((_, so_far)) = best else { continue };
            let so_far = *so_far;
            *best = program.clone().and_then(|program| timed(&program, CASES[case], peer.ms[case][0]));
            if let Ok((_, seconds)) = best {
                *seconds = seconds.min(so_far);
            }
        }
    }
    let counted = |at: usize| {
        let (events, seconds) = best[at].clone()?;
        let instructions = instructions_per_event(&programs[at].clone()?, &PEERS[at], case)?;
        Ok(Reached { events, seconds, ms: PEERS[at].ms[case][0], instructions })
    };
    (0..PEERS.len()).map(counted).collect()
}

fn instructions_per_event(program: &[OsString], peer: &Peer, case: usize) -> Result<u64, String> {
    let [_, short, long] = peer.ms[case];
    let (few, few_events) = callgrind::count(program, CASES[case], short)?;
    let (many, many_events) = callgrind::count(program, CASES[case], long)?;
    callgrind::per_event(few, few_events, many, many_events).ok_or_else(|| "the longer run has no more events".into())
}

/// Events and seconds of one run, its start included.
fn timed(program: &[OsString], case: &str, ms: u64) -> Result<(u64, f64), String> {
    let start = Instant::now();
    let output = command(program).args([case, &ms.to_string()]).output().map_err(|error| error.to_string())?;
    let seconds = start.elapsed().as_secs_f64();
    let events = String::from_utf8_lossy(&output.stdout).trim().parse();
    events.map(|events| (events, seconds)).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn program(root: &Path, built: &Built) -> Program {
    match built {
        Built::Bench => Ok(vec![instructions::bench(root)?.into()]),
        Built::Python { package, script } => {
            let python = environment(root, package)?;
            Ok(vec![python.into(), root.join(SOURCES).join(script).into()])
        }
        Built::Rust { folder, program } => {
            let target = root.join(BUILT).join(folder);
            let mut build = cargo(root);
            build.args(["build", "--release", "--manifest-path"]).arg(root.join(SOURCES).join(folder).join("Cargo.toml"));
            if !succeeds(build.arg("--target-dir").arg(&target)) {
                return Err(format!("{SOURCES}/{folder} was not built"));
            }
            Ok(vec![target.join("release").join(program).into()])
        }
    }
}

/// A virtual environment with this package; made once.
fn environment(root: &Path, package: &str) -> Result<PathBuf, String> {
    let folder = root.join(BUILT).join(package);
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if ready.exists() {
        return Ok(python);
    }
    let make = || Command::new("python3").args(["-m", "venv"]).arg(&folder).status();
    if !make().map_err(|error| format!("python3: {error}"))?.success() {
        return Err("python3 -m venv failed (Debian: apt-get install python3-venv)".into());
    }
    if !succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", package]).stdout(Stdio::null())) {
        return Err(format!("pip could not install {package}"));
    }
    std::fs::write(ready, "").map_err(|error| error.to_string())?;
    Ok(python)
}

fn command(program: &[OsString]) -> Command {
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).env("PYTHONHASHSEED", "0");
    command
}

/// What the machine says of its processor.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    name.map_or_else(|| "an unnamed processor".into(), |(_, name)| format!("{cpus} CPUs of {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_by_thousands() {
        let numbers = [7, 1_000, 451_000, 12_345_678].map(thousands);
        assert_eq!(numbers, ["7", "1,000", "451,000", "12,345,678"]);
    }

    #[test]
    fn a_peer_that_is_not_had_has_a_row_that_says_so() {
        let row = row(0, &PEERS[1], &Err("no registry".into()));
        assert_eq!(row, "| hogs-2x10 | NeXosim 1.0.0 | virtual times, a model per CPU | not measured | - | - |\n");
    }

    #[test]
    fn the_page_has_the_line_of_the_table_and_the_program_of_each_peer_is_there() {
        let root = crate::root();
        assert!(std::fs::read_to_string(root.join(PAGE)).unwrap().contains(MARK));
        for peer in PEERS {
            let file = match peer.built {
                Built::Bench => instructions::TABLE.into(),
                Built::Python { script, .. } => format!("{SOURCES}/{script}"),
                Built::Rust { folder, .. } => format!("{SOURCES}/{folder}/Cargo.toml"),
            };
            assert!(root.join(&file).exists(), "{file}");
        }
    }
}
