//! `advise`: which `cpu.max`, period and burst does this service need?
//!
//! # The problem
//!
//! A limit of 2.6 CPUs is a quota of 260 ms in each 100 ms. A service meets it in bursts, not in the mean: two services
//! with the same mean use can differ by a factor of ten at p99. So neither mean use nor the share of throttled periods
//! says whether a limit is right, and a formula needs assumptions that no service keeps.
//!
//! # What goes wrong otherwise
//!
//! - "A third more than the mean": 2.6 CPUs for a demand of 2.0 still cost 40 % of p99 in a model of eight workers.
//! - "A shorter period": it caps one stall, but leaves less to be used at once. Period 10 ms needs 1.2 to 1.35 times
//!   the limit of period 100 ms for the same tail.
//! - "Alert above 25 % throttled periods": 8 % of periods can mean +4 to +7 % at p99, and 22 % mean +39 %.
//! - Comparing single runs: which requests crowd is chance, and often more than the limit does.
//!
//! # The rule
//!
//! Run the service itself under many limits, with the same requests each time. One seed stands for the same requests,
//! whatever the limit is (common random numbers), so that differences between limits are not those between requests.
//!
//! - The **verdict** compares p99 (or the goal's percentile) under the present limit with that of the same requests
//!   without one: at most 1.05 times is OK, 1.5 times TIGHT, more BAD, by the upper end of the 95 % interval. A demand
//!   above 95 % of the limit is UNSTABLE.
//! - The **smallest limit** is searched by halves for each seed. The answer is an order statistic: the next run meets the goal
//!   with 95 of 100, whatever the spread of runs. `--check` tests it with fresh seeds.
//! - The **headline** says whether the present limit meets the goal: met, missed, or not decided.
//! - **Counters** do not say how requests crowd. Services are drawn at random, and those that come out with the
//!   measured counters are kept. The spread of their percentiles is what the counters leave open.
//!
//! # What changed in kernels
//!
//! - v4.18 to v5.3: slices expire, so threads that wake often lose up to 1 ms per CPU and period
//! - v5.14 "sched/fair: Introduce the burstable CFS controller": a burst is often the cheapest remedy
//! - v6.18 "sched/fair: Switch to task based throttle model": no lock of the kernel is held across a stall; stalls
//!   remain
//!
//! The kernel is a part of the question: every run is made under the profile of the scenario.
//!
//! # The parts
//!
//! Inputs: `input.rs`, `sources/` (a file for each kind of text), `log.rs` (requests), `trace.rs`, `counters.rs`. Runs: `lab.rs`, `tally.rs`,
//! `sample.rs`, `runs.rs`. Answers: `smallest/` for `goal.rs` with what `seeds.rs` proves, `alternatives.rs` (periods and bursts), `reached.rs`
//! (the headline), `curve.rs`, `options.rs` (what else may be changed), `verdict.rs`, with the intervals of `bootstrap.rs`. `slow/`: where one slow request spent its time. `fit/`: what counters leave
//! open.
//!
//! # Read also
//!
//! docs/advise.md, docs/model/13-quota-advisor.md and 10-bandwidth.md; Documentation/scheduler/sched-bwc.rst; LWN "The
//! burstable CFS bandwidth controller" (<https://lwn.net/Articles/844976/>).

mod alternatives;
mod bootstrap;
pub mod counters;
mod csv;
mod curve;
mod fit;
mod goal;
mod input;
mod lab;
mod limit;
mod log;
mod options;
mod pattern;
mod reached;
mod runs;
mod sample;
mod seeds;
mod show;
mod slow;
mod smallest;
mod sources;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod trace;
mod verdict;

pub use alternatives::{Alternative, Dearer, SetIn};
pub use bootstrap::Interval;
pub use curve::Point;
pub use fairground_workload::replay::Loop;
pub use fit::{CounterAdvice, Fit, FitOptions, FitPoint, Range};
pub use goal::Goal;
pub use input::{AdviseInput, InputOptions};
pub use options::Other;
pub use reached::Reached;
pub use seeds::{Aim, Confidence};
pub use slow::{Level, Request, STATES, Slow, SlowRequest, Span, State, Strip};
pub use smallest::Smallest;
pub use sources::Select;
pub use sources::ask::Ask;
pub use text::snippet;
pub use trace::{TraceCase, TraceFacts};
pub use verdict::{Judged, Remedy, Verdict};

use alternatives::Bursts;
use curve::{GRID_SEEDS, quota};
use fairground_model::{CpuMax, Digest};
use fairground_scenario::{Control, Error, Scenario};
use fairground_stdx::Ns;
use lab::{Lab, Subject, Variant};
use runs::{Run, Runs};
use sample::Sample;
use smallest::{Ladder, Seeds};
use std::sync::atomic::AtomicU64;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AdviseOptions {
    /// The path of the group whose limit is looked for; may be left out if the scenario has one group only.
    pub cgroup: Option<String>,
    /// What the service must reach. Without any there is no search for the smallest limit.
    pub goals: Vec<Goal>,
    /// Seeds with which the smallest limit is searched; without a number as many as make the answer narrow.
    pub seeds: Option<u64>,
    /// Which limit is the answer.
    pub aim: Aim,
    /// Fresh seeds with which the answer, and the next smaller step, are run once more.
    pub check: u64,
}

/// Events that a search without a number of seeds may take, about: a few seconds of two CPUs.
const EVENTS: u64 = 10_000_000;

/// Fresh seeds are this far behind those that are searched with.
const FRESH: u64 = 1_000_000;

/// In how many of the fresh seeds the goal held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checked {
    /// With the answer.
    pub holds: u64,
    /// With the next smaller step.
    pub holds_below: Option<u64>,
    /// Of so many.
    pub seeds: u64,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The scenario's title.
    pub title: String,
    /// The group.
    pub group: String,
    /// The kernel.
    pub profile: String,
    /// The limit that it has now.
    pub limit: CpuMax,
    /// What is looked at, thousandths (990 = p99).
    pub permille: u64,
    /// The goals.
    pub goals: Vec<Goal>,
    /// CPU time that the service asks for, ns per second.
    pub demand_ns_per_s: u64,
    /// The verdict on the present limit, if there is one.
    pub judged: Option<Judged>,
    /// The smallest limit that meets the goal with the present period and burst; none without a goal.
    pub smallest: Option<Smallest>,
    /// Other periods and bursts that need less, the cheapest first.
    pub alternatives: Vec<Alternative>,
    /// Those that do not.
    pub dearer: Vec<Dearer>,
    /// How long a run is looked at: the percentiles of a goal are those of so long a time.
    pub window: Ns,
    /// The answer once more with seeds that were not searched with.
    pub checked: Option<Checked>,
    /// The curve over quotas.
    pub curve: Vec<Point>,
    /// Period by burst, each at the same share of CPUs.
    pub grid: Vec<Point>,
    /// What else may be changed.
    pub others: Vec<Other>,
    /// Whether requests come faster than they are served without any limit.
    pub unstable: bool,
    /// What was assumed, and what could not be tried.
    pub notes: Vec<String>,
    /// What a trace says, if the advice is from one.
    pub trace: Option<TraceFacts>,
    /// Where the time of requests goes at the present limit, or at the answer if there is none now.
    pub slow: Option<Slow>,
    /// All runs, sorted by what decided them.
    runs: Vec<Run>,
    /// Digest over all runs.
    pub digest: u128,
    /// Whether the caller stopped it: then it says nothing.
    pub interrupted: bool,
}

impl Advice {
    /// The limit to set: the answer if there is one, else what is there now.
    pub fn chosen(&self) -> Option<CpuMax> {
        self.smallest.as_ref().map_or(Some(self.limit), |found| found.limit)
    }
    /// How many different runs were made.
    pub fn runs(&self) -> u64 {
        self.runs.len() as u64
    }
    /// With a goal: 0 the present limit meets it, 1 it does not, 4 the runs do not tell. Without: 1 if the limit is BAD or UNSTABLE.
    pub fn exit_code(&self) -> u8 {
        if let Some(reached) = self.reached() {
            return reached.exit_code();
        }
        let bad = self.judged.as_ref().is_some_and(|judged| matches!(judged.verdict, Verdict::Bad | Verdict::Unstable));
        u8::from(bad)
    }
}

/// Runs the service of a scenario under many limits.
pub fn advise(scenario: &Scenario, options: &AdviseOptions, control: Control<'_>) -> Result<Advice, Error> {
    let (group, row) = subject(scenario, options)?;
    advise_on(lab(scenario, group, Subject::Service(row), control, options), options, None)
}

/// Runs threads of a trace under many limits.
pub fn advise_trace(case: &TraceCase, options: &AdviseOptions, control: Control<'_>) -> Result<Advice, Error> {
    let subject = Subject::Trace(case.facts.pieces);
    advise_on(lab(&case.scenario, case.group.clone(), subject, control, options), options, Some(case.facts.clone()))
}

fn lab<'a>(base: &'a Scenario, group: String, subject: Subject, control: Control<'a>, options: &AdviseOptions) -> Lab<'a> {
    Lab {
        base,
        group,
        subject,
        control,
        done: AtomicU64::new(0),
        expected: AtomicU64::new(expected(options)),
        runs: Runs::default(),
    }
}

fn advise_on(mut lab: Lab<'_>, options: &AdviseOptions, trace: Option<TraceFacts>) -> Result<Advice, Error> {
    let (scenario, control) = (lab.base, lab.control);
    let limit = scenario.group_limit(&lab.group).unwrap_or(CpuMax::UNLIMITED);
    let permille = options.goals.first().map_or(990, |goal| goal.permille);
    let unlimited = Variant::new(CpuMax { quota: None, burst: Ns::ZERO, ..limit });
    let free = lab.samples(std::slice::from_ref(&unlimited), curve::seeds(&options.goals))?.remove(0);
    let demand_ns_per_s = demand(&free);
    let smallest = match options.goals.is_empty() {
        true => None,
        false => Some(search(&lab, limit, demand_ns_per_s, options)?),
    };
    let checked = match &smallest {
        Some(found) if options.check > 0 => check(&mut lab, found, options)?,
        _ => None,
    };
    let view = curve::View { permille, goals: &options.goals, free: &free };
    let curve = curve::curve(&lab, &view, limit, demand_ns_per_s)?;
    let alternatives = match &smallest {
        Some(found) => alternatives::alternatives(&lab, limit, &options.goals, demand_ns_per_s, found)?,
        None => alternatives::Found::default(),
    };
    // With a goal, the alternatives say what other periods and bursts need.
    let grid = if options.goals.is_empty() { curve::grid(&lab, &view, limit)? } else { Vec::new() };
    let chosen = smallest.as_ref().map_or(Some(limit), |found| found.limit);
    // What could be changed is tried where the question is: at the present limit, at the answer, or without any if none is enough.
    let base = match chosen {
        None => unlimited.limit,
        Some(_) if limit.quota.is_some() => limit,
        Some(chosen) => chosen,
    };
    // With an answer and no present limit nothing is left to be helped.
    let is_asked = options.goals.is_empty() || limit.quota.is_some() || chosen.is_none();
    let (others, mut notes) = if is_asked { options::others(&lab, &view, base)? } else { Default::default() };
    if trace.is_some() {
        notes.push("other numbers of threads and a cpuset are not tried on a trace".to_string());
    }
    let slow = slow::slow(&lab, base)?;
    let judged = limit.quota.is_some().then(|| judge(&view, limit, demand_ns_per_s, &curve, &others)).flatten();
    let mut digest = Digest::default();
    let points = curve.iter().chain(&grid).map(|point| point.digest);
    let all = points.chain(others.iter().map(|other| other.point.digest)).chain(smallest.iter().map(|one| one.found.digest));
    all.for_each(|one| digest.bytes(&one.to_le_bytes()));
    // What is left at the end would take more than a tenth of the time that it took to gather.
    let unstable = trace.is_none() && free.iter().all(|sample| sample.late > 0 && sample.backlog.0 > sample.window.0 / 10);
    let window = free.first().map_or(Ns::ZERO, |sample| sample.window);
    let interrupted = control.stopped() || free.iter().any(|sample| sample.interrupted);
    Ok(Advice {
        title: scenario.title.clone(),
        group: lab.group.clone(),
        profile: scenario.profile.full_name(),
        limit,
        permille,
        goals: options.goals.clone(),
        demand_ns_per_s,
        judged,
        smallest,
        alternatives: alternatives.cheaper,
        dearer: alternatives.dearer,
        window,
        checked,
        curve,
        grid,
        others,
        unstable,
        notes,
        trace,
        slow,
        runs: lab.runs.sorted(),
        digest: digest.value(),
        interrupted,
    })
}

/// The group that is asked about, and the row of the service in it.
fn subject(scenario: &Scenario, options: &AdviseOptions) -> Result<(String, usize), Error> {
    let Some((row, _)) = scenario.service() else {
        return Err(Error::one(
            scenario.name(),
            "there is no workload `service` in it, and `advise` looks at the time that requests take",
            "Describe the service: `[[workload]] name = \"service\"`, see `fairground list workloads`; for other workloads run the scenario.",
        ));
    };
    let groups = scenario.group_paths();
    let list = if groups.is_empty() {
        "The scenario has no `[[group]]`.".to_string()
    } else {
        format!("Groups: {}.", groups.join(", "))
    };
    let group = match &options.cgroup {
        Some(path) if groups.contains(path) => path.clone(),
        Some(path) => return Err(Error::one("--cgroup", format!("there is no group `{path}`"), list)),
        None => own_group(scenario, row).ok_or_else(|| {
            let message = "the workload `service` is in no group, so that no limit can touch it";
            Error::one(
                scenario.name(),
                message,
                "Write `group = \"/service\"` into its `[[workload]]`, and a `[[group]]` with that path.",
            )
        })?,
    };
    if scenario.changes_limit(&group) {
        let message = format!("the limit of `{group}` changes during the run");
        return Err(Error::one(scenario.name(), message, "Leave out its `[[at]]`: one limit is looked for, for the whole run."));
    }
    Ok((group, row))
}

/// The group of the service that has a limit, from its own upwards; its own if none has.
fn own_group(scenario: &Scenario, row: usize) -> Option<String> {
    let tasks = &scenario.workloads[row].tasks;
    let own =
        tasks.tasks.iter().find_map(|task| task.group).and_then(|group| tasks.groups.get(group)).map(|group| &group.name)?;
    let upwards = own.match_indices('/').map(|(at, _)| at).chain([own.len()]).filter(|at| *at > 0).map(|at| &own[..at]);
    let mut upwards: Vec<&str> = upwards.collect();
    upwards.reverse();
    let is_limited = |path: &&&str| scenario.group_limit(path).is_some_and(|limit| limit.quota.is_some());
    Some(upwards.iter().find(is_limited).map_or_else(|| own.clone(), |path| (*path).to_string()))
}

/// About how many runs there will be, for the progress bar.
fn expected(options: &AdviseOptions) -> u64 {
    let searched = 2 * options.seeds.unwrap_or(4 * options.aim.least());
    let more = if options.goals.is_empty() { 21 * GRID_SEEDS } else { searched };
    more + 2 * options.check + 18 * curve::seeds(&options.goals)
}

/// CPU time per second of the group when nothing holds it up.
fn demand(free: &[Sample]) -> u64 {
    let used: u128 = free.iter().map(|sample| u128::from(sample.used.0)).sum();
    let length: u128 = free.iter().map(|sample| u128::from(sample.length.0)).sum();
    u64::try_from(used * 1_000_000_000 / length.max(1)).unwrap_or(u64::MAX)
}

/// The smallest limit with the present period and burst.
fn search(lab: &Lab<'_>, limit: CpuMax, demand: u64, options: &AdviseOptions) -> Result<Smallest, Error> {
    let limits = alternatives::limits(lab, limit, limit.period, Bursts::AsNow);
    // Most services need a fifth more than they use at least.
    let likely = quota(demand / 100 * 120, limit.period);
    let hint = limits.partition_point(|tried| tried.quota.is_some_and(|quota| quota < likely));
    let count = options.seeds.map_or(Seeds::Events(EVENTS), |seeds| Seeds::Exactly(seeds.max(2)));
    Ladder::new(lab, &options.goals, limits).smallest(hint, count, options.aim)
}

/// Runs the answer and the next smaller step with fresh seeds.
fn check(lab: &mut Lab<'_>, found: &Smallest, options: &AdviseOptions) -> Result<Option<Checked>, Error> {
    let Some(answer) = found.limit else { return Ok(None) };
    let base = lab.base.with_seed(lab.base.seed.wrapping_add(FRESH));
    let fresh = Lab {
        base: &base,
        group: lab.group.clone(),
        subject: lab.subject,
        control: lab.control,
        done: AtomicU64::new(0),
        expected: AtomicU64::new(0),
        runs: lab.runs.clone(),
    };
    let holds = |limit: CpuMax| -> Result<u64, Error> {
        let samples = fresh.samples(&[Variant::new(limit)], options.check)?.remove(0);
        Ok(samples.iter().filter(|sample| sample.holds(&options.goals)).count() as u64)
    };
    let holds_below = found.below.map(holds).transpose()?;
    Ok(Some(Checked { holds: holds(answer)?, holds_below, seeds: options.check }))
}

fn judge(view: &curve::View<'_>, limit: CpuMax, demand: u64, curve: &[Point], others: &[Other]) -> Option<Judged> {
    let now = curve.iter().find(|point| point.limit == limit)?;
    let verdict = Verdict::of(now.ratio, demand, limit);
    Some(Judged {
        verdict,
        limit,
        percentile: goal::percentile_name(view.permille),
        limited: now.latency,
        unlimited: view.unlimited(),
        ratio: now.ratio,
        demand_ns_per_s: demand,
        remedies: options::remedies(limit, demand, curve, others),
    })
}
