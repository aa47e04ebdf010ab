//! The smallest set of units that carries a metric over.

/// What is known of sets of units, each by its place.
pub(crate) trait Trial<E> {
    /// Whether the core can run a mix with these units.
    fn runs(&self, units: &[usize]) -> bool;
    /// Whether the metric of that mix lies nearer to the end than to the beginning.
    fn carries(&mut self, units: &[usize]) -> Result<bool, E>;
}

/// The units of `count` that are needed, in order; none if all together do not carry it.
///
/// The shortest prefix that carries it over ends with a unit that is needed. That one is kept, and the search goes on before it.
pub(crate) fn smallest<E>(trial: &mut impl Trial<E>, count: usize) -> Result<Vec<usize>, E> {
    let mut needed: Vec<usize> = Vec::new();
    let mut open = count;
    while needed.is_empty() || !trial.carries(&needed)? {
        let ends: Vec<usize> = (1..=open).filter(|&end| trial.runs(&prefix(end, &needed))).collect();
        let Some(last) = ends.len().checked_sub(1) else { return Ok(Vec::new()) };
        if !trial.carries(&prefix(ends[last], &needed))? {
            return Ok(Vec::new());
        }
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = (low + high) / 2;
            let done = trial.carries(&prefix(ends[middle], &needed))?;
            if done { high = middle } else { low = middle + 1 }
        }
        // Several, if the prefixes between cannot be run.
        open = if low == 0 { 0 } else { ends[low - 1] };
        needed.extend(open..ends[low]);
        needed.sort_unstable();
    }
    // What can be left out is.
    for unit in needed.clone() {
        let less: Vec<usize> = needed.iter().copied().filter(|&other| other != unit).collect();
        if !less.is_empty() && trial.runs(&less) && trial.carries(&less)? {
            needed = less;
        }
    }
    Ok(needed)
}

fn prefix(end: usize, needed: &[usize]) -> Vec<usize> {
    let mut units: Vec<usize> = (0..end).chain(needed.iter().copied()).collect();
    units.sort_unstable();
    units.dedup();
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carries with all of `all`; cannot run with one of `together` without the others.
    struct Planted {
        all: Vec<usize>,
        together: Vec<usize>,
        asked: usize,
    }

    impl Trial<()> for Planted {
        fn runs(&self, units: &[usize]) -> bool {
            let there = self.together.iter().filter(|unit| units.contains(unit)).count();
            there == 0 || there == self.together.len()
        }
        fn carries(&mut self, units: &[usize]) -> Result<bool, ()> {
            self.asked += 1;
            Ok(self.all.iter().all(|unit| units.contains(unit)))
        }
    }

    fn search(all: &[usize], together: &[usize], count: usize) -> (Vec<usize>, usize) {
        let mut trial = Planted { all: all.to_vec(), together: together.to_vec(), asked: 0 };
        let found = smallest(&mut trial, count).unwrap();
        (found, trial.asked)
    }

    #[test]
    fn one_two_and_three_units_are_found_wherever_they_stand() {
        for count in 1..40 {
            for one in 0..count {
                let (found, asked) = search(&[one], &[], count);
                assert_eq!(found, [one]);
                assert!(asked <= 10, "{asked} of {count}");
            }
        }
        for first in 0..20 {
            for second in first + 1..20 {
                let (found, asked) = search(&[first, second], &[], 20);
                assert_eq!(found, [first, second]);
                assert!(asked <= 18, "{asked}");
            }
        }
        assert_eq!(search(&[3, 9, 27], &[], 40).0, [3, 9, 27]);
    }

    #[test]
    fn units_that_run_only_together_come_together() {
        assert_eq!(search(&[4], &[4, 5, 6], 10).0, [4, 5, 6]);
        assert_eq!(search(&[1], &[4, 5, 6], 10).0, [1]);
    }

    #[test]
    fn what_nothing_carries_is_not_found() {
        let mut never = Planted { all: vec![100], together: Vec::new(), asked: 0 };
        assert_eq!(smallest(&mut never, 10), Ok(Vec::new()));
        assert_eq!(smallest(&mut never, 0), Ok(Vec::new()));
    }
}
