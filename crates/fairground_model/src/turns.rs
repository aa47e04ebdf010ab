//! CPUs that execute one after the other, as the clock shows it to one of them.

/// When a CPU executes that takes turns with others, from the beginning of a phase on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turns {
    /// Until its turn begins, ns; 0 within it.
    pub wait: u64,
    /// What is left of the turn then, ns.
    pub left: u64,
    /// Length of its later turns, ns.
    pub length: u64,
    /// Time of the others between two of them, ns.
    pub between: u64,
}

impl Turns {
    /// A CPU that executes all the time.
    pub const ALONE: Turns = Turns { wait: 0, left: u64::MAX, length: u64::MAX, between: 0 };

    /// How long work lasts that needs so much time of its turns, ns.
    #[inline]
    pub fn last(&self, work: u64) -> u64 {
        if work <= self.left {
            return self.wait + work;
        }
        let more_turns = (work - self.left - 1) / self.length;
        self.wait + work + self.between * (more_turns + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_on_in_the_next_turns() {
        let turns = Turns { wait: 3, left: 5, length: 10, between: 30 };
        assert_eq!([0, 5, 6, 15, 16].map(|work| turns.last(work)), [3, 8, 39, 48, 79]);
        assert_eq!(Turns::ALONE.last(1_000_000), 1_000_000);
    }
}
