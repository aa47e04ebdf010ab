//! Every switch of the table of features has a scenario in which it matters: run with it on and off, in every kernel that has it.
//!
//! A run is its digest; of a switch on which no schedule depends, a count of what it makes the kernel do is held beside it. The golden file
//! has both of each pair, and the first record in which they part; `UPDATE_EXPECT=1` writes it anew, with docs/features.md and
//! docs/kernels.md.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

mod pairs;

use expect_test::expect_file;
use fairground::lists;
use fairground_model::features::Feat;
use fairground_model::{Decision, Op, Reason, Sink, TraceEvent};
use fairground_scenario::{Overrides, Scenario};
use fairground_sched::profile::{KnownKind, Profile};
use fairground_sim::Simulation;
use fairground_stdx::{CpuId, Instant, Ns};
use pairs::{PAIRS, Pair, Seen};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Switches of kernels that may not be run yet have no pair there.
fn profiles() -> Vec<Profile> {
    let plain = Profile::known().into_iter().filter(|known| known.kind == KnownKind::Modelled && !known.name.contains('+'));
    plain.map(|known| Profile::parse(&known.name).unwrap()).collect()
}

#[derive(Default)]
struct Records {
    all: Vec<(Instant, CpuId, TraceEvent)>,
    reasons: BTreeMap<Reason, u64>,
}

impl Sink for Records {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        if let TraceEvent::Decision(Decision { reason, .. }) = event {
            *self.reasons.entry(*reason).or_default() += 1;
        }
        self.all.push((at, cpu, *event));
    }
}

struct Ran {
    records: Records,
    digest: u128,
    ipis: u64,
}

fn run(pair: &Pair, profile: &str, feature: String) -> Ran {
    let path =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/features")).join(format!("{}.toml", pair.scenario));
    let features = pair.with.iter().map(|name| name.to_string()).chain([feature]).collect();
    let set = pair.set.iter().map(|text| text.to_string()).collect();
    let overrides = Overrides { profile: Some(profile.to_string()), features, set, ..Overrides::default() };
    let scenario = Scenario::load(&path, &overrides).unwrap_or_else(|error| panic!("{} in {profile}: {error}", pair.scenario));
    let mut simulation = Simulation::new(scenario.setup().unwrap()).unwrap();
    let mut records = Records::default();
    simulation.run(&mut records).unwrap();
    Ran { records, digest: simulation.digest(), ipis: simulation.op_total(Op::IpiSend) }
}

/// What a record is, in a word.
fn kind(record: Option<&(Instant, CpuId, TraceEvent)>) -> String {
    match record {
        None => "the end".to_string(),
        Some((_, _, TraceEvent::Decision(Decision { reason, .. }))) => reason.slug().to_string(),
        Some((_, _, event)) => {
            let text = format!("{event:?}");
            text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_string()
        }
    }
}

/// The line of the golden file for a pair, or why it is none.
fn compare(pair: &Pair, profile: &Profile) -> Result<String, String> {
    let name = pair.feat.row().name;
    let [on, off] = ["", "NO_"].map(|no| run(pair, &profile.name, format!("{no}{name}")));
    let at = on.records.all.iter().zip(&off.records.all).take_while(|(on, off)| on == off).count();
    let firsts = [&on, &off].map(|ran| ran.records.all.get(at));
    let figures = |ran: &Ran| match pair.seen {
        Seen::Records => String::new(),
        Seen::Reason(reason) => format!(" {} {}", reason.slug(), ran.records.reasons.get(&reason).copied().unwrap_or_default()),
        Seen::Ipis => format!(" {} interrupts", ran.ipis),
    };
    let differs = match pair.seen {
        Seen::Records => on.digest != off.digest,
        Seen::Reason(_) | Seen::Ipis => figures(&on) != figures(&off),
    };
    if !differs {
        return Err(format!("{name} in {}: nothing differs in {}", profile.name, pair.scenario));
    }
    let when = firsts.iter().flatten().map(|row| row.0.ns()).min().unwrap_or_default();
    let [one, two] = firsts.map(kind);
    Ok(format!(
        "{name} {} on {:032x}{} off {:032x}{} first at {}: {one} | {two}\n",
        profile.name,
        on.digest,
        figures(&on),
        off.digest,
        figures(&off),
        Ns(when),
    ))
}

/// The pair of a switch in a kernel.
fn pair_of(feat: Feat, profile: &Profile) -> Option<&'static Pair> {
    PAIRS.iter().find(|pair| pair.feat == feat && (pair.kernels.is_empty() || pair.kernels.contains(&profile.name.as_str())))
}

#[test]
fn every_switch_has_a_pair_that_differs_wherever_it_acts() {
    let (mut golden, mut wrong) = (String::new(), Vec::new());
    let only = std::env::var("FEATURE").ok();
    for &feat in Feat::ALL {
        let name = feat.row().name;
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for profile in profiles().iter().filter(|profile| profile.has_feature(feat)) {
            if let Some(why) = profile.idle_switch(feat) {
                let other = if profile.feats.has(feat) { format!("NO_{name}") } else { name.to_string() };
                let refused = profile.clone().with_feature(&other).expect_err("it does nothing");
                assert!(refused.message.contains(name) && refused.message.contains(why), "{refused}");
                writeln!(golden, "{name} {} refused: {why}", profile.name).unwrap();
                continue;
            }
            match pair_of(feat, profile).ok_or_else(|| format!("{name} in {} has no pair", profile.name)) {
                Ok(pair) => match compare(pair, profile) {
                    Ok(line) => golden += &line,
                    Err(why) => wrong.push(why),
                },
                Err(why) => wrong.push(why),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if only.is_none() {
        expect_file!["golden.txt"].assert_eq(&golden);
    } else {
        print!("{golden}");
    }
}

#[test]
fn the_page_of_switches_is_made_from_the_tables() {
    expect_file!["../../../../docs/features.md"].assert_eq(&features_page());
}

#[test]
fn the_page_of_kernels_is_made_from_the_tables() {
    let [p, q] = ["v5.18", "v6.6"].map(|name| lists::profile_to_show(name).unwrap());
    let page = format!(
        "# What changed between two kernels\n\n\
         <!-- Made by `UPDATE_EXPECT=1 cargo test -p fairground feature_pairs`; do not edit. -->\n\n\
         `fairground profile diff v5.18 v6.6` prints what the scheduler of the one does otherwise than that of the other: each change\n\
         with the version that made it. Both may be any kernel from v4.12 to v7.2, also those that cannot be run, since their state is in\n\
         the tables; `--json` prints the same as a table. It covers what the simulator models, and nothing else.\n\n\
         ```text\n{}```\n",
        lists::profile_notes(&p, &q, None)
    );
    expect_file!["../../../../docs/kernels.md"].assert_eq(&page);
}

fn features_page() -> String {
    let mut page = String::from(
        "# Feature switches\n\n\
         <!-- Made by `UPDATE_EXPECT=1 cargo test -p fairground feature_pairs`; do not edit. -->\n\n\
         The rows of `/sys/kernel/debug/sched/features`, for each kernel that has one: `--feature NAME` turns it on, `--feature NO_NAME` off.\n\
         A switch of another kernel is refused by name, and so is turning one that does nothing in a kernel. The scenario of a row lies in\n\
         `scenarios/features/`; a test runs it with the switch on and off in every kernel that can be run, and the two runs differ.\n\n\
         | switch | kernels | default | what it does | pair | differs in |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for &feat in Feat::ALL {
        let row = feat.row();
        let (scenario, seen) = match PAIRS.iter().find(|pair| pair.feat == feat) {
            None => ("-".to_string(), refusals(feat)),
            Some(pair) => (scenarios_of(feat), format!("{}{}", pair.seen.words(), refused_in(feat))),
        };
        writeln!(page, "| {} | {} | {} | {} | {scenario} | {seen} |", row.name, row.kernels(), row.defaults(), row.sentence)
            .unwrap();
    }
    page
}

fn scenarios_of(feat: Feat) -> String {
    let mut names: Vec<String> = PAIRS.iter().filter(|pair| pair.feat == feat).map(Pair::text).collect();
    names.dedup();
    names.join("; ")
}

/// Kernels in which turning a switch is refused, and why.
fn refusals(feat: Feat) -> String {
    let mut rows: Vec<(&str, Vec<String>)> = Vec::new();
    for profile in profiles().iter().filter(|profile| profile.has_feature(feat)) {
        if let Some(why) = profile.idle_switch(feat) {
            match rows.iter_mut().find(|row| row.0 == why) {
                Some(row) => row.1.push(profile.name.clone()),
                None => rows.push((why, vec![profile.name.clone()])),
            }
        }
    }
    rows.iter().map(|(why, names)| format!("refused in {}: {why}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

fn refused_in(feat: Feat) -> String {
    let refused = refusals(feat);
    if refused.is_empty() { refused } else { format!("; {refused}") }
}
