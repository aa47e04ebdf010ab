//! Random systems under a kernel's own scheduler and ours at once, behind one engine: each entry is compared.
//!
//! ```text
//! FAIRGROUND_DIFFER=6.12:groups:0..1000 cargo test -p fairground_vopr --features trees --test trees differ::hunt -- --ignored --nocapture
//! FAIRGROUND_DIFFER=6.12:case.toml      the same for a scenario file
//! ```

use super::beside::{Beside, UNABLE};
use super::builds::core;
use fairground_model::balance::Verdict;
use fairground_model::{NullSink, Sink, TraceEvent};
use fairground_scenario::{Overrides, Scenario};
use fairground_sched::Profile;
use fairground_sim::{Simulation, Stopped};
use fairground_stdx::{CpuId, Instant};
use fairground_vopr::{Case, Told, shrink};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// How a run with two cores ended.
#[derive(Debug)]
pub(crate) enum End {
    Equal {
        calls: u64,
    },
    /// One of both cores cannot do what the case asks for.
    Unable(String),
    Differs {
        calls: u64,
        what: String,
        last: Vec<String>,
    },
}

/// Our profile for a tree as these tests build it: no preemption of the kernel, so that newidle balance takes what the
/// imbalance asks for, no NO_HZ, so that no clock of an idle CPU is estimated
/// and no idle times are counted, no balance by caches, as tasks of a build without programs have no memory,
/// and no random skip of newidle balance, which draws from two streams here and there.
pub(crate) fn profile(series: &str) -> Profile {
    let profile = Profile::parse(&format!("v{series}")).unwrap();
    let sure = profile.clone().with_feature("NO_NI_RANDOM").unwrap_or(profile);
    let rows = [
        ("preemption", "none"),
        ("newidle_batch", "imbalance"),
        ("sleeper_clock", "as-read"),
        ("cache_aware", "absent"),
        ("cpufreq_hold", "never"),
    ];
    rows.iter().fold(sure, |profile, (seam, variant)| profile.with_seam(seam, variant).unwrap())
}

/// So many records and verdicts of ours before a difference are shown.
const SHOWN: usize = 60;

/// The last that our side has recorded and judged.
#[derive(Default)]
struct Last(VecDeque<String>);

impl Last {
    fn push(&mut self, line: String) {
        self.0.push_back(line);
        if self.0.len() > SHOWN {
            self.0.pop_front();
        }
    }
}

impl Sink for Last {
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        self.push(format!("{:>12} ns CPU {} {event:?}", at.ns(), cpu.get()));
    }
    fn verdict(&mut self, at: Instant, cpu: CpuId, verdict: &Verdict) {
        self.push(format!("{:>12} ns CPU {} {verdict:?}", at.ns(), cpu.get()));
    }
    fn wants_verdicts(&self) -> bool {
        true
    }
}

/// Runs a case under both.
pub(crate) fn run(series: &str, case: &Case) -> End {
    run_into(series, case, &mut NullSink)
}

fn run_into(series: &str, case: &Case, sink: &mut dyn Sink) -> End {
    let booted = Beside::boot(core(series), &case.profile, &case.machine, &case.tasks.groups, case.seed);
    let (mut beside, quotas) = match booted {
        Ok(both) => both,
        Err(why) => return End::Unable(format!("boot: {why}")),
    };
    let mut case = case.clone();
    for (group, quota) in quotas.iter_enumerated() {
        let spec = &mut case.tasks.groups[group];
        (spec.period_phase, spec.left_on_cpus) = (quota.phase, quota.left_on_cpus);
    }
    let mut simulation = match Simulation::new(case.setup()) {
        Ok(simulation) => simulation,
        Err(why) => return End::Unable(format!("ours: {why:?}")),
    };
    let compared = match beside.begin(simulation.sched()) {
        Ok(compared) => compared,
        Err(why) => return End::Unable(format!("boot: {why}")),
    };
    simulation.watch_with(Box::new(beside));
    let end = simulation.run(sink);
    let compared = compared.borrow();
    match end {
        Err(Stopped::OtherCore { why, .. }) if why.starts_with(UNABLE) => End::Unable(why),
        Err(Stopped::OtherCore { why, at }) => {
            let last = compared.last.iter().cloned().collect();
            End::Differs { calls: compared.calls, what: format!("at {} ns: {why}", at.ns()), last }
        }
        _ => End::Equal { calls: compared.calls },
    }
}

/// What a difference is about: the first word of its first sentence.
fn kind(what: &str) -> String {
    what.split_once(" ns: ").map_or(what, |rest| rest.1).split_whitespace().next().unwrap_or_default().to_string()
}

/// A case whose profile or machine the core does not have is no smaller one.
fn same_kernel(case: &Case, of: &Case) -> bool {
    case.profile == of.profile && case.machine.hz == of.machine.hz && !case.machine.nohz_idle && case.is_free()
}

fn smaller(series: &str, case: &Case, of_kind: &str) -> Case {
    let of = case.clone();
    shrink(case.clone(), |smaller| {
        same_kernel(smaller, &of) && matches!(run(series, smaller), End::Differs { what, .. } if kind(&what) == of_kind)
    })
}

fn show(series: &str, case: &Case) {
    let mut ours = Last::default();
    match run_into(series, case, &mut ours) {
        End::Differs { calls, what, last } => {
            eprintln!("{series}: after {calls} calls {what}");
            last.iter().for_each(|line| eprintln!("    {line}"));
            eprintln!("  ours recorded and judged:");
            ours.0.iter().for_each(|line| eprintln!("    {line}"));
        }
        other => eprintln!("{series}: {other:?}"),
    }
}

/// What the environment asks for.
#[test]
#[ignore = "a hunt; the environment says for what"]
fn hunt() {
    let asked = std::env::var("FAIRGROUND_DIFFER").expect("FAIRGROUND_DIFFER=6.12:tasks:0..100 or 6.12:case.toml");
    let parts: Vec<&str> = asked.split(':').collect();
    let series = parts[0];
    if let [_, file] = parts[..] {
        let text = std::fs::read_to_string(file).unwrap();
        let scenario = Scenario::parse(file, &text, Path::new(""), &Overrides::default()).unwrap();
        let mut case = Case::of_scenario(&scenario).unwrap();
        case.profile = profile(series);
        return show(series, &case);
    }
    let what = match parts[1] {
        "tasks" => Told::Tasks,
        "groups" => Told::Groups,
        "quotas" => Told::Quotas,
        "rt" => Told::RealTime,
        "dl" => Told::Deadline,
        "clamps" => Told::Clamps,
        "exec" => Told::Exec,
        "schedutil" => Told::Schedutil,
        "frequency" => Told::Frequency,
        "hotplug" => Told::Hotplug,
        other => panic!("`{other}`"),
    };
    let (from, to) = parts[2].split_once("..").unwrap();
    let (mut calls, mut equal, mut unable, mut kinds) = (0, 0, BTreeMap::new(), BTreeMap::new());
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let case = Case::told(seed, &profile(series), 250, what);
        match run(series, &case) {
            End::Equal { calls: more } => (calls, equal) = (calls + more, equal + 1),
            End::Unable(why) => *unable.entry(why.lines().next().unwrap_or_default().to_string()).or_insert(0u64) += 1,
            End::Differs { calls: more, what, .. } => {
                calls += more;
                kinds.entry(kind(&what)).or_insert_with(Vec::new).push((more, seed));
            }
        }
    }
    eprintln!("{series}: {equal} equal, {calls} calls compared");
    unable.iter().for_each(|(why, times)| eprintln!("  unable {times}: {why}"));
    for (kind, seeds) in &kinds {
        let mut seeds = seeds.clone();
        seeds.sort_unstable();
        eprintln!("  differs in {kind}: {} of them: {:?}", seeds.len(), &seeds[..seeds.len().min(12)]);
        show(series, &Case::told(seeds[0].1, &profile(series), 250, what));
    }
    let shrinks: usize = parts.get(3).map_or(0, |text| text.parse().unwrap());
    for (kind, seeds) in kinds.iter().take(shrinks) {
        let seed = seeds.iter().min().unwrap().1;
        let small = smaller(series, &Case::told(seed, &profile(series), 250, what), kind);
        eprintln!("---- {kind}, seed {seed}:\n{small}");
        show(series, &small);
    }
}

/// A row of random systems: a kernel, the mechanisms, how many seeds from 0 on, and those that still part, each with what differs.
/// Cause and count stand in docs/kernel-core.md. One that parts no longer has to leave the list.
type Row = (&'static str, Told, u64, &'static [(u64, &'static str)]);

const OPEN: &[Row] = &[
    ("6.12", Told::Tasks, 40, &[]),
    ("6.12", Told::Groups, 200, &[]),
    ("6.12", Told::Quotas, 40, &[]),
    ("6.1", Told::Tasks, 40, &[]),
    ("6.1", Told::Groups, 40, &[]),
    ("6.1", Told::Quotas, 40, &[]),
    ("6.18", Told::Tasks, 40, &[]),
    ("6.18", Told::Groups, 40, &[(18, "load_avg")]),
    ("6.18", Told::Quotas, 40, &[]),
    ("7.2", Told::Tasks, 40, &[]),
    ("7.2", Told::Groups, 40, &[]),
    ("7.2", Told::Quotas, 40, &[]),
    ("5.10", Told::Tasks, 40, &[(39, "vruntime")]),
    ("5.10", Told::Groups, 40, &[(16, "runs"), (39, "vruntime")]),
    (
        "5.10",
        Told::Quotas,
        40,
        &[(6, "load_sum"), (8, "load_avg"), (16, "runnable_avg"), (17, "load_avg"), (36, "load_avg"), (39, "vruntime")],
    ),
    (
        "6.12",
        Told::RealTime,
        40,
        &[
            (4, "next_balance"),
            (5, "nr_running"),
            (6, "server_runtime"),
            (9, "vruntime"),
            (10, "nr_running"),
            (12, "load_avg"),
            (13, "avg_idle"),
            (18, "runs"),
            (30, "next_balance"),
        ],
    ),
    (
        "6.12",
        Told::Schedutil,
        20,
        &[
            (0, "load_avg"),
            (5, "load_avg"),
            (9, "frequency_waits"),
            (12, "frequency"),
            (13, "softirq"),
            (14, "softirq"),
            (16, "load_avg"),
            (18, "load_avg"),
            (19, "frequency"),
        ],
    ),
    (
        "6.1",
        Told::Schedutil,
        20,
        &[
            (0, "load_avg"),
            (5, "vruntime"),
            (9, "frequency_waits"),
            (11, "softirq"),
            (12, "frequency"),
            (13, "vruntime"),
            (14, "vruntime"),
            (16, "vruntime"),
            (18, "frequency"),
            (19, "vruntime"),
        ],
    ),
    ("6.12", Told::Clamps, 40, &[]),
    ("6.12", Told::Exec, 40, &[]),
    ("6.1", Told::Clamps, 40, &[]),
    ("6.1", Told::Exec, 40, &[]),
    (
        "6.12",
        Told::Deadline,
        40,
        &[
            (5, "last_update"),
            (6, "dl_util_avg"),
            (7, "last_update"),
            (16, "next_balance"),
            (18, "dl_runtime"),
            (28, "load_avg"),
            (29, "last_update"),
            (33, "last_update"),
            (37, "dl_runtime"),
        ],
    ),
    ("6.1", Told::Deadline, 40, &[(10, "dl_util_avg"), (16, "vruntime")]),
    ("6.1", Told::RealTime, 40, &[(0, "last_update"), (10, "avg_idle"), (24, "last_update")]),
];

#[test]
fn random_systems_are_alike_but_for_the_open_differences() {
    for &(series, what, seeds, open) in OPEN {
        let mut wrong = Vec::new();
        for seed in 0..seeds {
            let known = open.iter().find(|row| row.0 == seed).map(|row| row.1);
            let end = run(series, &Case::told(seed, &profile(series), 250, what));
            let found = match &end {
                End::Equal { .. } => None,
                End::Unable(why) => Some(why.clone()),
                End::Differs { what, .. } => Some(kind(what)),
            };
            if found.as_deref() != known {
                wrong.push(format!("seed {seed}: {found:?}, and the list says {known:?}"));
            }
        }
        assert!(wrong.is_empty(), "{series}:\n{}", wrong.join("\n"));
    }
}
