//! Is a difference there? A test that ends as soon as the seeds so far say so.
//!
//! Both answers are held against each other by how likely the differences are under each (Wald's sequential probability ratio test,
//! Sequential Analysis, 1947):
//!
//! ```text
//! 0:  the mean of the differences is 0            m:  it is `m`, half of the seeds' noise is on either side of m/2
//! log of the ratio = m / variance × (sum of n differences - n m / 2)
//! ```
//!
//! At 7 or more it is `m`, at -7 or less it is 0: each is wrong about once in 1,000 times (e^-7), if the noise is about normal.
//! An effect as large as the noise takes 14 seeds on the average, one of three times the noise two.

/// The log of the ratio that decides.
const DECIDES: i128 = 7;

/// What a test says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    /// The difference is there.
    Yes,
    /// It is not.
    No,
    /// More seeds are needed.
    Open,
}

/// How far differences scatter about their mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Noise {
    /// The sum of squared distances from the mean, for all together.
    squares: i128,
    /// How many of them are free.
    freedom: i128,
}

impl Noise {
    /// That of some differences.
    pub(crate) fn of(differences: &[i128]) -> Noise {
        let count = differences.len() as i128;
        if count == 0 {
            return Noise { squares: 0, freedom: 0 };
        }
        let sum: i128 = differences.iter().sum();
        let squares: i128 = differences.iter().map(|difference| difference * difference).sum();
        Noise { squares: (squares - sum * sum / count).max(0), freedom: count - 1 }
    }
    /// That of both together.
    fn with(self, other: Noise) -> Noise {
        Noise { squares: self.squares + other.squares, freedom: self.freedom + other.freedom }
    }
}

/// Whether the mean of `differences` is `size.0 / size.1` rather than 0. The noise of others counts too.
pub(crate) fn is_there(differences: &[i128], size: (i128, i128), noise: Noise) -> Says {
    let noise = noise.with(Noise::of(differences));
    let (count, sum) = (differences.len() as i128, differences.iter().sum::<i128>());
    let (total, many) = size;
    // The log of the ratio times 2 many² squares.
    let ratio = total * (2 * many * sum - count * total) * noise.freedom.max(1);
    let decides = DECIDES * 2 * many * many * noise.squares;
    match () {
        () if ratio == 0 => Says::Open,
        () if ratio >= decides => Says::Yes,
        () if ratio <= -decides => Says::No,
        () => Says::Open,
    }
}

/// Whether the mean of `differences` is at least `size` away from 0, to either side.
pub(crate) fn is_away(differences: &[i128], size: i128, noise: Noise) -> Says {
    match (is_there(differences, (size, 1), noise), is_there(differences, (-size, 1), noise)) {
        (Says::Yes, _) | (_, Says::Yes) => Says::Yes,
        (Says::No, Says::No) => Says::No,
        _ => Says::Open,
    }
}

/// Which of both the mean of `differences` is nearer to, where the test stays open.
pub(crate) fn is_nearer(differences: &[i128], size: (i128, i128)) -> bool {
    let (count, sum) = (differences.len() as i128, differences.iter().sum::<i128>());
    let (total, many) = size;
    // Beyond half of the size, on its side of 0.
    total.signum() * 2 * many * sum > total.abs() * count
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::{RngStream, StreamKind};

    #[test]
    fn without_noise_one_difference_decides() {
        let none = Noise::of(&[]);
        assert_eq!(is_there(&[100], (100, 1), none), Says::Yes);
        assert_eq!(is_there(&[0], (100, 1), none), Says::No);
        assert_eq!(is_there(&[50], (100, 1), none), Says::Open);
        assert_eq!(is_away(&[-80], 80, none), Says::Yes);
        assert_eq!(is_away(&[1], 80, none), Says::No);
        assert!(is_nearer(&[-51], (-100, 1)) && !is_nearer(&[-50], (-100, 1)) && !is_nearer(&[51], (-100, 1)));
        assert!(is_nearer(&[-51, -51], (-800, 8)) && !is_nearer(&[-49, -49], (-800, 8)));
    }

    #[test]
    fn noise_makes_it_wait() {
        let noise = Noise::of(&[0, 200, 0, 200, 0, 200, 0, 200]);
        assert_eq!(noise, Noise { squares: 80_000, freedom: 7 });
        assert_eq!(is_there(&[100, 100], (100, 1), noise), Says::Open);
        assert_eq!(is_there(&[100; 16], (100, 1), noise), Says::Yes);
        assert_eq!(is_there(&[0; 16], (100, 1), noise), Says::No);
    }

    /// The share of wrong answers that the head of this file promises, with noise as large as the effect.
    #[test]
    fn wrong_answers_are_as_rare_as_promised() {
        let mut rng = RngStream::new(1, StreamKind::Vopr, 0);
        let mut normal = || (0..12).map(|_| i128::from(rng.between(0, 1000)) - 500).sum::<i128>();
        let (mut wrong, mut seeds) = (0, 0);
        for case in 0..2000 {
            let shift = if case % 2 == 0 { 1000 } else { 0 };
            let noise = Noise::of(&(0..8).map(|_| normal()).collect::<Vec<_>>());
            let differences: Vec<i128> = (0..64).map(|_| normal() + shift).collect();
            let said = (2..=64).map(|count| (count, is_there(&differences[..count], (1000, 1), noise)));
            let (count, says) = said.into_iter().find(|row| row.1 != Says::Open).unwrap_or((64, Says::Open));
            seeds += count;
            wrong += usize::from(says != if shift > 0 { Says::Yes } else { Says::No });
        }
        // About 1 of 1,000 if the noise were known; eight differences know it within a quarter.
        assert!(wrong <= 12, "{wrong} of 2000");
        assert!(seeds <= 2000 * 20, "{seeds}");
    }
}
