//! `conform` of what our own simulator writes: the core that made a trace agrees with all of it.
#![allow(clippy::panic, reason = "a test stops where it fails")]

use fairground::output::Outputs;
use fairground::run::{RunOptions, run};
use fairground_conform::Kind;
use fairground_recordings::conform::{ConformOptions, Conformance, conform};
use fairground_scenario::{Control, Overrides, Scenario};
use fairground_stdx::{RngStream, StreamKind};
use std::fmt::Write;
use std::path::Path;

const KERNELS: [&str; 6] = ["v5.10", "v6.1", "v6.6", "v6.12", "v6.18", "v7.2"];

/// What random systems have beside tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Groups {
    None,
    /// Nested groups of different weights.
    Weights,
    /// The same with quotas, of which one may lie in another.
    Quotas,
}

/// The paths of the groups that a system has, outer ones first; the root group is the empty path.
const PATHS: [&str; 4] = ["", "/a", "/a/x", "/b"];

/// A random set of hogs, of tasks that sleep now and then and of a pair that hands a message to and fro.
fn scenario(seed: u64, cpus: u64, groups: Groups) -> String {
    let mut dice = RngStream::new(seed, StreamKind::Vopr, cpus as u32);
    let mut rows = Vec::new();
    for row in 0..dice.between(1, 2 * cpus + 1) {
        rows.push(format!("name = \"hog{row}\", hog = true, nice = {}", nice(&mut dice)));
    }
    for row in 0..dice.between(1, 2 * cpus + 1) {
        let (run, sleep) = (dice.between(20, 4_000), dice.between(50, 9_000));
        let nice = nice(&mut dice);
        rows.push(format!("name = \"sleeper{row}\", do = [\"run {run}us\", \"sleep {sleep}us\"], nice = {nice}"));
    }
    if dice.below(2) == 0 {
        let (one, other) = (dice.between(5, 400), dice.between(5, 400));
        rows.push(format!("name = \"asks\", do = [\"run {one}us\", \"write there\", \"read back\"]"));
        rows.push(format!("name = \"answers\", do = [\"read there\", \"run {other}us\", \"write back\"]"));
    }
    let mut text = format!("title = \"random\"\nseed = {seed}\nduration = \"200ms\"\n[machine]\npreset = \"smp-{cpus}\"\n");
    if groups != Groups::None {
        for path in PATHS.iter().filter(|path| !path.is_empty()) {
            writeln!(text, "[[group]]\npath = \"{path}\"\n\"cpu.weight\" = {}", dice.between(20, 400)).expect("a text can be written to");
            if groups == Groups::Quotas && dice.below(3) > 0 {
                let period = dice.between(10, 60) * 1_000;
                let quota = period * dice.between(20, 150) / 100;
                writeln!(text, "\"cpu.max\" = \"{quota} {period}\"").expect("a text can be written to");
            }
        }
    }
    text += "[[workload]]\npipes = { there = 1, back = 1 }\ntasks = [\n";
    for row in rows {
        let path = if groups == Groups::None { "" } else { PATHS[dice.below(PATHS.len() as u64) as usize] };
        let group = if path.is_empty() { String::new() } else { format!(", group = \"{path}\"") };
        writeln!(text, "    {{ {row}{group} }},").expect("a text can be written to");
    }
    text + "]\n"
}

fn nice(dice: &mut RngStream) -> i32 {
    [0, 0, 0, 0, -5, -1, 5, 10, 19][dice.below(9) as usize]
}

/// Runs it, writes it in this format and compares that with the kernel that made it.
fn compared(text: &str, kernel: &str, cpus: u64, ending: &str) -> Conformance {
    let machine = Some(format!("smp-{cpus}"));
    let overrides = Overrides { profile: Some(kernel.to_string()), machine, ..Overrides::default() };
    let scenario = Scenario::parse("random.toml", text, Path::new(""), &overrides).expect("the text is a scenario");
    let file = std::env::temp_dir().join(format!("fairground-own-{}-{kernel}-{cpus}.{ending}", std::process::id()));
    let told = file.with_extension("toml");
    std::fs::write(&told, text).expect("a file can be written");
    let mut outputs = Outputs::for_run(std::slice::from_ref(&file), &scenario).expect("a file can be written");
    run(&scenario, &RunOptions::default(), &mut outputs, Control::none()).expect("it runs");
    outputs.finish(true).expect("it is written");
    let grouped = text.contains("[[group]]").then(|| told.clone());
    let options = ConformOptions { overrides, scenario: grouped, keep: 20, ..ConformOptions::default() };
    let made = conform(&file, &options, Control::none());
    [&file, &told].into_iter().for_each(|file| std::fs::remove_file(file).expect("it is there"));
    made.unwrap_or_else(|error| panic!("{kernel}, {cpus} CPUs: {error}\n{text}"))
}

/// The kinds that do not agree in all decisions, each as `pick 5 of 7`.
fn disagreements(made: &Conformance) -> Vec<String> {
    let kinds = Kind::ALL.into_iter().filter(|&kind| kind != Kind::SelectCpu).map(|kind| (kind.name(), made.row(kind).all));
    let vruntimes = made.outcome.vruntimes;
    // Whether a writer to a pipe said that it is about to sleep is in no record: of a choice, what the rules allow is compared.
    let (choices, allowed, _) = made.outcome.placement.sums(false);
    let (births, fork_allowed, _) = made.outcome.placement.sums(true);
    kinds
        .map(|(name, row)| (name, row.agree, row.decisions))
        .chain([("vruntime", vruntimes.exact, vruntimes.compared)])
        .chain([("select_cpu", allowed, choices), ("births", fork_allowed, births)])
        .filter(|row| row.1 != row.2)
        .map(|(name, agree, all)| format!("{name} {agree} of {all}"))
        .collect()
}

/// Holds random systems of one kernel and size against themselves; returns how many picks were compared.
fn hold(kernel: &str, cpus: u64, seeds: std::ops::Range<u64>, ending: &str, groups: Groups) -> u64 {
    let mut picks = 0;
    for seed in seeds {
        let text = scenario(seed, cpus, groups);
        let made = compared(&text, kernel, cpus, ending);
        let wrong = disagreements(&made);
        assert!(wrong.is_empty(), "seed {seed}, {cpus} CPUs, {kernel}: {}\n{text}", wrong.join(", "));
        picks += made.row(Kind::Pick).all.decisions;
    }
    picks
}

#[test]
fn our_own_traces_agree_in_every_decision() {
    for kernel in KERNELS {
        let picks: u64 = (1..=4).filter(|&cpus| cpus == 1 || kernel != "v7.2").map(|cpus| hold(kernel, cpus, 0..3, "txt", Groups::None)).sum();
        assert!(picks > 2_000, "{kernel}: {picks} picks");
    }
}

#[test]
fn survey() {
    let (cpus, groups) = (std::env::var("CPUS").unwrap().parse().unwrap(), match std::env::var("GROUPS").unwrap().as_str() { "q" => Groups::Quotas, "w" => Groups::Weights, _ => Groups::None });
    let kernels = std::env::var("KERNELS").unwrap_or_else(|_| KERNELS.join(","));
    let seeds: u64 = std::env::var("SEEDS").unwrap().parse().unwrap();
    for kernel in kernels.split(',') {
        for seed in 0..seeds {
            let text = scenario(seed, cpus, groups);
            let made = compared(&text, kernel, cpus, &std::env::var("END").unwrap_or("txt".into()));
            let wrong = disagreements(&made);
            println!("{kernel} seed {seed} picks {:?}: {}", made.row(Kind::Pick).all, wrong.join(", "));
            if std::env::var("SHOW").is_ok() && !wrong.is_empty() {
                println!("{text}");
                for (what, n) in &made.outcome.facts { println!("   {n} {what}"); }
                for row in made.outcome.mismatches.iter().take(6) { println!("{}", fairground_recordings::conform::explain(&made, row)); }
                for row in made.outcome.vruntime_errors.iter().take(4) { println!("{row:?}"); }
                return;
            }
        }
    }
}

#[test]
fn our_own_traces_agree_in_each_format_that_has_all_records() {
    for ending in ["csv", "json"] {
        hold("v6.12", 2, 3..5, ending, Groups::None);
    }
}

#[test]
#[ignore = "takes minutes: for the nightly run"]
fn many_of_our_own_traces_agree_in_every_decision() {
    for kernel in KERNELS {
        (1..=4).filter(|&cpus| cpus == 1 || kernel != "v7.2").for_each(|cpus| {
            hold(kernel, cpus, 0..60, "txt", Groups::None);
        });
    }
}
