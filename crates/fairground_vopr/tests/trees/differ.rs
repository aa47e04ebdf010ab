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

/// The mechanisms of random systems, by the names of the environment and of docs/kernel-core.md.
const MECHANISMS: [(&str, Told); 12] = [
    ("tasks", Told::Tasks),
    ("groups", Told::Groups),
    ("quotas", Told::Quotas),
    ("clamps", Told::Clamps),
    ("exec", Told::Exec),
    ("rt", Told::RealTime),
    ("dl", Told::Deadline),
    ("schedutil", Told::Schedutil),
    ("frequency", Told::Frequency),
    ("hotplug", Told::Hotplug),
    ("asymmetric", Told::Asymmetric),
    ("energy", Told::Energy),
];

fn mechanism(name: &str) -> Told {
    MECHANISMS.iter().find(|row| row.0 == name).unwrap_or_else(|| panic!("`{name}`")).1
}

/// What came out of many systems.
#[derive(Default)]
struct Tally {
    /// Calls that were equal on both sides, those before a difference among them.
    calls: u64,
    equal: u64,
    /// Systems that a core cannot run, by the reason.
    unable: BTreeMap<String, u64>,
    /// Systems that part, by what differs: after how many calls, and the seed.
    kinds: BTreeMap<String, Vec<(u64, u64)>>,
    took: std::time::Duration,
}

impl Tally {
    fn of(series: &str, what: Told, seeds: std::ops::Range<u64>) -> Tally {
        let (mut tally, profile, began) = (Tally::default(), profile(series), std::time::Instant::now());
        for seed in seeds {
            match run(series, &Case::told(seed, &profile, 250, what)) {
                End::Equal { calls } => (tally.calls, tally.equal) = (tally.calls + calls, tally.equal + 1),
                End::Unable(why) => {
                    *tally.unable.entry(why.lines().next().unwrap_or_default().to_string()).or_default() += 1;
                }
                End::Differs { calls, what, .. } => {
                    tally.calls += calls;
                    tally.kinds.entry(kind(&what)).or_default().push((calls, seed));
                }
            }
        }
        tally.took = began.elapsed();
        tally
    }

    /// A row of the table in docs/kernel-core.md, and how fast it came.
    fn line(&self, series: &str, what: Told) -> String {
        let differ: usize = self.kinds.values().map(Vec::len).sum();
        let unable: u64 = self.unable.values().sum();
        let systems = self.equal + differ as u64 + unable;
        let name = MECHANISMS.iter().find(|row| row.1 == what).map_or("", |row| row.0);
        let kinds: Vec<String> = self
            .kinds
            .iter()
            .map(|(kind, seeds)| {
                format!("{kind} in {} (seeds {:?})", seeds.len(), seeds.iter().map(|row| row.1).take(8).collect::<Vec<_>>())
            })
            .collect();
        let per_second = systems as f64 / self.took.as_secs_f64();
        format!(
            "{name:<6} {series:<5} systems {systems:>6} equal {:>6} different {differ:>4} unable {unable:>3} calls {:>9} {per_second:>7.1}/s {}",
            self.equal,
            self.calls,
            kinds.join(", ")
        )
    }
}

/// How many systems of each kernel and mechanism are equal: `FAIRGROUND_CENSUS=1000..2000`, of all of them, or
/// `1000..2000:6.1,6.12:tasks,rt`. Where docs/kernel-core.md says that nothing is open, a difference is a failure.
#[test]
#[ignore = "as long as the environment asks for: a step of the nightly run"]
fn census() {
    let asked = std::env::var("FAIRGROUND_CENSUS").expect("FAIRGROUND_CENSUS=1000..2000 or 1000..2000:6.1,6.12:tasks,rt");
    let parts: Vec<&str> = asked.split(':').collect();
    let (from, to) = parts[0].split_once("..").unwrap();
    let chosen = |part: usize, name: &str| parts.get(part).is_none_or(|list| list.split(',').any(|one| one == name));
    let mut wrong = Vec::new();
    for &(series, what, _, open) in OPEN {
        let name = MECHANISMS.iter().find(|row| row.1 == what).map_or("", |row| row.0);
        if !chosen(1, series) || !chosen(2, name) {
            continue;
        }
        let tally = Tally::of(series, what, from.parse().unwrap()..to.parse().unwrap());
        let line = tally.line(series, what);
        eprintln!("{line}");
        if open.is_empty() && !(tally.kinds.is_empty() && tally.unable.is_empty()) {
            wrong.push(format!("{line} {:?}", tally.unable));
        }
    }
    assert!(wrong.is_empty(), "nothing is open there:\n{}", wrong.join("\n"));
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
    let what = mechanism(parts[1]);
    let (from, to) = parts[2].split_once("..").unwrap();
    let tally = Tally::of(series, what, from.parse().unwrap()..to.parse().unwrap());
    eprintln!("{}", tally.line(series, what));
    tally.unable.iter().for_each(|(why, times)| eprintln!("  unable {times}: {why}"));
    for seeds in tally.kinds.values() {
        let seed = seeds.iter().min().unwrap().1;
        show(series, &Case::told(seed, &profile(series), 250, what));
    }
    let shrinks: usize = parts.get(3).map_or(0, |text| text.parse().unwrap());
    for (kind, seeds) in tally.kinds.iter().take(shrinks) {
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
    ("6.12", Told::Clamps, 40, &[]),
    ("6.12", Told::Exec, 40, &[]),
    ("6.12", Told::RealTime, 40, &[]),
    ("6.12", Told::Deadline, 40, &[]),
    ("6.12", Told::Schedutil, 40, &[]),
    ("6.12", Told::Frequency, 40, &[]),
    ("6.12", Told::Hotplug, 40, &[]),
    ("6.12", Told::Asymmetric, 40, &[]),
    ("6.12", Told::Energy, 40, &[]),
    ("6.1", Told::Tasks, 40, &[]),
    ("6.1", Told::Groups, 40, &[]),
    ("6.1", Told::Quotas, 40, &[]),
    ("6.1", Told::Clamps, 40, &[]),
    ("6.1", Told::Exec, 40, &[]),
    ("6.1", Told::RealTime, 40, &[]),
    ("6.1", Told::Deadline, 40, &[]),
    ("6.1", Told::Schedutil, 40, &[]),
    ("6.1", Told::Frequency, 40, &[]),
    ("6.1", Told::Hotplug, 40, &[]),
    ("6.1", Told::Asymmetric, 40, &[]),
    ("6.1", Told::Energy, 40, &[]),
    ("6.18", Told::Tasks, 40, &[]),
    ("6.18", Told::Groups, 40, &[]),
    ("6.18", Told::Quotas, 40, &[]),
    ("6.18", Told::Clamps, 40, &[]),
    ("6.18", Told::Exec, 40, &[]),
    ("6.18", Told::RealTime, 40, &[]),
    ("6.18", Told::Deadline, 40, &[]),
    ("6.18", Told::Schedutil, 40, &[]),
    ("6.18", Told::Frequency, 40, &[]),
    ("6.18", Told::Hotplug, 40, &[]),
    ("6.18", Told::Asymmetric, 40, &[]),
    ("6.18", Told::Energy, 40, &[]),
    ("7.2", Told::Tasks, 40, &[]),
    ("7.2", Told::Groups, 40, &[]),
    ("7.2", Told::Quotas, 40, &[]),
    ("7.2", Told::Clamps, 40, &[]),
    ("7.2", Told::Exec, 40, &[]),
    ("7.2", Told::Schedutil, 40, &[]),
    ("7.2", Told::Frequency, 40, &[]),
    ("7.2", Told::RealTime, 40, &[]),
    ("7.2", Told::Deadline, 40, &[]),
    ("7.2", Told::Hotplug, 40, &[]),
    ("7.2", Told::Asymmetric, 40, &[]),
    ("7.2", Told::Energy, 40, &[]),
    ("5.10", Told::Tasks, 40, &[]),
    ("5.10", Told::Groups, 40, &[]),
    ("5.10", Told::Quotas, 40, &[]),
    ("5.10", Told::Clamps, 40, &[]),
    ("5.10", Told::Exec, 40, &[]),
    ("5.10", Told::RealTime, 40, &[]),
    ("5.10", Told::Deadline, 40, &[]),
    ("5.10", Told::Schedutil, 40, &[]),
    ("5.10", Told::Hotplug, 40, &[]),
    ("5.10", Told::Frequency, 40, &[]),
    ("5.10", Told::Asymmetric, 40, &[]),
    ("5.10", Told::Energy, 40, &[]),
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

/// Seeds above those of [`OPEN`] that have parted, by what was mended: they are equal to the end.
const MENDED: &[(&str, Told, &[u64])] = &[
    // Newidle balance before and after turns of the server, for stoppers, and estimates of sleepers that leave the class.
    ("6.12", Told::RealTime, &[49, 70, 112, 122, 147]),
    ("6.12", Told::Deadline, &[103]),
    ("6.12", Told::Exec, &[53, 109, 117]),
    // Run time that is lost below a throttled queue, and releases that tell their groups.
    ("6.12", Told::Quotas, &[65, 106, 117]),
    // Groups go through their tasks in the order in which these came.
    ("6.12", Told::Clamps, &[109]),
    ("6.1", Told::Clamps, &[177]),
    // The thread of schedutil is no fair task; frequencies begin within their limits.
    ("6.12", Told::Schedutil, &[71, 85, 123, 135, 186]),
    ("6.1", Told::Schedutil, &[63, 71]),
    ("6.12", Told::Energy, &[80]),
    ("6.1", Told::Energy, &[51, 90]),
    // A yield's new request, by the CPUs that are on line.
    ("6.12", Told::Hotplug, &[104]),
    // A queue that is throttled within the pick; pulls after stoppers; tasks that never ran; no balance for a throttled real-time task.
    ("6.1", Told::Quotas, &[16, 58, 72]),
    ("6.1", Told::RealTime, &[72, 124, 165, 178]),
    // Groups that are put down, marks that lie in the lag, queues on the list of those to age.
    ("6.12", Told::Groups, &[204, 360, 371, 585, 639, 873]),
    ("6.18", Told::Groups, &[18]),
    ("6.18", Told::Clamps, &[18]),
    ("6.18", Told::Exec, &[18]),
    // Who has never run goes to another group.
    ("6.1", Told::Groups, &[282, 418]),
    // Two frequencies of one call.
    ("6.12", Told::Energy, &[226, 237]),
    // Queues that are set ask for quota.
    ("6.12", Told::Quotas, &[598, 929]),
    // Nice values of who is not born yet; when wakers have turned last.
    ("6.12", Told::RealTime, &[327, 360, 439, 478, 822, 937, 964]),
    ("6.1", Told::RealTime, &[360]),
    // The order of queues to age, and which of them finds one below it.
    ("6.12", Told::Groups, &[765, 973]),
    ("6.12", Told::Clamps, &[765, 973]),
    // Clamps that a task is born with; the stopper of an `exec` ends an idle time; who keeps its place at one priority.
    ("6.12", Told::Clamps, &[309]),
    ("6.12", Told::Exec, &[780]),
    ("6.12", Told::RealTime, &[206]),
    // Releases of empty queues; servers below quotas, which groups' entities are not charged to.
    ("6.12", Told::Quotas, &[400, 731, 879]),
    // Throttled tasks whose timer fires in another class.
    ("6.12", Told::Deadline, &[392, 430]),
    // Stoppers that come for a task, leave a CPU, or are waited for; servers that are queued as the last fair task leaves.
    ("6.12", Told::Exec, &[530, 765, 888]),
    ("6.12", Told::RealTime, &[317, 424, 841]),
    ("6.12", Told::Deadline, &[876]),
    // A child has its parent's habits as a waker.
    ("6.12", Told::Deadline, &[371]),
    // Looks that may not change a frequency; groups with more idle CPUs than the local one.
    ("6.12", Told::Energy, &[551, 707, 876, 912]),
    ("6.1", Told::Energy, &[215]),
    ("6.1", Told::Groups, &[396]),
    ("6.1", Told::Hotplug, &[337]),
    // A waker that is more than its CPU asks no task for its load.
    ("6.1", Told::RealTime, &[194]),
    ("6.1", Told::Energy, &[436]),
    // Children of deadline tasks.
    ("6.1", Told::Deadline, &[210]),
    // Children of another group than their parent's.
    ("6.1", Told::Groups, &[515]),
    ("6.1", Told::Clamps, &[515]),
    ("6.1", Told::Exec, &[515]),
    ("6.1", Told::Quotas, &[308, 420]),
    // Packages of several nodes have no domain of a package.
    ("6.1", Told::Asymmetric, &[345, 495, 513, 531, 693, 952]),
    // A CPU that leaves is a thread of its core to the end.
    ("6.1", Told::Hotplug, &[88]),
    // What a group left in a sum as it was made has aged away when the run begins.
    ("6.1", Told::Quotas, &[358]),
    // What was written of a CPU last counts; wakers beside servers; put-downs that tell of a second task.
    ("6.12", Told::RealTime, &[2706, 6200, 2795, 6029, 10673, 5192]),
    // The idle task that is picked again; cores that count once.
    ("6.12", Told::Hotplug, &[2724, 10239]),
    // Charges below another throttled queue; the hrtick timer of a CPU that is being left.
    ("7.2", Told::Quotas, &[119, 238]),
    ("7.2", Told::Hotplug, &[64, 75]),
    // Who has left the deadline class still has a deadline.
    ("6.1", Told::Deadline, &[582]),
];

#[test]
fn seeds_that_parted_once_are_alike() {
    for &(series, what, seeds) in MENDED {
        for &seed in seeds {
            let end = run(series, &Case::told(seed, &profile(series), 250, what));
            assert!(matches!(end, End::Equal { .. }), "{series} {what:?} {seed}: {end:?}");
        }
    }
}
