//! In what order a domain's line holds its numbers.

use fairground_model::LbStats;

/// Numbers behind the three blocks: alb, sbe, sbf and ttwu, three each.
const TAIL: usize = 12;

/// The order of a domain's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Idle, busy, newly idle; one sum of imbalances (version 15, up to v6.9).
    IdleFirst,
    /// Busy, idle, newly idle; one sum of imbalances (version 16, v6.10 to v6.13).
    BusyFirst,
    /// Busy, idle, newly idle; imbalances by kind, and the domain's name (version 17, from v6.14).
    ByKind,
}

impl Layout {
    /// The version that mainline kernels with this layout print.
    pub const fn version(self) -> u32 {
        match self {
            Layout::IdleFirst => 15,
            Layout::BusyFirst => 16,
            Layout::ByKind => 17,
        }
    }

    /// The layout of a mainline version.
    pub fn of_version(version: u32) -> Option<Layout> {
        [Layout::IdleFirst, Layout::BusyFirst, Layout::ByKind].into_iter().find(|layout| layout.version() == version)
    }

    /// Numbers in one block.
    const fn block_len(self) -> usize {
        match self {
            Layout::IdleFirst | Layout::BusyFirst => 8,
            Layout::ByKind => 11,
        }
    }

    /// Numbers in the line of a domain: 36 or 45.
    pub const fn line_len(self) -> usize {
        3 * self.block_len() + TAIL
    }

    /// The rows of [`fairground_model::SdStats::lb`] in the order of the blocks.
    pub(super) const fn blocks(self) -> [usize; 3] {
        match self {
            Layout::IdleFirst => [1, 0, 2],
            Layout::BusyFirst | Layout::ByKind => [0, 1, 2],
        }
    }

    /// The numbers of one block.
    pub(super) fn block(self, lb: &LbStats) -> Vec<u64> {
        let mut numbers = vec![lb.count, lb.balanced, lb.failed];
        match self {
            Layout::ByKind => numbers.extend(lb.imbalance),
            // The kernel's counter wraps around as well.
            Layout::IdleFirst | Layout::BusyFirst => {
                numbers.push(lb.imbalance.iter().fold(0, |sum, &part| sum.wrapping_add(part)))
            }
        }
        numbers.extend([lb.gained, lb.hot_gained, lb.nobusyq, lb.nobusyg]);
        numbers
    }

    /// Takes one block off the front of `numbers`, which holds at least one.
    pub(super) fn take_block(self, numbers: &mut impl Iterator<Item = u64>) -> LbStats {
        let mut next = || numbers.next().unwrap_or_default();
        let (count, balanced, failed) = (next(), next(), next());
        let imbalance = match self {
            Layout::ByKind => [next(), next(), next(), next()],
            Layout::IdleFirst | Layout::BusyFirst => [next(), 0, 0, 0],
        };
        LbStats { count, balanced, failed, imbalance, gained: next(), hot_gained: next(), nobusyq: next(), nobusyg: next() }
    }
}
