//! `fairground_scorecard GOLDEN`: the page of `docs/fidelity.md`, or a check of it.

use clap::Parser;
use fairground_scenario::{Control, Error, Progress};
use fairground_scorecard::card::{self, Card};
use fairground_scorecard::golden;
use fairground_scorecard::notes::Notes;
use fairground_scorecard::page::Page;
use fairground_scorecard::report;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

/// How close we are to recorded kernels, as a page of Markdown.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The folder of the recorded sets
    golden: PathBuf,
    /// Write the page to this file, not to stdout
    #[arg(short, long, value_name = "FILE", conflicts_with = "check")]
    output: Option<PathBuf>,
    /// Only a fixed small subset of the sets, and no published figures
    #[arg(long)]
    quick: bool,
    /// Compare with this page: all of it, or with --quick the rows of the subset's sets
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Capacities of CPUs in the sets of a family, before all that its recordings and its name tell
    #[arg(long, value_name = "FAMILY:CPUS=CAPACITY,...")]
    capacities: Vec<String>,
}

/// How far the work is, on a terminal.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn at(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, Error> {
    let notes = Notes::of_this_build()?;
    let mut sets = golden::sets(&args.golden)?;
    golden::give_capacities(&mut sets, &args.capacities)?;
    sets.retain(|set| !args.quick || set.is_quick());
    let cards = measure(sets)?;
    let stale = if args.quick { Vec::new() } else { report::stale(&cards, &notes) };
    if !stale.is_empty() {
        let message = format!("suspected, but nothing is missed because of it: {}", stale.join(", "));
        return Err(Error::one("notes.toml", message, "Take the entry out: what it was about is met."));
    }
    let published = if args.quick { Vec::new() } else { card::published()? };
    let page = report::page(&cards, &published, &notes);
    if let Some(path) = &args.check {
        return check(path, &page, &cards, args.quick);
    }
    match &args.output {
        Some(path) => fs::write(path, page.markdown()).map_err(|cause| Error::world("write", path, cause))?,
        None => print!("{}", page.markdown()),
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(sets: Vec<golden::Set>) -> Result<Vec<Card>, Error> {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}");
    let bar = Bar(ProgressBar::new(sets.len() as u64).with_message("sets"));
    bar.0.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let never = AtomicBool::new(false);
    let cards = card::measure(sets, Control::new(&never, &bar));
    bar.0.finish_and_clear();
    cards
}

/// Whether the page on disk is the one that is made now.
fn check(path: &Path, page: &Page, cards: &[Card], quick: bool) -> Result<ExitCode, Error> {
    let written = fs::read_to_string(path).map_err(|cause| Error::world("read", path, cause))?;
    let sets: BTreeSet<&str> = cards.iter().map(|card| card.set.name.as_str()).collect();
    let differences = page.differences(&written, &sets);
    differences.iter().for_each(|line| eprintln!("{line}"));
    let equal = differences.is_empty() && (quick || written == page.markdown());
    if !equal {
        eprintln!("{} is not what this build gives: write it anew with `cargo xtask fidelity`", path.display());
    }
    Ok(if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
