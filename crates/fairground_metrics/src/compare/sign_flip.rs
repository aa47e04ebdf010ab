//! The exact permutation test on paired differences.

/// Most signs that are flipped one by one: 2^20 sums take milliseconds.
const MAX_FLIPS: usize = 20;

/// A probability as an exact fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PValue {
    /// Choices of signs that lie at least as far out as what was observed.
    pub extreme: u64,
    /// All choices of signs.
    pub all: u64,
}

impl PValue {
    /// Whether the probability is at most `1 / many`.
    pub(super) fn at_most_one_in(self, many: u64) -> bool {
        u128::from(self.extreme) * u128::from(many) <= u128::from(self.all)
    }
    /// The probability for the eye.
    #[allow(clippy::cast_precision_loss, reason = "for display only")]
    pub fn to_f64(self) -> f64 {
        self.extreme as f64 / self.all as f64
    }
}

/// One-sided p of the sum of `differences`, towards the side on which it lies.
pub(super) fn sign_flip(differences: &[i128]) -> PValue {
    let groups = grouped(differences);
    let observed = groups.iter().sum::<i128>().unsigned_abs();
    let mut signs = vec![false; groups.len()];
    let mut sum: i128 = -groups.iter().sum::<i128>();
    let all = 1u64 << groups.len();
    let mut extreme = u64::from(reaches(sum, observed));
    // Gray code: step k flips the sign at the lowest set bit of k, so each choice costs one addition.
    for step in 1..all {
        let place = step.trailing_zeros() as usize;
        let change = 2 * groups[place];
        signs[place] = !signs[place];
        sum += if signs[place] { change } else { -change };
        extreme += u64::from(reaches(sum, observed));
    }
    PValue { extreme, all }
}

/// Whether a sum lies as far up as the observed one lies from 0. The choices of signs are symmetric,
/// so the upper side stands for the lower one as well.
fn reaches(sum: i128, observed: u128) -> bool {
    sum >= 0 && sum.unsigned_abs() >= observed
}

fn grouped(differences: &[i128]) -> Vec<i128> {
    let mut groups = vec![0; differences.len().min(MAX_FLIPS)];
    differences.iter().enumerate().for_each(|(index, difference)| groups[index % MAX_FLIPS] += difference);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_cases() {
        assert_eq!(sign_flip(&[]), PValue { extreme: 1, all: 1 });
        assert_eq!(sign_flip(&[3, 1, 4, 1, 5]), PValue { extreme: 1, all: 32 });
        assert_eq!(sign_flip(&[-3, -1, -4, -1, -5]), PValue { extreme: 1, all: 32 });
        assert_eq!(sign_flip(&[1, -1]), PValue { extreme: 3, all: 4 });
        assert_eq!(sign_flip(&[0, 0, 0]), PValue { extreme: 8, all: 8 });
        assert!(sign_flip(&[1; 5]).at_most_one_in(20) && !sign_flip(&[1; 4]).at_most_one_in(20));
    }

    #[test]
    fn many_pairs_are_grouped() {
        assert_eq!(sign_flip(&[1; 50]), PValue { extreme: 1, all: 1 << 20 });
    }

    proptest! {
        #[test]
        fn equals_plain_enumeration(differences in prop::collection::vec(-50i128..50, 0..10)) {
            let observed = differences.iter().sum::<i128>().abs();
            let all = 1u64 << differences.len();
            let sum = |choice: u64| -> i128 {
                differences.iter().enumerate().map(|(i, d)| if choice >> i & 1 == 1 { *d } else { -d }).sum()
            };
            let extreme = (0..all).filter(|&choice| sum(choice) >= observed).count() as u64;
            prop_assert_eq!(sign_flip(&differences), PValue { extreme, all });
        }
    }
}
