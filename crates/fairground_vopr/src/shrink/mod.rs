//! Makes a failing case smaller: what can go without the failure going is taken away.

mod groups;
mod parts;
mod simpler;

use crate::case::Case;
use fairground_stdx::Ns;

/// Rounds over all parts of a case; a part that went may free another.
const ROUNDS: usize = 8;
/// Runs that one search may spend.
const ATTEMPTS: u32 = 3_000;

/// The smallest case that was found of which `fails` still says so.
pub fn shrink(case: Case, fails: impl FnMut(&Case) -> bool) -> Case {
    let mut search = Search { small: case, fails, left: ATTEMPTS };
    for _ in 0..ROUNDS {
        let before = search.small.clone();
        search.shorten();
        search.drop_tasks();
        search.drop_changes();
        search.drop_groups();
        search.drop_cpus();
        search.simpler_kernel();
        search.simpler_machine();
        search.drop_instructions();
        search.simpler_groups();
        search.simpler_tasks();
        search.simpler_times();
        if search.small == before || search.left == 0 {
            break;
        }
    }
    search.small
}

/// A case that fails, and what is left of the effort to make it smaller.
struct Search<F> {
    small: Case,
    fails: F,
    left: u32,
}

impl<F: FnMut(&Case) -> bool> Search<F> {
    /// Takes a change of the case over if it fails still.
    fn attempt(&mut self, change: impl FnOnce(&mut Case)) -> bool {
        let mut smaller = self.small.clone();
        change(&mut smaller);
        if smaller == self.small || self.left == 0 {
            return false;
        }
        self.left -= 1;
        let taken = (self.fails)(&smaller);
        if taken {
            self.small = smaller;
        }
        taken
    }

    /// Takes rows away, halves of them at first, single ones at last. From the end, so that rows before keep
    /// their numbers.
    fn drop_rows(&mut self, count: impl Fn(&Case) -> usize, remove: impl Fn(&mut Case, usize)) {
        let mut size = count(&self.small).div_ceil(2);
        while size > 0 {
            let mut end = count(&self.small);
            while end > 0 {
                let start = end.saturating_sub(size);
                self.attempt(|case| (start..end).rev().for_each(|row| remove(case, row)));
                end = start;
            }
            size /= 2;
        }
    }

    fn shorten(&mut self) {
        let halve = |case: &mut Case| case.duration = Ns(case.duration.0 / 2);
        while self.small.duration > Ns(1_000) && self.attempt(halve) {}
        let mut step = self.small.duration.0 / 4;
        while step > self.small.duration.0 / 100 && step > 0 {
            if !self.attempt(|case| case.duration = Ns(case.duration.0.saturating_sub(step).max(1))) {
                step /= 2;
            }
        }
        // What happens behind the end is refused in a file.
        let end = self.small.duration.0;
        self.attempt(|case| case.tasks.changes.retain(|timed| timed.at.ns() < end));
    }
}
