//! Random numbers: one stream per (seed, purpose, row).
//!
//! Adding a task, a CPU or a new use of randomness never shifts the numbers that another stream gives.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What a stream is for. The number is part of the format: it never changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamKind {
    /// What a task does; row = task.
    TaskBehavior = 1,
    /// Lateness of ticks; row = CPU.
    TickJitter = 2,
    /// Random whole-system tests; row = number of the case.
    Vopr = 3,
    /// Whether newidle balance is tried; row = CPU.
    NewidleBalance = 4,
    /// When a CPU balanced its domains last before the run; row = CPU.
    BalancePhase = 5,
    /// When the periods of a group's quota begin; row = group.
    PeriodPhase = 6,
    /// Which seeds are drawn for an interval; row 0.
    Bootstrap = 7,
    /// How long after the start of a run a recording begins; row 0.
    RecordingStart = 8,
    /// What a service may be of which only counters are known; row = number of the guess.
    CounterFit = 9,
    /// When a CPU is disturbed and for how long; row = number of the source.
    Noise = 10,
    /// What is planted for an exam of the answers; row = hash of the family's name.
    Exam = 11,
}

/// A stream of random integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RngStream(Xoshiro256PlusPlus);

impl RngStream {
    /// The stream of (`seed`, `kind`, `row`).
    pub fn new(seed: u64, kind: StreamKind, row: u32) -> RngStream {
        // splitmix64 of three words: neighbouring rows and seeds give unrelated states.
        let mut state = seed;
        let mut mix = |word: u64| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(word);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        let words = [mix(0), mix(kind as u64), mix(u64::from(row)), mix(0)];
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        RngStream(Xoshiro256PlusPlus::from_seed(bytes))
    }
    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
    /// A number below `bound`, each equally likely; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Rejection keeps every value equally likely: draws from the incomplete last block go back.
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.next_u64();
            if draw < limit {
                return draw % bound;
            }
        }
    }
    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match (high.max(low) - low).checked_add(1) {
            Some(width) => low + self.below(width),
            None => self.next_u64(),
        }
    }
    /// A number whose distribution is exponential: mean · −ln(u) with u evenly from (0, 1], rounded down. No draw is
    /// above 45 times the mean (u = 2^−64).
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let minus_log2 = minus_log2_q32(self.next_u64());
        let minus_ln = (u128::from(minus_log2) * LN_2_Q32) >> 32;
        let scaled = (u128::from(mean) * minus_ln) >> 32;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// ln 2 in units of 2^−32, rounded down.
pub(crate) const LN_2_Q32: u128 = 2_977_044_471;

/// −log2((draw + 1) / 2^64) in units of 2^−32, rounded down in its last bits: from 64 for draw 0 to 0 for the largest.
///
/// The whole part is where the highest bit lies. Squaring the rest, which lies in [1, 2), gives one bit of its logarithm
/// after the other: it is 1 if the square is 2 or more, which is then halved.
pub(crate) fn minus_log2_q32(draw: u64) -> u64 {
    let Some(number) = draw.checked_add(1) else { return 0 };
    let zeros = u64::from(number.leading_zeros());
    let mut rest = number << zeros;
    let mut log = 63 - zeros;
    for _ in 0..32 {
        let square = u128::from(rest) * u128::from(rest);
        let two_or_more = (square >> 127) as u64;
        rest = (square >> (63 + two_or_more)) as u64;
        log = (log << 1) | two_or_more;
    }
    (64 << 32) - log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_independent_and_fixed() {
        let draw = |kind, row| RngStream::new(1, kind, row).next_u64();
        assert_eq!(draw(StreamKind::TaskBehavior, 0), draw(StreamKind::TaskBehavior, 0));
        assert_ne!(draw(StreamKind::TaskBehavior, 0), draw(StreamKind::TaskBehavior, 1));
        assert_ne!(draw(StreamKind::TaskBehavior, 0), draw(StreamKind::TickJitter, 0));
        // Fixed for ever: a change here changes every digest of every run with randomness.
        assert_eq!(draw(StreamKind::TaskBehavior, 0), RngStream::new(1, StreamKind::TaskBehavior, 0).next_u64());
    }

    #[test]
    fn logarithms_are_right_in_their_first_nine_digits() {
        assert_eq!(minus_log2_q32(u64::MAX), 0);
        assert_eq!(minus_log2_q32(0), 64 << 32);
        assert_eq!(minus_log2_q32((1 << 63) - 1), 1 << 32);
        for draw in [5, 1_000_003, 1 << 40, u64::MAX / 3, u64::MAX - (1 << 50)] {
            let exact = -((draw as f64 + 1.0) / 2f64.powi(64)).log2();
            let ours = minus_log2_q32(draw) as f64 / 2f64.powi(32);
            assert!((ours - exact).abs() < 2e-9 * exact.max(1.0), "{draw}: {ours} for {exact}");
        }
    }

    #[test]
    fn exponential_draws_have_their_mean_and_their_tail() {
        let (mean, count) = (1_000_000, 100_000);
        let mut stream = RngStream::new(3, StreamKind::TaskBehavior, 0);
        let draws: Vec<u64> = (0..count).map(|_| stream.exponential(mean)).collect();
        let average = draws.iter().sum::<u64>() / count;
        assert!(average.abs_diff(mean) < mean / 100, "{average}");
        // Above the mean lie 1/e of them, above three means 1/e^3.
        let above = |factor| draws.iter().filter(|&&draw| draw > factor * mean).count();
        assert!(above(1).abs_diff(36_788) < 500 && above(3).abs_diff(4_979) < 250, "{} {}", above(1), above(3));
        assert_eq!(stream.exponential(0), 0);
        assert!(stream.exponential(u64::MAX) > 0);
    }

    #[test]
    fn bounds_hold() {
        let mut stream = RngStream::new(7, StreamKind::Vopr, 0);
        assert!((0..1000).all(|_| stream.below(10) < 10));
        assert!((0..1000).all(|_| (5..=7).contains(&stream.between(5, 7))));
        assert_eq!((stream.below(0), stream.between(3, 3)), (0, 3));
    }
}
