//! The smallest of a fixed number of keys.

use super::{Class, NEVER, key};

/// Keys that are compared in one game.
const GAME: usize = 8;

/// A tree of games over one key per CPU; the winner of a game, its smallest key, plays in the game above.
///
/// ```text
///                      [game 0]                        the final
///          [game 1]               [game 2] …           winners of the games below
///   [game 9] [game 10] …   [game 17] …                 keys of CPUs 0–7, 8–15, …; 64–71, …
/// ```
///
/// Keys carry their CPU, so the winner alone tells who is first, and two keys are never equal.
#[derive(Clone, Debug)]
pub(super) struct WinnerTree {
    /// The games, from the final on; the winner of game `g` stands at place `(g - 1) % 8` of game `(g - 1) / 8`.
    games: Vec<[u64; GAME]>,
    /// The first game of the lowest round.
    first_round: usize,
    winner: u64,
}

impl WinnerTree {
    /// A tree over `nr_cpus` keys, none of which is an event.
    pub(super) fn new(nr_cpus: usize) -> WinnerTree {
        let never = key(NEVER, Class::Tick, 0);
        let (mut first_round, mut room) = (0, GAME);
        while room < nr_cpus {
            (first_round, room) = (first_round * GAME + 1, room * GAME);
        }
        let games = vec![[never; GAME]; first_round + nr_cpus.div_ceil(GAME).max(1)];
        WinnerTree { games, first_round, winner: never }
    }
    /// The smallest key.
    #[inline]
    pub(super) fn min(&self) -> u64 {
        self.winner
    }
    /// Replaces the key of `cpu` and plays its games again, up to the first whose winner does not change.
    #[inline]
    pub(super) fn replace(&mut self, cpu: usize, key: u64) {
        let (mut game, mut place, mut winner) = (self.first_round + cpu / GAME, cpu % GAME, key);
        loop {
            let keys = &mut self.games[game];
            if keys[place] == winner {
                return;
            }
            keys[place] = winner;
            winner = least(*keys);
            if game == 0 {
                self.winner = winner;
                return;
            }
            (game, place) = ((game - 1) / GAME, (game - 1) % GAME);
        }
    }
}

/// In three rounds of pairs, which a CPU can compare side by side.
#[inline]
fn least([a, b, c, d, e, f, g, h]: [u64; GAME]) -> u64 {
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
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
                tree.replace(cpu, keys[cpu]);
                assert_eq!(Some(tree.min()), keys.iter().copied().min(), "{nr_cpus} CPUs, step {step}");
            }
        }
    }
}
