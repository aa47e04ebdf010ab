//! `fairground_exam explain` plants delays, `fairground_exam bisect` plants changes of the scheduler, `fairground_exam advise` draws
//! services: they ask, and print how many answers are right.

use clap::{Parser, Subcommand};
use fairground_exam::{
    Asked, FLOORS, FLOORS_OF_SECOND, Family, KINDS, KINDS_OF_CHANGE, KNOBS, NOTHING, Nearness, Truths, are_good, changes_table,
    examine, examine_changes, examine_services, examine_sides, families, found_percent, nearness, page, percent, second_families,
    services_table, sides_table, table,
};
use fairground_scenario::Error;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many answers are right, of questions whose answer is known.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    exam: Exam,
}

#[derive(Subcommand)]
enum Exam {
    /// Planted delays, and what `explain` says of them
    Explain(Explain),
    /// Planted changes between two states of the scheduler, and what `bisect` names
    Bisect(Bisect),
    /// Two sides that differ by nothing, or by a known effect, and what `compare` says
    Compare(Compare),
    /// Random services with a goal, and how near the limit is that `advise` answers
    Advise(Advise),
}

#[derive(clap::Args)]
struct Bisect {
    /// The seeds: one, or the first and the last
    #[arg(long, default_value = "1..5", value_name = "A..B", value_parser = seeds)]
    seeds: RangeInclusive<u64>,
    /// Only this kind of change; may be given again
    #[arg(long, value_name = "NAME")]
    kind: Vec<String>,
    /// Also print what was said where it is not all right
    #[arg(long)]
    show_misses: bool,
    /// Fail if fewer of a hundred are found alone
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    floor: usize,
}

#[derive(clap::Args)]
struct Compare {
    /// The seeds: one, or the first and the last
    #[arg(long, default_value = "1..4", value_name = "A..B", value_parser = seeds)]
    seeds: RangeInclusive<u64>,
    /// Only this kind of difference, `nothing` for equal sides; may be given again
    #[arg(long, value_name = "NAME")]
    kind: Vec<String>,
    /// Fail if fewer than 80 of 100 effects are found, or more than 5 of 100 comparisons of equal sides have a verdict, within chance
    #[arg(long)]
    check: bool,
}

#[derive(clap::Args)]
struct Advise {
    /// The seeds: one, or the first and the last
    #[arg(long, default_value = "1..2", value_name = "A..B", value_parser = seeds)]
    seeds: RangeInclusive<u64>,
    /// Only this kind of service; may be given again
    #[arg(long, value_name = "NAME")]
    kind: Vec<String>,
    /// Write the scenarios of answers that are not near into this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Keep what brute force found in this file, and take what is there from it: for another try with the same model
    #[arg(long, value_name = "FILE")]
    truths: Option<PathBuf>,
    /// Fail if fewer than 90 of 100 answers are near, one is wrong about none, or fewer than 95 of 100 fresh runs hold, within chance
    #[arg(long)]
    check: bool,
}

#[derive(clap::Args)]
struct Explain {
    /// The seeds: one, or the first and the last
    #[arg(long, default_value = "1..10", value_name = "A..B", value_parser = seeds)]
    seeds: RangeInclusive<u64>,
    /// Only this family; may be given again
    #[arg(long, value_name = "NAME")]
    family: Vec<String>,
    /// The second exam, with scenes as people meet them
    #[arg(long)]
    second: bool,
    /// Show so many answers that are not all right
    #[arg(long, value_name = "N", default_value_t = 0)]
    show_misses: usize,
    /// Write the scenarios of these answers into this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Write the table into this page
    #[arg(long, value_name = "FILE", conflicts_with = "family")]
    page: Option<PathBuf>,
    /// Fail if the table of this page is another one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "page"])]
    check: Option<PathBuf>,
}

fn seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err("write a seed, or the first and the last as in 1..10".to_string()),
    }
}

fn main() -> ExitCode {
    let result = match Args::parse().exam {
        Exam::Explain(args) => run(&args),
        Exam::Bisect(args) => of_changes(&args),
        Exam::Compare(args) => of_sides(&args),
        Exam::Advise(args) => of_services(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(args: &Explain) -> Result<ExitCode, Error> {
    let all: Vec<&'static Family> = if args.second { second_families().collect() } else { families().collect() };
    let is_chosen = |family: &Family| args.family.is_empty() || args.family.iter().any(|name| name == family.name);
    let chosen: Vec<&'static Family> = all.iter().copied().filter(|family| is_chosen(family)).collect();
    if let Some(unknown) = args.family.iter().find(|name| chosen.iter().all(|family| family.name != name.as_str())) {
        let names: Vec<&str> = all.iter().map(|family| family.name).collect();
        return Err(Error::one("--family", format!("no family is called `{unknown}`"), format!("One of {}.", names.join(", "))));
    }
    let asked = examine(&chosen, args.seeds.clone())?;
    let table = table(&chosen, &asked);
    print!("{table}");
    let misses: Vec<&Asked> = asked.iter().filter(|row| !row.is_all_right()).collect();
    misses.iter().take(args.show_misses).for_each(|row| println!("\n{}", row.story()));
    if let Some(folder) = &args.save {
        fs::create_dir_all(folder).map_err(|cause| Error::world("write", folder, cause))?;
        for row in &misses {
            write(&folder.join(format!("{}-{}.toml", row.family, row.seed)), &row.planted.text)?;
        }
    }
    let lines = page::lines(&chosen, &table);
    if let Some(path) = &args.page {
        write(path, &page::with(&read(path)?, &lines, args.second)?)?;
    }
    if let Some(path) = &args.check {
        let written = read(path)?;
        if page::with(&written, &lines, args.second)? != written {
            eprintln!("{}: the table is another one: write it by --page", path.display());
            return Ok(ExitCode::FAILURE);
        }
    }
    let right = percent(&asked.iter().collect::<Vec<_>>());
    let floors = if args.second { FLOORS_OF_SECOND } else { FLOORS };
    if args.family.is_empty() && !right.is_above(&floors) {
        eprintln!("below the floors of {} % causes, {} % remedies and {} % who ran", floors.cause, floors.lever, floors.who);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn of_changes(args: &Bisect) -> Result<ExitCode, Error> {
    let names: Vec<&str> = KINDS_OF_CHANGE.iter().map(|row| row.1).collect();
    if let Some(unknown) = args.kind.iter().find(|name| !names.contains(&name.as_str())) {
        let hint = format!("One of {}.", names.join(", "));
        return Err(Error::one("--kind", format!("no kind of change is called `{unknown}`"), hint));
    }
    let kinds: Vec<&str> = args.kind.iter().map(String::as_str).collect();
    let rows = examine_changes(&kinds, args.seeds.clone(), |row| {
        eprintln!("{}", row.story());
        if args.show_misses && !row.is_alone() {
            eprintln!("{}\n{}", row.planted.draw.text, row.said);
        }
    })?;
    print!("{}", changes_table(&rows));
    let right = found_percent(&rows.iter().collect::<Vec<_>>());
    if right < args.floor {
        eprintln!("{right} % are found alone, below the floor of {} %", args.floor);
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn of_sides(args: &Compare) -> Result<ExitCode, Error> {
    let names: Vec<&str> = KNOBS.iter().map(|knob| knob.name).chain([NOTHING]).collect();
    if let Some(unknown) = args.kind.iter().find(|name| !names.contains(&name.as_str())) {
        let hint = format!("One of {}.", names.join(", "));
        return Err(Error::one("--kind", format!("no kind of difference is called `{unknown}`"), hint));
    }
    let kinds: Vec<&str> = args.kind.iter().map(String::as_str).collect();
    let exam = examine_sides(&kinds, args.seeds.clone(), |line| eprintln!("{line}"))?;
    print!("{}", sides_table(&exam));
    if args.check && !exam.is_good() {
        eprintln!("fewer than 80 % are found, or more than 5 % of the verdicts are false, beyond chance");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn of_services(args: &Advise) -> Result<ExitCode, Error> {
    if let Some(unknown) = args.kind.iter().find(|name| KINDS.iter().all(|kind| kind.name != name.as_str())) {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        return Err(Error::one(
            "--kind",
            format!("no kind of service is called `{unknown}`"),
            format!("One of {}.", names.join(", ")),
        ));
    }
    let kinds: Vec<&str> = args.kind.iter().map(String::as_str).collect();
    // A line for each as it comes: an answer takes seconds.
    let mut truths = Truths::of_file(args.truths.clone())?;
    let rows = examine_services(&kinds, args.seeds.clone(), &mut truths, |row| eprintln!("{}", row.story()))?;
    print!("{}", services_table(&rows));
    let missed = rows.iter().filter(|row| matches!(nearness(row), Some(Nearness::Far(_) | Nearness::Wrong)));
    if let Some(folder) = &args.save {
        fs::create_dir_all(folder).map_err(|cause| Error::world("write", folder, cause))?;
        for row in missed {
            write(&folder.join(format!("{}-{}.toml", row.service.kind, row.service.seed)), &row.service.text)?;
        }
    }
    if args.check && !are_good(&rows) {
        eprintln!("fewer than 90 % are near, one is wrong about none, or fewer than 95 % of fresh runs hold, beyond chance");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|cause| Error::world("read", path, cause))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|cause| Error::world("write", path, cause))
}
