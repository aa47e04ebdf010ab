//! How fast a kernel tree runs beside our rules, in pairs:
//! `cargo run --release -p fairground --example tree_rate -- tree:NAME v6.12 [CASE…]`
//!
//! A pair is a run over the tree and one by our rules of the same scenario, one after the other. Counted is CPU time of this
//! thread, making the machine and its tasks included, so what else the machine does counts little. The ratio of a case is the
//! median of its pairs: events per second of the tree over ours.

use fairground::run::{RunOptions, run};
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::error::Error;

/// Pairs of each case.
const PAIRS: usize = 5;

/// Name, duration, machine, prices and workload. All CPUs tick, as they do in a build of a tree, 250 times a second.
const CASES: &[(&str, &str, &str, &str, &str)] = &[
    ("10 hogs on 2 CPUs", "100s", "cores = 2", "zero", "tasks = [{ name = \"h\", count = 10, hog = true }]"),
    ("768 hogs on 384 CPUs", "2s", "preset = \"epyc-9965-1s\"", "zero", "tasks = [{ name = \"h\", count = 768, hog = true }]"),
    ("160 sleepers on 112 CPUs", "300ms", "preset = \"llc112\"", "zero", SLEEPERS),
    ("160 sleepers on 384 CPUs", "300ms", "preset = \"epyc-9965-1s\"", "zero", SLEEPERS),
    ("36 processes on 12 CPUs, 120 ms each second", "100s", "preset = \"box12\"", "zero", PRESS),
    (
        "hackbench on eight Cortex-A53",
        "300ms",
        "preset = \"hikey\"",
        "a53",
        "name = \"hackbench\"\nargs = { groups = 2, loops = 100000 }",
    ),
    ("120 hogs in 2 groups with a quota on 12 CPUs", "10s", "preset = \"box12\"", "zero", QUOTA),
    ("4,000 hogs in 442 groups on 384 CPUs", "500ms", "preset = \"epyc-9965-1s\"", "zero", GROUPS),
];
const SLEEPERS: &str = "tasks = [{ name = \"s\", count = 160, do = [\"run 200us\", \"sleep 300us\"] }]";
const PRESS: &str = "tasks = [{ name = \"p\", count = 36, run = \"120ms\", period = \"1s\" }]";
const QUOTA: &str = "name = \"hog-tree\"\nargs = { tasks = 120, top = 2, middle = 5, leaves = 4 }\n\
                     [[group]]\npath = \"/t0\"\n\"cpu.max\" = \"300000 100000\"\n[[group]]\npath = \"/t1\"\n\"cpu.max\" = \"300000 100000\"";
const GROUPS: &str = "name = \"hog-tree\"\nargs = { tasks = 4000, top = 2, middle = 20, leaves = 10 }";

/// What this thread has spent on CPUs, in ns.
fn cpu_ns() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("no schedstat")?.parse()?)
}

/// Events and ns of one run.
fn timed(text: &str, profile: &str) -> Result<(u64, u64), Box<dyn Error>> {
    let overrides = Overrides { profile: Some(profile.to_string()), ..Overrides::default() };
    let begun = cpu_ns()?;
    let scenario = Scenario::parse("case", text, "".as_ref(), &overrides).map_err(|error| error.to_string())?;
    let outcome = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).map_err(|error| error.to_string())?;
    Ok((outcome.counts.events(), cpu_ns()? - begun))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(tree), Some(rules)) = (words.next(), words.next()) else {
        return Err("usage: tree_rate tree:NAME v6.12 [CASE…]".into());
    };
    let wanted: Vec<String> = words.collect();
    println!(
        "| case | events | {rules}, M/s | {tree}, M/s | ratio | least | most |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (name, duration, machine, prices, workload) in CASES {
        if !(wanted.is_empty() || wanted.iter().any(|word| name.contains(word))) {
            continue;
        }
        let text = format!(
            "duration = \"{duration}\"\n[machine]\n{machine}\nhz = 250\ncosts = \"{prices}\"\nnohz_idle = false\n[[workload]]\n{workload}\n"
        );
        let mut pairs = Vec::new();
        for _ in 0..PAIRS {
            let (theirs, ours) = (timed(&text, &tree)?, timed(&text, &rules)?);
            let rate = |run: (u64, u64)| run.0 as f64 * 1000.0 / run.1 as f64;
            pairs.push((rate(theirs) / rate(ours), rate(ours), rate(theirs), theirs.0));
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ratio, ours, theirs, events) = pairs[PAIRS / 2];
        let (least, most) = (pairs[0].0, pairs[PAIRS - 1].0);
        println!("| {name} | {events} | {ours:.3} | {theirs:.3} | {ratio:.2} | {least:.2} | {most:.2} |");
    }
    Ok(())
}
