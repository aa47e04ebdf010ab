//! The smallest of a fixed number of keys.

use super::{Class, NEVER, key};

/// A complete binary tree over one key per CPU; every inner node holds the smaller of its children.
///
/// ```text
///             [1]                 nodes of a flat array, children of i at 2i and 2i + 1
///        [2]       [3]
///     [4]   [5]  [6]   [7]        leaves: the keys of CPUs 0, 1, 2, 3
/// ```
///
/// Keys carry their CPU, so the root alone tells who is first, and two keys are never equal.
#[derive(Clone, Debug)]
pub(super) struct WinnerTree {
    nodes: Vec<u64>,
    leaves: usize,
}

impl WinnerTree {
    /// A tree over `nr_cpus` keys, none of which is an event.
    pub(super) fn new(nr_cpus: usize) -> WinnerTree {
        let leaves = nr_cpus.next_power_of_two().max(2);
        WinnerTree { nodes: vec![key(NEVER, Class::Tick, 0); 2 * leaves], leaves }
    }
    /// The smallest key.
    #[inline]
    pub(super) fn min(&self) -> u64 {
        self.nodes[1]
    }
    /// Replaces the key of `cpu` and replays its matches, up to the first node that does not change.
    #[inline]
    pub(super) fn replace(&mut self, cpu: usize, key: u64) {
        let mut node = self.leaves + cpu;
        if self.nodes[node] == key {
            return;
        }
        self.nodes[node] = key;
        while node > 1 {
            let winner = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            if self.nodes[node] == winner {
                return;
            }
            self.nodes[node] = winner;
        }
    }
}
