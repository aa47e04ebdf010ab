//! A sweep under what happens to programs that run for hours: it is killed, the disk is full, somebody starts it twice, the clock jumps,
//! and the last line of its journal is lost with the power. After each round it is resumed, and its files are those of a sweep that
//! nobody disturbed, byte by byte.
//!
//! `FAIRGROUND_CHAOS=200` asks for so many rounds.

use crate::support::{Folder, command, ok};
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// Rounds if nothing is said; nightly asks for more.
const ROUNDS: u64 = 6;
/// Disturbances of a round.
const BLOWS: u64 = 5;
/// Runs of the sweep.
const RUNS: u64 = 24;
/// A sweep of a fraction of a second that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(60);
const FILES: [&str; 3] = ["o.csv", "o.json", "o.html"];

/// SplitMix64: which disturbance comes when is drawn from the number of the round.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// A folder with a sweep, and how it is run.
struct Round {
    folder: Folder,
    words: Vec<String>,
}

impl Round {
    fn new() -> Round {
        let folder = Folder::new();
        folder.file(
            "a.toml",
            "title = \"a\"\nduration = \"200ms\"\n[machine]\npreset = \"smp-4\"\n[profile]\nkernel = \"v6.12\"\n[[workload]]\n\
             tasks = [{ name = \"hog\", hog = true, count = 5 }, { name = \"p\", run = \"20us\", period = \"100us\", count = 4 }]\n",
        );
        let seeds: Vec<String> = (1..=RUNS).map(|seed| seed.to_string()).collect();
        let sweep = folder.file("s.toml", format!("title = \"s\"\nbase = \"a.toml\"\n[axes]\nseed = [{}]\n", seeds.join(", ")));
        let mut words: Vec<String> = ["sweep", &sweep, "--threads", "2"].map(str::to_string).to_vec();
        for name in FILES {
            words.extend(["-o".to_string(), folder.path(name)]);
        }
        Round { folder, words }
    }
    fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }
    fn begin(&self) -> Child {
        command(&self.words()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
    /// Length of the journal.
    fn written(&self) -> u64 {
        std::fs::metadata(self.folder.path("s.toml.journal")).map_or(0, |found| found.len())
    }
    /// Waits until the journal is so long, or one of the sweeps has ended.
    fn wait_for(&self, bytes: u64, sweeps: &mut [Child]) {
        let began = Instant::now();
        while self.written() < bytes && sweeps.iter_mut().all(|sweep| sweep.try_wait().unwrap().is_none()) {
            assert!(began.elapsed() < LIMIT, "it hangs");
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    /// The files that come out of it.
    fn files(&self) -> Vec<Vec<u8>> {
        FILES.iter().map(|name| std::fs::read(self.folder.path(name)).unwrap()).collect()
    }
}

/// Kills what still runs, and gives how each ended by itself.
fn end(sweeps: Vec<Child>) -> Vec<i32> {
    let ended = |mut sweep: Child| {
        sweep.kill().unwrap();
        sweep.wait().unwrap().code()
    };
    sweeps.into_iter().filter_map(ended).collect()
}

/// A disturbance; `length` is that of a whole journal.
fn strike(round: &Round, length: u64, draws: &mut Draws) -> &'static str {
    let journal = round.folder.path("s.toml.journal");
    // A sweep goes on from what is written: blows fall from there on.
    let written = round.written();
    let later = (written + draws.below(length.saturating_sub(written).max(1))).max(1);
    match draws.below(5) {
        0 => {
            let mut sweeps = vec![round.begin()];
            round.wait_for(later, &mut sweeps);
            assert!(end(sweeps).iter().all(|&code| code == 0));
            "kill -9"
        }
        1 => {
            // No file grows beyond so many blocks, and whoever tries gets an error, as on a full disk.
            let blocks = later / 512;
            let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
            let program = command(&round.words());
            let mut shell = Command::new("sh");
            shell.args(["-c", &script, "sh"]).arg(program.get_program()).args(program.get_args());
            let code = shell.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().code();
            assert!(matches!(code, Some(0 | 3)), "a full disk is told: {code:?}");
            "full disk"
        }
        2 => {
            let mut sweeps = vec![round.begin(), round.begin()];
            round.wait_for(later, &mut sweeps);
            // One has the journal; the other is refused, or comes when the first is done.
            assert!(end(sweeps).iter().all(|&code| code == 0 || code == 2));
            "two writers"
        }
        3 => {
            let seconds = draws.below(4_000_000_000);
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            for name in round.folder.names() {
                File::options().append(true).open(round.folder.path(&name)).unwrap().set_modified(time).unwrap();
            }
            "clock"
        }
        _ => {
            let keep = draws.below(written + 1);
            if let Ok(file) = File::options().write(true).open(&journal) {
                file.set_len(keep).unwrap();
            }
            "torn journal"
        }
    }
}

#[test]
fn whatever_happens_to_a_sweep_its_files_are_those_of_one_that_nobody_disturbed() {
    let rounds = std::env::var("FAIRGROUND_CHAOS").map_or(ROUNDS, |text| text.parse().unwrap());
    let undisturbed = Round::new();
    ok(&undisturbed.words());
    let (right, length) = (undisturbed.files(), undisturbed.written());
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..rounds {
        let (round, mut draws) = (Round::new(), Draws(seed));
        let mut blows = Vec::new();
        for _ in 0..BLOWS {
            let what = strike(&round, length, &mut draws);
            *counts.entry(what).or_insert(0) += 1;
            blows.push(what);
        }
        ok(&round.words());
        assert!(round.files() == right, "round {seed}, after {blows:?}: another result");
        let mut names = round.folder.names();
        names.retain(|name| !FILES.contains(&name.as_str()) && !name.ends_with(".partial"));
        assert_eq!(names, ["a.toml", "s.toml", "s.toml.journal"], "round {seed}, after {blows:?}");
    }
    let told: Vec<String> = counts.iter().map(|(what, count)| format!("{what} {count}")).collect();
    println!("{rounds} of {rounds} rounds with equal bytes; {}", told.join(", "));
}
