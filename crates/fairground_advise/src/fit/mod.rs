//! What counters leave open: a fit over burstiness.
//!
//! Services of a stated family are drawn at random ([`prior`]) and run as a fluid ([`fluid`]). Those whose counters come out as the
//! measured ones are kept, whatever else they are ([`find`]: rejection sampling). How the time of requests differs between them is what
//! the counters do not say.

mod answer;
mod counter_advice;
mod find;
mod fluid;
mod measured;
mod prior;
mod range;
mod reached;
mod show;
#[cfg(test)]
mod tests;

pub use answer::FitPoint;
pub use counter_advice::CounterAdvice;
pub use range::Range;

use super::goal::Goal;
use answer::{Answers, Question};
use fairground_model::Digest;
use fairground_scenario::Control;
use find::{Found, Sampler};
pub(super) use measured::Measured;
use rayon::prelude::*;

/// What is asked, and how much work it is worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FitOptions {
    /// What the service must reach; the first names the percentile that is looked at.
    pub goals: Vec<Goal>,
    /// Worker threads, if they are known.
    pub workers: Option<u32>,
    /// Seed of all draws.
    pub seed: u64,
    /// So many kept services are enough.
    pub accept: usize,
    /// Most runs.
    pub runs: u64,
}

impl Default for FitOptions {
    fn default() -> FitOptions {
        FitOptions { goals: Vec::new(), workers: None, seed: 1, accept: 500, runs: 20_000 }
    }
}

/// Fewer kept services say nothing.
const LEAST: usize = 10;
/// Services that are drawn between two looks at how many were kept. It does not depend on the threads of this host.
const BATCH: u32 = 256;

/// What came out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fit {
    /// What is looked at, thousandths (990 = p99).
    pub permille: u64,
    /// The goals.
    pub goals: Vec<Goal>,
    /// Services that were kept.
    pub accepted: u64,
    /// Services that were drawn.
    pub drawn: u64,
    /// Runs of services, several for most.
    pub runs: u64,
    /// Length of each run, ns.
    pub length_ns: u64,
    /// From which to which mean CPU time requests were drawn, ns.
    pub service_ns: (u64, u64),
    /// Whether how use differs between periods was matched too.
    pub spread_known: bool,
    /// The present limit, larger ones, and none; empty if too few were kept.
    pub points: Vec<FitPoint>,
    /// The smallest quota that meets the goals, ns; one that no limit helps counts as `u64::MAX`. None without a goal.
    pub smallest: Option<Range>,
    /// What would be left of the percentile's range at the present limit if the use of each period were known.
    pub with_spread: Option<Range>,
    /// Digest over what was kept.
    pub digest: u128,
    /// Whether the caller stopped it: then it says nothing.
    pub interrupted: bool,
}

/// Looks for services whose counters come out as measured, and asks them what limits would do.
pub(super) fn fit(measured: &Measured, options: &FitOptions, control: Control<'_>) -> Fit {
    let sampler = Sampler { measured, options, end: measured.length() };
    let (mut found, mut runs, mut drawn) = (Vec::new(), 0, 0);
    'all: while !control.stopped() {
        let batch: Vec<(Option<Found>, u64)> = (drawn..drawn + BATCH).into_par_iter().map(|row| sampler.find(row)).collect();
        for (one, took) in batch {
            (drawn, runs) = (drawn + 1, runs + took);
            found.extend(one);
            if found.len() >= options.accept || runs >= options.runs {
                break 'all;
            }
        }
        // Whichever of both ends it.
        let of_accepted = found.len() as u64 * options.runs / options.accept.max(1) as u64;
        control.at(of_accepted.max(runs), options.runs);
    }
    let question = Question::new(measured, &options.goals);
    let enough = if found.len() < LEAST { &[] } else { &found[..] };
    let answers: Vec<Answers> = enough
        .par_iter()
        .map(|kept| {
            let (server, requests) = sampler.requests(kept);
            question.ask(&requests, server, sampler.end)
        })
        .collect();
    let mut digest = Digest::default();
    found.iter().for_each(|kept| digest.bytes(&kept.row.to_le_bytes()));
    answers.iter().flat_map(|one| &one.latencies).for_each(|latency| digest.bytes(&latency.to_le_bytes()));
    let spreads: Vec<u64> = enough.iter().map(|kept| kept.spread_us).collect();
    Fit {
        permille: question.permille,
        goals: options.goals.clone(),
        accepted: found.len() as u64,
        drawn: u64::from(drawn),
        runs,
        length_ns: sampler.end,
        service_ns: prior::service_bounds(measured.usage_ns_per_s, sampler.end),
        spread_known: measured.spread_us.is_some(),
        points: question.points(&answers),
        smallest: question.smallest(&answers),
        with_spread: range::of_alike(&spreads, &answers.iter().map(|one| one.latencies[0]).collect::<Vec<u64>>()),
        digest: digest.value(),
        interrupted: control.stopped(),
    }
}
