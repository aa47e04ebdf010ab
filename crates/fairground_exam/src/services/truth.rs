//! The smallest limit that meets a goal, by brute force: run after run, limit after limit.

use super::draw::Service;
use crate::delay::read;
use fairground::run::{self, RunOptions};
use fairground_metrics::Histogram;
use fairground_model::{CpuMax, NullSink};
use fairground_scenario::{Control, Error, Scenario, metrics::marker_values};
use fairground_stdx::Ns;
use rayon::prelude::*;

/// What is true of a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    /// What the percentile may be.
    pub goal: Ns,
    /// Runs of a hundred that meet it without a limit.
    pub free_percent: u64,
    /// The smallest quota with which at least 95 of 100 runs meet the goal; none if no limit does.
    pub quota: Option<Ns>,
}

/// The group whose limit is looked for.
pub(super) const GROUP: &str = "/service";
/// Seeds of the truth lie so far behind those of an answer, which begin at that of the scenario.
const SEEDS_BEHIND: u64 = 50_000_000;
/// Runs that a truth rests on, per limit: as many, or four times as many where limits spread much.
const SEEDS: u64 = 400;
const MORE_SEEDS: u64 = 1_600;
/// The most by which a truth may be wrong before it takes more seeds, in places of 1 %. Answers aim at an error of 2.5 %, to which one of 1 % adds less than a
/// tenth. Where limits spread much, 400 seeds are wrong by as much as what is examined.
const ERROR: usize = 1;
/// Runs of a hundred that must meet the goal.
const SHARE: u64 = 95;
/// Between these shares it is not clear whether the goal can be met at all; such draws are discarded.
const UNCLEAR: std::ops::Range<u64> = 92..97;

/// What is true of a service; none if it is not clear whether the goal can be met.
pub fn truth(service: &Service) -> Result<Option<Truth>, Error> {
    let base = read(service.kind, &service.text)?;
    let unlimited = base.group_limit(GROUP).unwrap_or(CpuMax::UNLIMITED);
    let mut free = (0..SEEDS)
        .into_par_iter()
        .map(|seed| percentile(&base, unlimited, first(&base) + seed, service.permille))
        .collect::<Result<Vec<u64>, Error>>()?;
    free.sort_unstable();
    let most = free[usize::try_from(SEEDS * SHARE / 100).unwrap_or(0) - 1];
    // Whole microseconds, as people write goals.
    let goal = Ns((most / 1_000 * service.goal_permille / 1_000).max(1) * 1_000);
    let free_percent = free.iter().filter(|ns| **ns <= goal.0).count() as u64 * 100 / SEEDS;
    if most == u64::MAX || UNCLEAR.contains(&free_percent) {
        return Ok(None);
    }
    let mut truth = Truth { goal, free_percent, quota: None };
    if free_percent >= SHARE {
        truth.quota = smallest(&base, unlimited, goal, service.permille)?;
    }
    Ok(Some(truth))
}

/// The first seed of a truth.
fn first(base: &Scenario) -> u64 {
    base.seed + SEEDS_BEHIND
}

/// The smallest of quotas that lie a hundredth apart. A tenth of the seeds says about where it lies. From some steps below that all seeds
/// climb until at most 5 of 100 miss the goal. One that meets it is not run again: a larger quota is not worse for the same requests.
fn smallest(base: &Scenario, unlimited: CpuMax, goal: Ns, permille: u64) -> Result<Option<Ns>, Error> {
    let most = unlimited.period.0 * base.machine.cpus.len() as u64;
    let mut quotas = vec![CpuMax::LEAST];
    while let Some(next) = quotas.last().map(|last| Ns((last.0 + last.0 / 100) / 1_000 * 1_000)).filter(|next| next.0 < most) {
        quotas.push(next);
    }
    let limit = |place: usize| CpuMax { quota: Some(quotas[place]), ..unlimited };
    let (mut low, mut high) = (0, quotas.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let most = FEW * (100 - SHARE) / 100;
        let misses = misses(base, limit(middle), goal, permille, first(base), FEW, most)?;
        if misses <= most { high = middle } else { low = middle + 1 }
    }
    let missing = |place: usize, seeds: &[u64]| match place < quotas.len() {
        true => missing_of(base, limit(place), goal, permille, seeds),
        false => Ok(Vec::new()),
    };
    let mut found = climb(high, quotas.len(), (first(base), SEEDS), &missing)?;
    if found.error > ERROR {
        found = climb(found.place, quotas.len(), (first(base), MORE_SEEDS), &missing)?;
    }
    Ok(quotas.get(found.place).copied())
}

/// Where at most 5 of 100 seeds miss the goal, and by how many places that may be wrong.
struct Climbed {
    place: usize,
    error: usize,
}

/// The first place at which at most 5 of 100 seeds miss the goal. So many are missed by a limit that is exactly enough, and by chance as many more or
/// fewer as the root of that: the places at which so many miss it are the error to both sides.
fn climb(
    about: usize,
    places: usize,
    (from, count): (u64, u64),
    missing_at: &impl Fn(usize, &[u64]) -> Result<Vec<u64>, Error>,
) -> Result<Climbed, Error> {
    let enough = count * (100 - SHARE) / 100;
    let chance = enough.isqrt();
    let all: Vec<u64> = (from..from + count).collect();
    let mut place = about.min(places.saturating_sub(1));
    let mut missing = loop {
        place = place.saturating_sub(BELOW);
        let missing = missing_at(place, &all)?;
        if place == 0 || missing.len() as u64 > enough + chance {
            break missing;
        }
    };
    // The first places at which so few miss it: some more than are enough, enough, some fewer.
    let mut first = [enough + chance, enough, enough - chance].map(|most| (most, None));
    loop {
        let misses = missing.len() as u64;
        first.iter_mut().filter(|(most, found)| found.is_none() && misses <= *most).for_each(|row| row.1 = Some(place));
        if let [(_, Some(low)), (_, Some(place)), (_, Some(high))] = first {
            return Ok(Climbed { place, error: (high - low).div_ceil(2) });
        }
        place += 1;
        missing = missing_at(place, &missing)?;
    }
}

/// Seeds that say about where the quota lies, and so many steps below that all seeds begin.
const FEW: u64 = 40;
const BELOW: usize = 4;

/// Those of the seeds with which the goal is missed.
fn missing_of(base: &Scenario, limit: CpuMax, goal: Ns, permille: u64, seeds: &[u64]) -> Result<Vec<u64>, Error> {
    let found = seeds
        .par_iter()
        .map(|&seed| percentile(base, limit, seed, permille).map(|ns| (ns > goal.0).then_some(seed)))
        .collect::<Result<Vec<Option<u64>>, Error>>()?;
    Ok(found.into_iter().flatten().collect())
}

/// In how many runs the goal is missed. Counting ends beyond `most`.
pub(super) fn misses(
    base: &Scenario,
    limit: CpuMax,
    goal: Ns,
    permille: u64,
    from: u64,
    seeds: u64,
    most: u64,
) -> Result<u64, Error> {
    const AT_ONCE: u64 = 8;
    let (mut missed, mut next) = (0, 0);
    while next < seeds && missed <= most {
        let end = (next + AT_ONCE).min(seeds);
        let found = (next..end)
            .into_par_iter()
            .map(|seed| percentile(base, limit, from + seed, permille))
            .collect::<Result<Vec<u64>, Error>>()?;
        missed += found.iter().filter(|ns| **ns > goal.0).count() as u64;
        next = end;
    }
    Ok(missed)
}

/// The percentile of one run, as `run` prints it.
fn percentile(base: &Scenario, limit: CpuMax, seed: u64, permille: u64) -> Result<u64, Error> {
    let scenario = base.with_group_limit(GROUP, limit).with_seed(seed);
    let outcome = run::run(&scenario, &RunOptions::default(), &mut NullSink, Control::none())?;
    let tasks = &outcome.tasks;
    let marker = tasks.markers.iter_enumerated().find(|row| row.1.name == "request_latency").map(|row| row.0);
    let values = marker.map_or_else(Histogram::new, |id| marker_values(&outcome.report, tasks, &(0..tasks.tasks.len()), id));
    Ok(if values.is_empty() { u64::MAX } else { values.at_rank((values.len() * permille).div_ceil(1_000).max(1)) })
}
