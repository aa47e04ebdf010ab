//! `fairground_scorecard GOLDEN`: the page of `docs/fidelity.md` with its CSV files, or a check of them.

use clap::Parser;
use fairground_scenario::{Control, Error, Progress};
use fairground_scorecard::card::{self, Card};
use fairground_scorecard::golden;
use fairground_scorecard::notes::Notes;
use fairground_scorecard::page::{FOLDER, Page, differences};
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
    /// Write the page to this file, not to stdout, and its CSV files into the folder `fidelity` beside it
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["check", "quick"])]
    output: Option<PathBuf>,
    /// A file that shows the table of trust between two comments: written with --output, compared with --check
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,
    /// The commit at which the figures are measured
    #[arg(long, value_name = "HASH", default_value = "unknown")]
    commit: String,
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
    if let Some(path) = &args.check {
        let written = read(path)?;
        let commit = commit_of(&written).unwrap_or(&args.commit);
        let page = report::page(&cards, &published, &notes, commit);
        return check(args, path, &written, &page, &cards);
    }
    let page = report::page(&cards, &published, &notes, &args.commit);
    match &args.output {
        Some(path) => write_all(args, path, &page, &cards)?,
        None => print!("{}", page.markdown()),
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|cause| Error::world("read", path, cause))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|cause| Error::world("write", path, cause))
}

/// The page, its files, and the table of trust elsewhere. Files that are not made any more go.
fn write_all(args: &Args, path: &Path, page: &Page, cards: &[Card]) -> Result<(), Error> {
    write(path, &page.markdown())?;
    let (folder, files) = (path.with_file_name(FOLDER), page.files());
    fs::create_dir_all(&folder).map_err(|cause| Error::world("write", &folder, cause))?;
    for (name, text) in &files {
        write(&folder.join(name), text)?;
    }
    for name in csv_files(&folder)?.difference(&files.into_keys().collect()) {
        let gone = folder.join(name);
        fs::remove_file(&gone).map_err(|cause| Error::world("remove", &gone, cause))?;
    }
    if let Some(readme) = &args.readme {
        let text = read(readme)?;
        let [before, _, after] = around_table(readme, &text)?;
        write(readme, &format!("{before}\n{}\n{after}", report::trust(cards).lines().join("\n")))?;
    }
    Ok(())
}

/// The names of the CSV files of a folder.
fn csv_files(folder: &Path) -> Result<BTreeSet<String>, Error> {
    let entries = fs::read_dir(folder).map_err(|cause| Error::world("read", folder, cause))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| name.ends_with(".csv")).collect())
}

/// The two comments around the table of trust in a page that shows it.
const BEGIN: &str = "<!-- by `cargo xtask fidelity` -->\n";
const END: &str = "\n<!-- end -->";

/// What stands before the table of trust, with the first comment; the table; and the rest.
fn around_table<'t>(path: &Path, text: &'t str) -> Result<[&'t str; 3], Error> {
    let found = text.find(BEGIN).map(|at| at + BEGIN.len()).and_then(|from| Some((from, from + text[from..].find(END)?)));
    let hint = format!("Write `{}` before it and `{}` behind it.", BEGIN.trim(), END.trim());
    let (from, to) = found.ok_or_else(|| Error::one(path.display().to_string(), "no place for the table of trust", &hint))?;
    Ok([&text[..from], text[from..to].trim(), &text[to..]])
}

/// The commit that a page names.
fn commit_of(page: &str) -> Option<&str> {
    Some(page.split_once("Measured at `")?.1.split_once('`')?.0)
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

/// Whether what is on disk is what is made now: with `--quick` the rows of the subset's sets, and a table of trust that the page has.
fn check(args: &Args, path: &Path, written: &str, page: &Page, cards: &[Card]) -> Result<ExitCode, Error> {
    let sets: BTreeSet<&str> = cards.iter().map(|card| card.set.name.as_str()).collect();
    let only = args.quick.then_some(&sets);
    let (folder, files) = (path.with_file_name(FOLDER), page.files());
    let mut found = Vec::new();
    for (name, made) in &files {
        let file = folder.join(name);
        found.extend(differences(&file.display().to_string(), &read(&file)?, made, only));
    }
    if !args.quick {
        found.extend(differences(&path.display().to_string(), written, &page.markdown(), None));
        let gone = csv_files(&folder)?;
        let gone = gone.iter().filter(|name| !files.contains_key(*name));
        found.extend(gone.map(|name| format!("{}: is not made any more", folder.join(name).display())));
    }
    if let Some(readme) = &args.readme
        && !written.contains(around_table(readme, &read(readme)?)?[1])
    {
        found.push(format!("{}: its table of trust is not that of {}", readme.display(), path.display()));
    }
    found.iter().for_each(|line| eprintln!("{line}"));
    if found.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{} and its files are not what this build gives: write them anew with `cargo xtask fidelity`", path.display());
    Ok(ExitCode::FAILURE)
}
