//! The smallest limit that meets a goal, as a statement about seeds that were not tried.
//!
//! The quotas that are tried lie 2 % apart. For each seed, the smallest of them is searched at which the goal holds, and at all
//! larger ones. One seed means the same requests with every quota, so that is a search by halves. The results differ between
//! seeds. The answer lies so far above their mean that 95 % of all seeds are below it, with 95 % confidence if they are spread
//! normally. It is never below the largest that was found. The next smaller step goes down until most of the tried seeds fail.
//! So where seeds agree the step is 2 %; where they do not it is wider, and says so.

use super::goal::Goal;
use super::lab::{Lab, Variant};
use fairground_model::CpuMax;
use fairground_scenario::Error;
use fairground_stdx::Ns;
use rayon::prelude::*;

/// The smallest limit, and how sure it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Smallest {
    /// The limit with which the goal is to hold with at least 95 % of all seeds; none if no limit is enough.
    pub limit: Option<CpuMax>,
    /// The next smaller step, with which it is to fail with at least half of them; none below the answer 1 ms.
    pub below: Option<CpuMax>,
    /// Seeds with which the goal does not hold even with the largest quota.
    pub unreached: u64,
    /// Seeds that were tried.
    pub seeds: u64,
    /// Digest of all runs that decided.
    pub(super) digest: u128,
    pub(super) interrupted: bool,
}

/// The quotas that are tried, each a fiftieth above the one before: from `low` to `high`, whole microseconds.
pub(super) fn quotas_to_try(low: Ns, high: Ns) -> Vec<Ns> {
    let mut quota_us = low.0.div_ceil(1000).max(CpuMax::LEAST.0 / 1000);
    let high_us = high.0 / 1000;
    let mut quotas = Vec::new();
    while quota_us < high_us {
        quotas.push(Ns::from_us(quota_us));
        quota_us += (quota_us / 50).max(1);
    }
    quotas.push(Ns::from_us(high_us.max(CpuMax::LEAST.0 / 1000)));
    quotas
}

/// What a seed gave: the place of the smallest quota at which the goal holds, and the digest of its runs.
struct Critical {
    place: Option<usize>,
    digest: u128,
    interrupted: bool,
}

/// Searches the smallest of these quotas, with so many seeds. `make` gives the variant of a quota.
pub(super) fn smallest(
    lab: &Lab<'_>,
    quotas: &[Ns],
    make: &(dyn Fn(Ns) -> Variant + Sync),
    goals: &[Goal],
    seeds: u64,
) -> Result<Smallest, Error> {
    // The first seed looks everywhere, the others begin where it ended.
    let first = critical(lab, quotas, make, goals, 0, quotas.len() / 3, quotas.len() / 4)?;
    let hint = first.place.unwrap_or(quotas.len() - 1);
    let others = (1..seeds).into_par_iter().map(|seed| critical(lab, quotas, make, goals, seed, hint, 2));
    let mut found = others.collect::<Result<Vec<Critical>, Error>>()?;
    found.insert(0, first);
    let mut digest = fairground_model::Digest::default();
    found.iter().for_each(|one| digest.bytes(&one.digest.to_le_bytes()));
    let reached: Vec<usize> = found.iter().filter_map(|one| one.place).collect();
    let unreached = seeds - reached.len() as u64;
    let step = (unreached == 0).then(|| step(&reached, quotas.len()));
    let limit = |place: usize| make(quotas[place]).limit;
    Ok(Smallest {
        limit: step.map(|step| limit(step.0)),
        below: step.and_then(|step| step.1).map(limit),
        unreached,
        seeds,
        digest: digest.value(),
        interrupted: found.iter().any(|one| one.interrupted),
    })
}

/// The smallest quota at which the goal holds with a seed. The search begins at place `hint`, with steps of `stride` that double.
fn critical(
    lab: &Lab<'_>,
    quotas: &[Ns],
    make: &(dyn Fn(Ns) -> Variant + Sync),
    goals: &[Goal],
    seed: u64,
    hint: usize,
    stride: usize,
) -> Result<Critical, Error> {
    let mut digest = fairground_model::Digest::default();
    let mut interrupted = false;
    let mut holds = |place: usize| -> Result<bool, Error> {
        let sample = lab.sample(&lab.scenario(&make(quotas[place])), seed)?;
        digest.bytes(&sample.digest.to_le_bytes());
        interrupted |= sample.interrupted;
        Ok(sample.holds(goals))
    };
    // It holds at place `high`, if there is one, and at none below `low`.
    let (mut low, mut high) = (0, quotas.len());
    let (mut has_held, mut has_failed) = (false, false);
    let (mut next, mut stride) = (hint.min(quotas.len() - 1), stride.max(1));
    while low < high && !lab.control.stopped() {
        if holds(next)? {
            (high, has_held) = (next, true);
        } else {
            (low, has_failed) = (next + 1, true);
        }
        next = match (has_failed, has_held) {
            (true, true) => low + (high - low) / 2,
            (false, _) => high.saturating_sub(stride),
            (true, false) => (low + stride - 1).min(quotas.len() - 1),
        };
        stride *= 2;
    }
    interrupted |= low < high;
    Ok(Critical { place: (high < quotas.len()).then_some(high), digest: digest.value(), interrupted })
}

/// One-sided tolerance factors of the normal distribution by the number of values, times 1000: the mean and so many deviations lie
/// above 95 % of all values with 95 % confidence.
const TOLERANCE_PERMILLE: [(usize, u128); 7] =
    [(10, 2911), (20, 2396), (30, 2220), (40, 2126), (60, 2022), (100, 1927), (200, 1837)];

fn tolerance(count: usize) -> u128 {
    TOLERANCE_PERMILLE.iter().rev().find(|row| row.0 <= count).unwrap_or(&TOLERANCE_PERMILLE[0]).1
}

/// The place of the answer, and that of the next smaller step.
fn step(reached: &[usize], quotas: usize) -> (usize, Option<usize>) {
    let mut sorted = reached.to_vec();
    sorted.sort_unstable();
    let count = sorted.len() as u128;
    let sum: u128 = sorted.iter().map(|&place| place as u128).sum();
    let squares: u128 = sorted.iter().map(|&place| (place as u128).pow(2)).sum();
    // The squared deviation is (n Σx² − (Σx)²) / (n (n − 1)); all in thousandths of a place.
    let variance_micro = (count * squares - sum * sum) * 1_000_000 / (count * (count - 1)).max(1);
    let bound = (sum * 1000 / count + tolerance(sorted.len()) * variance_micro.isqrt() / 1000).div_ceil(1000);
    let highest = sorted[sorted.len() - 1];
    let answer = usize::try_from(bound).unwrap_or(highest).max(highest).min(quotas - 1);
    // So many more than half of the tried seeds need a larger quota that half of all do, with 99 % confidence: 1.165 √n more.
    let more_than_half = (sorted.len() * 136 / 100).isqrt() + 1;
    let below = sorted[(sorted.len() / 2).saturating_sub(more_than_half)].checked_sub(1);
    (answer, below.map(|below| below.min(answer.saturating_sub(1))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_lie_two_percent_apart_and_end_where_they_are_told() {
        let quotas = quotas_to_try(Ns::from_ms(190), Ns::from_ms(800));
        assert_eq!(
            (quotas[0], quotas[1], quotas[quotas.len() - 1]),
            (Ns::from_us(190_000), Ns::from_us(193_800), Ns::from_ms(800))
        );
        assert!(quotas.windows(2).all(|pair| pair[0] < pair[1] && pair[1].0 * 100 <= pair[0].0 * 102));
        assert_eq!(quotas_to_try(Ns(5), Ns(7)), [Ns::from_ms(1)]);
    }

    #[test]
    fn seeds_that_agree_give_the_next_quota_and_others_a_wider_step() {
        assert_eq!(step(&[7; 20], 100), (7, Some(6)));
        assert_eq!(step(&[0; 20], 100), (0, None));
        let spread: Vec<usize> = (0..20).map(|row| 40 + row % 5).collect();
        // Mean 42, deviation 1.45: 42 + 3.5, rounded up. Of 20 seeds 16 must need more than the lower one.
        assert_eq!(step(&spread, 100), (46, Some(40)));
        assert_eq!(step(&spread, 45).0, 44);
    }
}
