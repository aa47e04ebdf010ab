//! How large an effect is: its estimate and an interval.
//!
//! Both are read off the Walsh averages, the means of every two differences (each with itself too). The estimate is their median
//! (Hodges and Lehmann 1963). The interval has the k-th smallest and the k-th largest of them as its ends, where k follows from the
//! exact distribution of the signed-rank statistic: if differences lie evenly about the true effect, it holds that in at least 95 %.
//! Six pairs are the fewest for that.

use super::max_t::MAX_GROUPS;

/// The chance that the interval misses on one side is at most one in this many.
const ONE_SIDE_ONE_IN: u128 = 40;

/// The size of a difference, as held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// The estimate.
    pub estimate: i128,
    /// From where to where it lies with 95 %; `None` with fewer than six pairs.
    pub interval: Option<(i128, i128)>,
}

impl Effect {
    /// That of differences, one for each pair.
    pub(super) fn of(differences: &[i128]) -> Effect {
        let values = grouped(differences);
        let mut sums: Vec<i128> = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
        for (place, first) in values.iter().enumerate() {
            sums.extend(values[place..].iter().map(|second| first + second));
        }
        sums.sort_unstable();
        let middle = sums.len() / 2;
        let twice = match sums.len() {
            0 => 0,
            odd if odd % 2 == 1 => sums[middle],
            _ => (sums[middle - 1] + sums[middle]) / 2,
        };
        let cut = cut(values.len());
        // Halves are rounded outwards, so that the interval loses nothing.
        let interval =
            cut.checked_sub(1).map(|first| (sums[first].div_euclid(2), -(-sums[sums.len() - 1 - first]).div_euclid(2)));
        Effect { estimate: twice / 2, interval }
    }
    /// Whether the whole interval lies within this distance from 0.
    pub(super) fn is_within(&self, distance: u128) -> bool {
        self.interval.is_some_and(|(low, high)| low.unsigned_abs() <= distance && high.unsigned_abs() <= distance)
    }
}

/// Of very many pairs the means of groups.
fn grouped(differences: &[i128]) -> Vec<i128> {
    if differences.len() <= MAX_GROUPS {
        return differences.to_vec();
    }
    let group = |first: usize| {
        let own: Vec<i128> = differences.iter().skip(first).step_by(MAX_GROUPS).copied().collect();
        own.iter().sum::<i128>() / own.len() as i128
    };
    (0..MAX_GROUPS).map(group).collect()
}

/// The largest k with a chance of at most 1/40 that the statistic is below k.
fn cut(pairs: usize) -> usize {
    // How many of the 2^pairs choices of signs give each sum of ranks; of 64 pairs all fit 128 bits.
    let largest = pairs * (pairs + 1) / 2;
    let mut ways = vec![0u128; largest + 1];
    ways[0] = 1;
    for rank in 1..=pairs {
        for sum in (rank..=largest).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let (all, mut below, mut cut) = (1u128 << pairs, 0u128, 0);
    for count in ways {
        below += count;
        if below * ONE_SIDE_ONE_IN > all {
            break;
        }
        cut += 1;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cuts_are_those_of_the_signed_rank_tables() {
        // Critical values of the two-sided test at 5 %, plus one.
        for (pairs, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (20, 52)] {
            assert_eq!(cut(pairs), critical + 1, "{pairs}");
        }
        assert_eq!(cut(5), 0);
    }

    #[test]
    fn estimate_and_interval_of_known_differences() {
        let effect = Effect::of(&[1, 2, 3, 4, 5, 6]);
        assert_eq!(effect, Effect { estimate: 3, interval: Some((1, 6)) });
        assert_eq!(Effect::of(&[10, 20]), Effect { estimate: 15, interval: None });
        assert_eq!(Effect::of(&[]), Effect { estimate: 0, interval: None });
        assert!(Effect::of(&[-1, 0, 1, 0, 1, -1]).is_within(1) && !effect.is_within(5));
        assert_eq!(Effect::of(&[-1, 0, 0, 0, 0, -2]).interval, Some((-2, 0)));
        assert_eq!(Effect::of(&[1, 0, 0, 0, 0, 0, 0, -1]).interval, Some((-1, 1)));
    }

    #[test]
    fn one_wild_pair_does_not_carry_the_estimate_away() {
        let effect = Effect::of(&[10, 11, 9, 10, 12, 8, 10, 1_000_000]);
        assert!((9..=12).contains(&effect.estimate), "{effect:?}");
    }
}
