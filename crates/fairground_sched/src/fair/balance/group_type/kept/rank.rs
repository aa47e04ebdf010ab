//! How busy the groups of a ring are, as one number each: a group of a higher rank is the busier one.

use super::super::SgLbStats;
use crate::fair::balance::group::GroupType;

/// The rank of a group. Of equal ones the full comparison tells.
///
/// ```text
/// type + 1 (4 bits) │ what counts first within the type (60 bits)
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Rank(u64);

/// Bits below the type.
const WITHIN_BITS: u32 = 60;

/// Bits for the number of tasks.
const TASK_BITS: u32 = 32;

/// More than any group has CPUs.
const MANY_CPUS: u64 = 1 << 16;

impl Rank {
    /// A group without tasks: never the busiest.
    pub(super) const NO_TASKS: Rank = Rank(0);

    /// The rank of a group whose type is known. `alike`: it competes only with groups that are cores of several threads
    /// if it is one, and only with others if not.
    pub(super) fn of(stat: &SgLbStats, alike: bool) -> Rank {
        if stat.sum_h_nr_running == 0 {
            return Rank::NO_TASKS;
        }
        let busy_first = |tasks: u64| (MANY_CPUS - stat.idle_cpus) << TASK_BITS | tasks.min((1 << TASK_BITS) - 1);
        let within = match stat.group_type {
            GroupType::Overloaded => stat.avg_load.min((1 << WITHIN_BITS) - 1),
            GroupType::HasSpare if alike => busy_first(stat.sums.sum_nr_running),
            // Tasks count only where a thread is idle.
            GroupType::SmtBalance if alike => busy_first(if stat.idle_cpus > 0 { stat.sums.sum_nr_running } else { 0 }),
            _ => 0,
        };
        Rank((stat.group_type as u64 + 1) << WITHIN_BITS | within)
    }
}

/// The ranks of the groups of a ring, by place, as a tree: each node has the higher rank of the two below it.
///
/// ```text
///        1             nodes[1] is the highest of all
///    2       3
///  4   5   6   7       nodes[leaves + place] is the rank at a place
/// ```
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    nodes: Vec<Rank>,
    /// A power of two, at least the number of places.
    leaves: usize,
}

impl Ranks {
    /// Those of `len` groups without tasks.
    pub(super) fn new(len: usize) -> Ranks {
        let leaves = len.next_power_of_two();
        Ranks { nodes: vec![Rank::NO_TASKS; 2 * leaves], leaves }
    }

    /// The rank of the group at that place.
    pub(super) fn get(&self, place: usize) -> Rank {
        self.nodes[self.leaves + place]
    }

    /// The group at that place has that rank from now on.
    pub(super) fn set(&mut self, place: usize, rank: Rank) {
        let (mut node, mut higher) = (self.leaves + place, rank);
        while node > 0 && self.nodes[node] != higher {
            self.nodes[node] = higher;
            higher = higher.max(self.nodes[node ^ 1]);
            node /= 2;
        }
    }

    /// The highest rank beside that at `local`.
    pub(super) fn highest_beside(&self, local: usize) -> Rank {
        let (mut node, mut highest) = (self.leaves + local, Rank::NO_TASKS);
        while node > 1 {
            highest = highest.max(self.nodes[node ^ 1]);
            node /= 2;
        }
        highest
    }

    /// The first place from `from` on with at least that rank.
    pub(super) fn next_of(&self, rank: Rank, from: usize) -> Option<usize> {
        if from >= self.leaves {
            return None;
        }
        let mut node = self.leaves + from;
        while self.nodes[node] < rank {
            // The next subtree to the right; there is none where the way up came from the right all along.
            node = (node + 1) >> (node + 1).trailing_zeros();
            if node == 1 {
                return None;
            }
        }
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.nodes[node] < rank);
        }
        Some(node - self.leaves)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::{RngStream, StreamKind};

    #[test]
    fn the_tree_agrees_with_a_walk() {
        let mut rng = RngStream::new(1, StreamKind::Vopr, 0);
        for len in [1, 2, 3, 8, 13, 56] {
            let (mut tree, mut plain) = (Ranks::new(len), vec![Rank::NO_TASKS; len]);
            for _ in 0..500 {
                let (place, rank) = (rng.below(len as u64) as usize, Rank(rng.below(6)));
                tree.set(place, rank);
                plain[place] = rank;
                let others = plain.iter().enumerate().filter(|&(other, _)| other != place).map(|(_, &rank)| rank);
                assert_eq!(tree.highest_beside(place), others.max().unwrap_or(Rank::NO_TASKS));
                let wanted = Rank(1 + rng.below(5));
                let found = (place..len).find(|&other| plain[other] >= wanted);
                assert_eq!(tree.next_of(wanted, place), found, "{plain:?} from {place} for {wanted:?}");
                assert!((0..len).all(|place| tree.get(place) == plain[place]));
            }
        }
    }
}
