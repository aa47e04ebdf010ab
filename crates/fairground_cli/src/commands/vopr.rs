//! `fairground vopr`.

use super::{EXIT_NOTHING, Example};
use crate::flags::whole;
use crate::interrupt;
use crate::progress::{Bar, Unit};
use crate::show::{self, tell};
use crate::style::{is_full, layout};
use fairground::output::TextOutput;
use fairground_report::{Cell, Document, Table, columns};
use fairground_scenario::{Control, Error, Overrides, Scenario};
use fairground_vopr::{Case, Coverage, Failure, Found, Hunt, hunt, replay, time_limit};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Run random whole systems under every invariant.
///
/// A seed makes a machine, a kernel, tasks and changes in mid-run. What breaks an invariant is made smaller as
/// long as it breaks it, and written as a scenario file.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seeds to run, the second not included
    #[arg(long, value_name = "A..B", conflicts_with_all = ["seed", "runs", "smoke"], value_parser = seeds)]
    seeds: Option<Range<u64>>,
    /// The first seed to run; alone it is the only one
    #[arg(long, value_name = "N", value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// How many seeds to run
    #[arg(long, value_name = "N", conflicts_with = "smoke", value_parser = whole(1..=u64::MAX))]
    runs: Option<u64>,
    /// Begin no further run after so long, as in 60s
    #[arg(long, value_name = "TIME")]
    time: Option<String>,
    /// A few runs, to see that all is in place
    #[arg(long)]
    smoke: bool,
    /// How often each rule decided, as a table; the exit code is 1 if one never did
    #[arg(long)]
    rules: bool,
    /// Run a scenario file under the same checks instead; with -o it is made smaller if it fails
    #[arg(long, value_name = "SCENARIO", conflicts_with_all = ["seeds", "seed", "runs", "time", "smoke"])]
    replay: Option<PathBuf>,
    /// Where the scenario of a failing run is written; vopr-SEED.toml if left out
    #[arg(short, long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Rules that are named of those that never decided.
const NAMED: usize = 8;
/// Runs if nothing is said about how many.
const RUNS: u64 = 1_000;
/// Runs of `--smoke`.
const SMOKE: u64 = 50;
/// Exit code of `--rules` if a rule decided nothing.
const EXIT_MISSED: u8 = 1;
/// Exit code of a broken invariant.
const EXIT_BROKEN: u8 = 101;

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let wrong = || "write two numbers, the smaller first, as in 0..1000".to_string();
    let (low, high) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (low, high) = (number(low)?, number(high)?);
    if low < high { Ok(low..high) } else { Err(wrong()) }
}

/// Examples of the help.
pub(crate) const EXAMPLES: &[Example] = &[
    ("vopr --seed 1 --runs 1000", "a thousand random systems with every invariant checked"),
    ("vopr --seed 1 --runs 100000 --rules", "how often each rule of the scheduler decided, and in how many systems"),
    ("vopr --replay vopr-17.toml -o smaller.toml", "a failing one again, made smaller"),
];

pub(crate) fn run(args: &Args, json: bool) -> Result<u8, Error> {
    let replayed = args.replay.as_deref().map(|path| Case::of_scenario(&Scenario::load(path, &Overrides::default())?));
    let (replayed, plan) = (replayed.transpose()?, plan(args)?);
    let output = args.output.as_deref().map(TextOutput::open).transpose()?;
    let found = match replayed {
        Some(case) => replay(case, output.is_some()),
        None => {
            let bar = Bar::new("hunting", if plan.time.is_some() { Unit::Part } else { Unit::Runs });
            let found = hunt(&plan, Control::new(interrupt::flag(), &bar));
            bar.finish();
            found
        }
    };
    let written = found.failure.as_deref().map(|failure| hand_on(args, output, failure)).transpose()?;
    let command = found.failure.as_deref().zip(written.as_deref()).map(|(failure, file)| failure.replay(file));
    if json {
        show::document(&document(&found, written.as_deref(), command.as_deref()))?;
    } else {
        show::lines(&summary(&found))?;
        if args.rules {
            show::text(&format!("\n{}", rules(&found.coverage).laid_out(layout())))?;
        }
    }
    if let (Some(failure), Some(command)) = (&found.failure, &command) {
        tell!("broken invariant: {}", failure.what);
        tell!("  seed {}; to see it again: {command}", failure.case.seed);
        return Ok(EXIT_BROKEN);
    }
    if found.interrupted {
        return Ok(interrupt::told("what is shown ends there"));
    }
    if found.runs == 0 {
        tell!("not one system was run");
        return Ok(EXIT_NOTHING);
    }
    if args.rules {
        let missed: Vec<&str> = found.coverage.missed().map(|rule| rule.slug()).collect();
        if !missed.is_empty() {
            tell!("never decided in {} systems: {}", found.runs, missed.join(", "));
            return Ok(EXIT_MISSED);
        }
    }
    Ok(0)
}

fn plan(args: &Args) -> Result<Hunt, Error> {
    let limit = |text: &String| {
        let wrong = |error| Error::one("--time", format!("`{text}`: {error}"), "Write it with its unit, as in `--time 60s`.");
        time_limit(text).map_err(wrong)
    };
    let time = args.time.as_ref().map(limit).transpose()?;
    let first = args.seed.unwrap_or(0);
    let runs = match (args.smoke, args.runs, args.seed, time) {
        (true, ..) => SMOKE,
        (_, Some(runs), ..) => runs,
        (_, None, Some(_), None) => 1,
        (_, None, _, Some(_)) => u64::MAX,
        (_, None, None, None) => RUNS,
    };
    let last = match time {
        Some(_) => Some(first.saturating_add(runs)),
        None => first.checked_add(runs),
    };
    let (Some(last), true) = (last, first < u64::MAX) else {
        let message = format!("there are no {runs} seeds from {first} on");
        return Err(Error::one("--seed", message, format!("Seeds go up to {}.", u64::MAX - 1)));
    };
    Ok(Hunt { seeds: args.seeds.clone().unwrap_or(first..last), time })
}

/// Writes the scenario of a failure. A replayed file is left as it is, unless another place is named.
fn hand_on(args: &Args, output: Option<TextOutput>, failure: &Failure) -> Result<String, Error> {
    let output = match (output, &args.replay) {
        (Some(output), _) => output,
        (None, Some(path)) => return Ok(path.display().to_string()),
        (None, None) => TextOutput::open(Path::new(&format!("vopr-{}.toml", failure.case.seed)))?,
    };
    let written = output.write(&failure.case.to_string())?;
    show::written(&written);
    Ok(written.display().to_string())
}

fn summary(found: &Found) -> String {
    let coverage = &found.coverage;
    let mut text = format!("{} runs held, {} events, {} migrations\n", found.runs, found.events, found.migrations);
    let profiles: Vec<String> = coverage.profiles.iter().map(|(name, runs)| format!("{name} {runs}")).collect();
    text.push_str(&format!("kernels: {}\n", profiles.join(", ")));
    let missed: Vec<&str> = coverage.missed().map(|rule| rule.slug()).collect();
    text.push_str(&format!("rules that decided: {}", coverage.rules.len()));
    if !missed.is_empty() {
        let shown = if is_full() { missed.len() } else { NAMED.min(missed.len()) };
        let more = missed.len() - shown;
        let more = if more > 0 { format!(", and {more} more (--full)") } else { String::new() };
        text.push_str(&format!("; never: {}{more}", missed[..shown].join(", ")));
    }
    text.push('\n');
    for (warn, runs) in &coverage.warns {
        text.push_str(&format!("kernel-warn {} in {runs} systems: {}\n", warn.slug(), warn.condition()));
    }
    text
}

/// Rules by how often they decided. Of a kernel that has not what a rule needs nothing is asked.
fn rules(coverage: &Coverage) -> Table {
    let columns =
        columns![left "rule", right "decisions", right "systems", right "of" "systems_with", right "seed", left "needs"];
    let mut table = Table::new("rules", "rules", columns);
    for row in coverage.rows() {
        table.push(vec![
            row.rule.into(),
            Cell::count(row.decided.decisions),
            Cell::count(row.decided.runs),
            Cell::count(row.possible),
            if row.decided.runs > 0 { Cell::new(row.decided.first.to_string(), row.decided.first) } else { Cell::none() },
            row.needs.into(),
        ]);
    }
    table.note("systems: those in which the rule decided, of those whose kernel has what it needs; seed: the first of them");
    table
}

fn document(found: &Found, file: Option<&str>, command: Option<&str>) -> Document {
    let reasons: serde_json::Map<String, Value> =
        found.coverage.rules.iter().map(|(rule, decided)| (rule.slug().to_string(), json!(decided.decisions))).collect();
    let missed: Vec<&str> = found.coverage.missed().map(|reason| reason.slug()).collect();
    let failure = found.failure.as_ref().map(|failure| {
        json!({ "what": failure.what, "seed": failure.case.seed, "scenario": failure.case.to_string(), "file": file,
            "replay": command })
    });
    let warns: serde_json::Map<String, Value> =
        found.coverage.warns.iter().map(|(warn, runs)| (warn.slug().to_string(), json!(runs))).collect();
    let mut document = Document::new("vopr", &[], None, Some(found.digest));
    document
        .set("runs", found.runs)
        .set("events", found.events)
        .set("migrations", found.migrations)
        .set("profiles", json!(found.coverage.profiles))
        .set("rules", reasons)
        .set("rules_never", missed)
        .set("kernel_warns", warns)
        .set_tables(&[rules(&found.coverage)])
        .set("failure", failure);
    document
}
