//! The smallest of a fixed number of keys.

use super::{Class, NEVER, key};

/// A complete binary tree over one key per CPU; every inner node holds the smaller of its children.
///
/// ```text
///             [1]                 children of node i are nodes 2i and 2i + 1
///        [2]       [3]
///     [4]   [5]  [6]   [7]        leaves: the keys of CPUs 0, 1, 2, 3
/// ```
///
/// Keys carry their CPU, so the root alone tells who is first, and two keys are never equal.
#[derive(Clone, Debug)]
pub(super) struct WinnerTree {
    /// Nodes side by side with the one that they play against: node i is `matches[i / 2][i % 2]`.
    /// There is no node 0.
    matches: Vec<[u64; 2]>,
    leaves: usize,
}

impl WinnerTree {
    /// A tree over `nr_cpus` keys, none of which is an event.
    pub(super) fn new(nr_cpus: usize) -> WinnerTree {
        let leaves = nr_cpus.next_power_of_two().max(2);
        WinnerTree { matches: vec![[key(NEVER, Class::Tick, 0); 2]; leaves], leaves }
    }
    /// The smallest key.
    #[inline]
    pub(super) fn min(&self) -> u64 {
        self.matches[0][1]
    }
    /// Replaces the key of `cpu` and replays its matches, up to the first node that does not change.
    #[inline]
    pub(super) fn replace(&mut self, cpu: usize, key: u64) {
        let (mut node, mut winner) = (self.leaves + cpu, key);
        while node > 0 {
            let game = &mut self.matches[node / 2];
            if game[node % 2] == winner {
                return;
            }
            game[node % 2] = winner;
            winner = game[0].min(game[1]);
            node /= 2;
        }
    }
}
