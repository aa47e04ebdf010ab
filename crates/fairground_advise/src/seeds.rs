//! What a count of seeds proves: of so many runs so many missed the goal, so what share of all runs will?
//!
//! A limit is enough if at least 95 of 100 runs meet the goal. Of `count` runs, each missing it with chance 5 %, `misses` or
//! fewer miss it with probability `B(misses)` (binomial). If that is at most 5 %, then so few misses prove the limit, with 95 %
//! confidence, whatever the spread of the seeds looks like. In the same way so many misses that 5 % would rarely give that many
//! prove that it is not enough. Between both the runs leave it open.

/// Misses of a hundred runs that a limit may have.
const SHARE: f64 = 0.05;
/// The chance of error that is taken.
const ERROR: f64 = 0.05;
/// Fewest seeds that can prove a limit: none of them misses.
pub(super) const LEAST: u64 = 59;

/// The chances that of `count` runs at most 0, 1, 2 … miss, when 5 % of all do. Only sums, products and quotients: the same on every machine.
fn at_most(count: u64) -> impl Iterator<Item = f64> {
    let mut none = 1.0;
    for _ in 0..count {
        none *= 1.0 - SHARE;
    }
    let exactly = (1..=count).scan(none, move |exactly, misses| {
        *exactly *= (count - misses + 1) as f64 / misses as f64 * (SHARE / (1.0 - SHARE));
        Some(*exactly)
    });
    std::iter::once(none).chain(exactly).scan(0.0, |sum, exactly| {
        *sum += exactly;
        Some(*sum)
    })
}

/// The most misses of `count` runs that prove a limit; none if even no miss proves it.
pub(super) fn allowed(count: u64) -> Option<u64> {
    (at_most(count).take_while(|chance| *chance <= ERROR).count() as u64).checked_sub(1)
}

/// The fewest misses of `count` runs that prove that a limit is not enough.
pub(super) fn refuted(count: u64) -> u64 {
    at_most(count).take_while(|chance| 1.0 - *chance > ERROR).count() as u64 + 1
}

/// With what confidence so many misses prove a limit: hundredths, rounded down.
pub(super) fn confidence_percent(misses: u64, count: u64) -> u64 {
    let chance = at_most(count).nth(usize::try_from(misses).unwrap_or(usize::MAX)).unwrap_or(1.0);
    ((1.0 - chance) * 100.0) as u64
}

/// The largest count up to `count` that no smaller one beats. From 59 seeds on a count helps only if it allows one more miss:
/// the largest of 92 values lies above that of 59.
pub(super) fn useful(count: u64) -> u64 {
    let Some(misses) = allowed(count) else { return count };
    (LEAST..=count).find(|&fewer| allowed(fewer) == Some(misses)).unwrap_or(count)
}

/// The next useful count above `count`.
pub(super) fn next(count: u64) -> u64 {
    (count + 1..).find(|&more| allowed(more) > allowed(count)).unwrap_or(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known table of nonparametric tolerance bounds for 95 % of all with 95 % confidence.
    #[test]
    fn counts_are_those_of_the_tolerance_bounds() {
        assert_eq!((allowed(58), allowed(59), allowed(92), allowed(93)), (None, Some(0), Some(0), Some(1)));
        let counts: Vec<u64> = std::iter::successors(Some(LEAST), |&count| Some(next(count))).take(8).collect();
        assert_eq!(counts, [59, 93, 124, 153, 181, 208, 234, 260]);
        assert_eq!((useful(40), useful(60), useful(100), useful(300)), (40, 59, 93, 286));
    }

    #[test]
    fn confidence_is_that_of_the_binomial_distribution() {
        assert_eq!((confidence_percent(0, 59), confidence_percent(0, 10), confidence_percent(3, 59)), (95, 40, 34));
        // Of 20 runs with 5 % misses each, 4 or more miss in 1.6 %, 3 or more in 7.5 %.
        assert_eq!((refuted(20), refuted(59)), (4, 7));
    }
}
