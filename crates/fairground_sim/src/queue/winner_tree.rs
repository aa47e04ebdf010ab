//! The smallest of a fixed number of keys.

use super::{Class, NEVER, key};
use fairground_stdx::CpuMask;

/// Seats of a tree over the most CPUs that there can be.
const SEATS: usize = 2 * CpuMask::CAPACITY;

/// A tree of games of two over one key per CPU; the winner of a game, its smaller key, plays in the game above.
///
/// ```text
///                      [1]                 the winner of all
///          [2]                     [3]
///     [4]         [5]         [6]         [7]      keys of CPUs 0 to 3
/// ```
///
/// The winner of seats `2n` and `2n + 1` sits on `n`; nobody sits on seat 0. Keys carry their CPU, so the winner alone
/// tells who is first, and two keys are never equal. The seats of the largest tree are a fixed array, so that none needs
/// a bounds check; small trees touch only its beginning.
#[derive(Clone, Debug)]
pub(super) struct WinnerTree {
    seats: Box<[u64; SEATS]>,
    /// The seat of CPU 0: a power of two.
    first_cpu: usize,
}

impl WinnerTree {
    /// A tree over `nr_cpus` keys, none of which is an event.
    pub(super) fn new(nr_cpus: usize) -> WinnerTree {
        assert!(nr_cpus <= CpuMask::CAPACITY, "{nr_cpus} CPUs do not fit into the queue");
        WinnerTree { seats: Box::new([key(NEVER, Class::Tick, 0); SEATS]), first_cpu: nr_cpus.next_power_of_two() }
    }
    /// The smallest key.
    #[inline]
    pub(super) fn min(&self) -> u64 {
        self.seats[1]
    }
    /// What the smallest key would be if `cpu` had none.
    #[inline(never)]
    pub(super) fn min_beside(&self, cpu: usize) -> u64 {
        let (mut seat, mut winner) = (self.first_cpu + cpu, key(NEVER, Class::Tick, cpu));
        while seat > 1 {
            winner = winner.min(self.seats[(seat ^ 1) % SEATS]);
            seat /= 2;
        }
        winner
    }
    /// The key of `cpu`.
    #[inline]
    pub(super) fn key_of(&self, cpu: usize) -> u64 {
        self.seats[(self.first_cpu + cpu) % SEATS]
    }
    /// Replaces the key of `cpu`. Its games are played later ([`WinnerTree::play_from`]): until then who sits above is old.
    #[inline]
    pub(super) fn seat(&mut self, cpu: usize, key: u64) {
        self.seats[(self.first_cpu + cpu) % SEATS] = key;
    }
    /// Plays the games of the CPUs from `first` to `last`, each game once.
    pub(super) fn play_from(&mut self, first: usize, last: usize) {
        let (mut low, mut high) = (self.first_cpu + first, self.first_cpu + last);
        while low > 1 {
            (low, high) = (low / 2, high / 2);
            for seat in low..=high {
                self.seats[seat % SEATS] = self.seats[2 * seat % SEATS].min(self.seats[(2 * seat + 1) % SEATS]);
            }
        }
    }
    /// Replaces the key of `cpu` and plays its games again, unless it is the same key.
    ///
    /// All the way up: whoever was first is now the loser of its games mostly, and a fixed number of rounds is cheaper
    /// than to ask after each of them.
    #[inline]
    pub(super) fn replace(&mut self, cpu: usize, key: u64) {
        let (mut seat, mut winner) = (self.first_cpu + cpu, key);
        if self.seats[seat % SEATS] == winner {
            return;
        }
        while seat > 0 {
            self.seats[seat % SEATS] = winner;
            winner = winner.min(self.seats[(seat ^ 1) % SEATS]);
            seat /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes at the edges of full rounds: the winner is the smallest of all keys.
    #[test]
    fn the_winner_is_the_smallest_key() {
        for nr_cpus in [1, 2, 7, 8, 9, 63, 64, 65, 112, 511, 512, 513, 1024] {
            let mut tree = WinnerTree::new(nr_cpus);
            let mut keys = vec![key(NEVER, Class::Tick, 0); nr_cpus];
            assert_eq!(tree.min(), keys[0]);
            for step in 0..4 * nr_cpus {
                let cpu = step * 7 % nr_cpus;
                keys[cpu] = key((step as u64 * 7919) % 1009, Class::Irq, cpu);
                let least = keys.iter().copied().min();
                assert_eq!(Some(tree.min_beside(cpu).min(keys[cpu])), least, "{nr_cpus} CPUs, before step {step}");
                tree.replace(cpu, keys[cpu]);
                assert_eq!(Some(tree.min()), least, "{nr_cpus} CPUs, step {step}");
            }
        }
    }
}
