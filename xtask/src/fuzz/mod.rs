//! `cargo xtask fuzz`: the command itself with inputs that are nearly right.
//!
//! A corpus of files is mutated by a seed, and each mutant goes through a command that reads such files. A fault is a panic (exit code
//! 101), an end by a signal, a code that no page knows, more than 10 s of CPU time, or more than 1 GiB of address space, which is more
//! than what is resident. The mutant of a fault stays in `target/fuzz` with the command that shows it.

mod mutate;

use crate::steps;
use mutate::Draws;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Mutants of each kind if nothing is said.
const MUTANTS: u64 = 1_000;
/// And every night.
const OF_A_NIGHT: u64 = 20_000;
/// Seconds of CPU time, KiB of address space.
const LIMITS: &str = "ulimit -c 0; ulimit -t 10; ulimit -v 1048576; exec \"$@\"";
/// What waits without computing hangs too.
const PATIENCE: Duration = Duration::from_secs(60);
/// Larger files of the corpus are left out: a mutant should be read in a moment.
const SIZE_MAX: u64 = 1 << 18;
/// Codes that the help names, but for that of our own bug.
const CODES: [i32; 6] = [0, 1, 2, 3, 4, 130];
/// Faults that are written down of one kind.
const KEPT: u64 = 20;

/// What is mutated, and through which commands it goes. `@` stands for the mutant, `%` for a file that may be written.
struct Kind {
    name: &'static str,
    /// Files and folders of the corpus.
    corpus: &'static [&'static str],
    commands: &'static [&'static [&'static str]],
    /// Files that a mutant names, which lie beside it as they are.
    beside: &'static [&'static str],
}

const KINDS: &[Kind] = &[
    Kind {
        name: "scenario",
        corpus: &["fuzz/corpus/scenario", "scenarios/examples"],
        commands: &[
            &["run", "@", "--duration", "20ms", "--stop-before-event", "50000", "--paranoid"],
            &["run", "@", "--duration", "20ms", "--stop-before-event", "50000", "--json"],
            &["run", "@", "--print-scenario"],
        ],
        beside: &[],
    },
    Kind {
        name: "trace",
        corpus: &[
            "fuzz/corpus/trace",
            "fuzz/seeds",
            "crates/fairground_formats/src/csv/samples",
            "crates/fairground_formats/src/json/samples",
            "crates/fairground_formats/src/ftrace/samples",
            "crates/fairground_formats/src/perf_data/samples",
            "crates/fairground_formats/src/perfetto/samples",
            "crates/fairground_formats/src/trace_dat/samples",
            "crates/fairground_formats/src/schedviz/samples",
            "crates/fairground_formats/src/ctf/samples",
        ],
        commands: &[
            &["replay", "@", "--stop-before-event", "50000"],
            &["replay", "@", "--machine", "smp-2", "--profile", "v6.18", "--stop-before-event", "50000"],
            &["conform", "@", "--profile", "v6.12"],
            &["latency", "@"],
            &["timehist", "@", "--wakeups", "--state"],
            &["explain", "@"],
            &["convert", "@", "%.csv"],
            &["convert", "@", "%.json"],
            &["convert", "@", "%.txt"],
            &["convert", "@", "%.pftrace"],
            &["compare", "@", "@"],
        ],
        beside: &[],
    },
    Kind {
        name: "sweep",
        corpus: &["fuzz/corpus/sweep"],
        commands: &[&["sweep", "@", "--threads", "1", "--journal", "%.journal"]],
        beside: &["fuzz/corpus/sweep/base.toml"],
    },
    Kind {
        name: "journal",
        corpus: &["fuzz/corpus/journal"],
        commands: &[&["sweep", "fuzz/corpus/sweep/seeds.toml", "--threads", "1", "--journal", "@"]],
        beside: &[],
    },
    Kind {
        name: "schedstat",
        corpus: &["fuzz/corpus/schedstat"],
        commands: &[&["schedstat", "@"], &["schedstat", "fuzz/corpus/schedstat/v17.schedstat", "@"]],
        beside: &[],
    },
];

/// What is asked for on the command line.
struct Asked {
    mutants: u64,
    /// The number of the first one.
    from: u64,
    seed: u64,
    kinds: Vec<String>,
}

const USAGE: &str = "usage: cargo xtask fuzz [--mutants N] [--from N] [--seed N] [KIND]...";

impl Asked {
    fn of(mut words: impl Iterator<Item = String>) -> Option<Asked> {
        let mut asked = Asked { mutants: MUTANTS, from: 0, seed: 1, kinds: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--mutants" => asked.mutants = words.next()?.parse().ok()?,
                "--from" => asked.from = words.next()?.parse().ok()?,
                "--seed" => asked.seed = words.next()?.parse().ok()?,
                kind if KINDS.iter().any(|known| known.name == kind) => asked.kinds.push(word),
                _ => return None,
            }
        }
        Some(asked)
    }
}

/// What became of the mutants of one kind.
#[derive(Default)]
struct Found {
    /// How often each exit code came.
    codes: BTreeMap<i32, u64>,
    faults: u64,
    /// How long the slowest took, and its number.
    longest: (Duration, u64),
}

/// What a night has time for.
pub(crate) fn nightly(root: &Path) -> bool {
    told(all(root, &Asked { mutants: OF_A_NIGHT, from: 0, seed: 1, kinds: Vec::new() }))
}

/// Fuzzes every kind, or those that are named.
pub(crate) fn run(root: &Path) -> bool {
    let Some(asked) = Asked::of(std::env::args().skip(2)) else {
        let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        eprintln!("{USAGE}\nkinds: {}", kinds.join(", "));
        return false;
    };
    told(all(root, &asked))
}

fn told(found: Result<u64, String>) -> bool {
    match found {
        Ok(faults) => faults == 0,
        Err(error) => {
            eprintln!("fuzz: {error}");
            false
        }
    }
}

fn all(root: &Path, asked: &Asked) -> Result<u64, String> {
    let program = steps::program(root, &["build", "--release", "--package", "fairground_cli"], "fairground")?;
    let folder = root.join("target/fuzz");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let mut faults = 0;
    for kind in KINDS.iter().filter(|kind| asked.kinds.is_empty() || asked.kinds.iter().any(|name| name == kind.name)) {
        let corpus = corpus(root, kind)?;
        let began = Instant::now();
        let found = fuzz(root, &folder, &program, kind, &corpus, asked);
        let codes: Vec<String> = found.codes.iter().map(|(code, count)| format!("{code}: {count}")).collect();
        println!(
            "{:<10} {} mutants of {} files in {} s; exit codes {}; longest {} ms (mutant {}); {} faults",
            kind.name,
            asked.mutants,
            corpus.len(),
            began.elapsed().as_secs(),
            codes.join(", "),
            found.longest.0.as_millis(),
            found.longest.1,
            found.faults
        );
        faults += found.faults;
    }
    Ok(faults)
}

/// The files of a kind in the order of their paths, each with its name.
fn corpus(root: &Path, kind: &Kind) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut paths = Vec::new();
    for place in kind.corpus {
        list(&root.join(place), &mut paths)?;
    }
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        files.push((name, std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?));
    }
    if files.is_empty() { Err(format!("{}: the corpus is empty", kind.name)) } else { Ok(files) }
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let found = std::fs::metadata(&path).map_err(wrong)?;
        if found.is_dir() {
            list(&path, paths)?;
        } else if found.len() <= SIZE_MAX {
            paths.push(path);
        }
    }
    Ok(())
}

/// Two threads of work, each with files of its own.
fn fuzz(root: &Path, folder: &Path, program: &str, kind: &Kind, corpus: &[(String, Vec<u8>)], asked: &Asked) -> Found {
    let (next, found) = (AtomicU64::new(asked.from), Mutex::new(Found::default()));
    let work = |thread: usize| {
        let own = folder.join(format!("{}-{thread}", kind.name));
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= asked.from.saturating_add(asked.mutants) {
                return;
            }
            let mut draws = Draws::of(asked.seed, number);
            let (name, bytes) = mutate::mutant(corpus, &mut draws);
            let words = kind.commands[draws.below(kind.commands.len())];
            let beside = kind.beside.iter().map(|path| root.join(path)).filter(|path| !path.ends_with(&name));
            let ran = put(&own, &name, &bytes, beside).and_then(|mutant| one(root, &mutant, program, words));
            let _ = std::fs::remove_dir_all(&own);
            let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match ran {
                Ok((status, time)) => {
                    found.longest = found.longest.max((time, number));
                    *found.codes.entry(status.and_then(|status| status.code()).unwrap_or(-1)).or_default() += 1;
                    if !status.and_then(|status| status.code()).is_some_and(|code| CODES.contains(&code)) {
                        found.faults += 1;
                        keep(folder, kind, words, number, &name, &bytes, status, found.faults);
                    }
                }
                Err(error) => {
                    eprintln!("fuzz: {error}");
                    found.faults += 1;
                }
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|thread| drop(scope.spawn(move || work(thread)))));
    found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Writes a mutant into a folder of its own, with the files that lie beside it.
fn put(own: &Path, name: &str, bytes: &[u8], beside: impl Iterator<Item = PathBuf>) -> Result<PathBuf, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", own.display());
    std::fs::create_dir_all(own).map_err(wrong)?;
    let mutant = own.join(name);
    std::fs::write(&mutant, bytes).map_err(wrong)?;
    for path in beside {
        std::fs::copy(&path, own.join(path.file_name().unwrap_or_default())).map_err(wrong)?;
    }
    Ok(mutant)
}

/// Runs a command over a mutant; no status where it did not end.
fn one(root: &Path, mutant: &Path, program: &str, words: &[&str]) -> Result<(Option<ExitStatus>, Duration), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", mutant.display());
    let out = mutant.with_file_name("out");
    let word = |word: &&str| match word.strip_prefix('%') {
        Some(ending) => format!("{}{ending}", out.display()),
        None if *word == "@" => mutant.display().to_string(),
        None => word.to_string(),
    };
    let mut shell = Command::new("sh");
    shell.args(["-c", LIMITS, "sh", program]).args(words.iter().map(word)).current_dir(root);
    // Several arenas of the allocator are address space that nobody uses.
    shell.env("MALLOC_ARENA_MAX", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = shell.spawn().map_err(wrong)?;
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(wrong)? {
            break Some(status);
        }
        if began.elapsed() > PATIENCE {
            child.kill().map_err(wrong)?;
            child.wait().map_err(wrong)?;
            break None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    Ok((status, began.elapsed()))
}

/// Writes a mutant down that is a fault, and says how it is seen again.
#[expect(clippy::too_many_arguments, reason = "they are the line that is printed")]
fn keep(folder: &Path, kind: &Kind, words: &[&str], number: u64, name: &str, bytes: &[u8], status: Option<ExitStatus>, nr: u64) {
    if nr > KEPT {
        return;
    }
    let ended = status.map_or_else(|| "it did not end".to_string(), |status| status.to_string());
    let path = folder.join(format!("fault-{}-{number}-{name}", kind.name));
    let written = std::fs::write(&path, bytes).map_or_else(|error| error.to_string(), |()| path.display().to_string());
    println!("FAULT, {ended}: fairground {}", words.join(" ").replace('@', &written));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_corpus_and_the_same_seed_makes_the_same_mutants() {
        let root = crate::root();
        for kind in KINDS {
            let corpus = corpus(&root, kind).unwrap();
            let made = |seed| {
                let one = |number| mutate::mutant(&corpus, &mut Draws::of(seed, number));
                (0..20).map(one).collect::<Vec<_>>()
            };
            assert_eq!(made(1), made(1), "{}", kind.name);
            assert_ne!(made(1), made(2), "{}", kind.name);
            let changed = made(1).iter().filter(|(name, bytes)| !corpus.contains(&(name.clone(), bytes.clone()))).count();
            assert!(changed >= 15, "{}: {changed}", kind.name);
        }
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let asked = |words: &[&str]| Asked::of(words.iter().map(ToString::to_string));
        let some = asked(&["--mutants", "7", "trace", "--seed", "3"]).unwrap();
        assert_eq!((some.mutants, some.seed, some.kinds), (7, 3, vec!["trace".to_string()]));
        assert!(asked(&["--mutants"]).is_none() && asked(&["traces"]).is_none());
    }
}
