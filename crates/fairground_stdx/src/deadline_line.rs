//! A queue in order of a deadline, in which the earliest row whose virtual time is small enough is
//! found without looking at most of the others.

use crate::time::Vruntime;

/// Rows of a block before it is split in two: up to that many a queue is one sorted array. `docs/speed.md`
/// has the measurement.
const BLOCK_ROWS: usize = 64;

/// A row: where it stands, and what is asked of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlineRow<T> {
    /// The order of the rows; equal ones stand in order of arrival.
    pub deadline: Vruntime,
    /// By which rows are searched.
    pub vruntime: Vruntime,
    /// A length, of which the queue knows the smallest.
    pub slice: u64,
    /// The item.
    pub item: T,
}

/// A search tree of two levels: blocks of rows in order, each with the smallest virtual time and the
/// smallest slice of its rows. A short queue is one block, and so a sorted array. Of the tens of thousands of queues of
/// a big tree of groups most hold one row: the first block grows with its rows, later ones have room for all.
///
/// ```text
/// block.min_vruntime = min of its rows' vruntime        block.min_slice = min of its rows' slice
/// ```
#[derive(Clone, Debug)]
pub struct DeadlineLine<T> {
    /// In order; none is empty.
    blocks: Vec<Block<T>>,
    /// Emptied blocks, kept for their memory.
    spare: Vec<Block<T>>,
    len: usize,
}

#[derive(Clone, Debug)]
struct Block<T> {
    rows: Vec<DeadlineRow<T>>,
    min_vruntime: Vruntime,
    min_slice: u64,
    /// Rows that have the smallest slice: mostly all of them, so that a removal seldom has to look for another.
    nr_min_slice: usize,
}

impl<T> Default for DeadlineLine<T> {
    fn default() -> Self {
        DeadlineLine { blocks: Vec::new(), spare: Vec::new(), len: 0 }
    }
}

impl<T: Copy + Eq> DeadlineLine<T> {
    /// An empty one that has a block with room for all its rows, for a queue that is used all the time.
    pub fn with_room() -> DeadlineLine<T> {
        DeadlineLine { blocks: Vec::with_capacity(1), spare: vec![Block::with_room(BLOCK_ROWS + 1)], len: 0 }
    }
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The row with the earliest deadline.
    #[inline]
    pub fn first(&self) -> Option<&DeadlineRow<T>> {
        self.blocks.first().map(|block| &block.rows[0])
    }
    /// The smallest virtual time of all rows.
    #[inline]
    pub fn min_vruntime(&self) -> Option<Vruntime> {
        self.blocks.iter().map(|block| block.min_vruntime).reduce(Vruntime::min)
    }
    /// The smallest slice of all rows.
    #[inline]
    pub fn min_slice(&self) -> Option<u64> {
        self.blocks.iter().map(|block| block.min_slice).min()
    }
    /// All rows, earliest deadline first.
    pub fn iter(&self) -> impl Iterator<Item = &DeadlineRow<T>> + '_ {
        self.blocks.iter().flat_map(|block| &block.rows)
    }

    /// The row with the earliest deadline among those whose virtual time `wanted` accepts. What
    /// accepts a virtual time must accept every smaller one.
    #[inline]
    pub fn first_where(&self, wanted: impl Fn(Vruntime) -> bool) -> Option<&DeadlineRow<T>> {
        let block = self.blocks.iter().find(|block| wanted(block.min_vruntime))?;
        block.rows.iter().find(|row| wanted(row.vruntime))
    }

    /// Among the rows of this deadline the one with the smallest virtual time, the first of equal ones.
    pub fn smallest_at(&self, deadline: Vruntime) -> Option<&DeadlineRow<T>> {
        let rows = self.blocks[self.first_block_of(deadline)..].iter().flat_map(|block| &block.rows);
        let equal = rows.skip_while(|row| row.deadline.since(deadline) < 0).take_while(|row| row.deadline == deadline);
        equal.reduce(|best, row| if row.vruntime.since(best.vruntime) < 0 { row } else { best })
    }

    /// Puts a row behind every row whose deadline is not later.
    #[inline]
    pub fn insert(&mut self, row: DeadlineRow<T>) {
        self.len += 1;
        let index = match self.blocks.len() {
            0 => {
                let block = self.spare.pop().unwrap_or_else(|| Block::with_room(1));
                self.blocks.reserve_exact(1);
                self.blocks.push(block);
                0
            }
            1 => 0,
            _ => self.blocks.partition_point(|block| block.rows[0].deadline.since(row.deadline) <= 0).saturating_sub(1),
        };
        self.blocks[index].insert(row);
        if self.blocks[index].rows.len() > BLOCK_ROWS {
            self.split(index);
        }
    }

    /// Takes `item`, which was inserted with `deadline`, out; false if it was not there.
    #[inline]
    pub fn remove(&mut self, deadline: Vruntime, item: T) -> bool {
        let mut index = self.first_block_of(deadline);
        while let Some(block) = self.blocks.get_mut(index) {
            if let Some(row) = block.position(deadline, item) {
                block.remove(row);
                self.len -= 1;
                self.tidy_after_removal(index);
                return true;
            }
            if block.rows[0].deadline.since(deadline) > 0 {
                return false;
            }
            index += 1;
        }
        false
    }

    /// Gives `item`, which was inserted with `deadline`, another slice where it stands; false if it is not there.
    pub fn set_slice(&mut self, deadline: Vruntime, item: T, slice: u64) -> bool {
        let first = self.first_block_of(deadline);
        let found = self.blocks.iter_mut().skip(first).find_map(|block| Some((block.position(deadline, item)?, block)));
        let Some((row, block)) = found else { return false };
        block.rows[row].slice = slice;
        block.measure();
        true
    }

    /// The first block that may hold a row of `deadline`: rows of one deadline may begin at the end of
    /// the block before the first that begins with it.
    #[inline]
    fn first_block_of(&self, deadline: Vruntime) -> usize {
        match self.blocks.len() {
            0 | 1 => 0,
            _ => self.blocks.partition_point(|block| block.rows[0].deadline.since(deadline) < 0).saturating_sub(1),
        }
    }

    /// A block that is full gives its later half to a new one behind it.
    #[cold]
    fn split(&mut self, index: usize) {
        let mut later = self.spare.pop().unwrap_or_else(|| Block::with_room(BLOCK_ROWS + 1));
        let block = &mut self.blocks[index];
        later.rows.extend(block.rows.drain(BLOCK_ROWS / 2..));
        block.measure();
        later.measure();
        self.blocks.insert(index + 1, later);
    }

    /// An empty block goes; two small neighbours become one.
    #[inline]
    fn tidy_after_removal(&mut self, index: usize) {
        if self.blocks[index].rows.is_empty() {
            let block = self.blocks.remove(index);
            self.spare.reserve_exact(1);
            self.spare.push(block);
        } else if self.blocks.len() > 1 {
            self.merge_with_next(index);
        }
    }

    fn merge_with_next(&mut self, index: usize) {
        let [first, second, ..] = &mut self.blocks[index..] else { return };
        if first.rows.len() + second.rows.len() > BLOCK_ROWS / 2 {
            return;
        }
        first.rows.append(&mut second.rows);
        first.measure();
        let emptied = self.blocks.remove(index + 1);
        self.spare.push(emptied);
    }

    /// Whether every block knows its rows, and all rows stand in order: for tests.
    pub fn is_sound(&self) -> bool {
        let ordered = self.blocks.iter().flat_map(|block| &block.rows).is_sorted_by(|a, b| a.deadline.since(b.deadline) <= 0);
        let count: usize = self.blocks.iter().map(|block| block.rows.len()).sum();
        ordered && count == self.len && self.blocks.iter().all(Block::is_sound)
    }
}

impl<T: Copy + Eq> Block<T> {
    fn with_room(rows: usize) -> Block<T> {
        Block { rows: Vec::with_capacity(rows), min_vruntime: Vruntime(0), min_slice: 0, nr_min_slice: 0 }
    }

    #[inline]
    fn insert(&mut self, row: DeadlineRow<T>) {
        if self.rows.is_empty() {
            (self.min_vruntime, self.min_slice, self.nr_min_slice) = (row.vruntime, row.slice, 1);
        } else {
            self.min_vruntime = self.min_vruntime.min(row.vruntime);
            if row.slice < self.min_slice {
                (self.min_slice, self.nr_min_slice) = (row.slice, 0);
            }
            self.nr_min_slice += usize::from(row.slice == self.min_slice);
        }
        // From the back: what ran last has usually the latest deadline.
        let mut index = self.rows.len();
        while index > 0 && self.rows[index - 1].deadline.since(row.deadline) > 0 {
            index -= 1;
        }
        self.rows.insert(index, row);
    }

    #[inline]
    fn position(&self, deadline: Vruntime, item: T) -> Option<usize> {
        self.rows.iter().position(|row| row.item == item && row.deadline == deadline)
    }

    #[inline]
    fn remove(&mut self, index: usize) {
        let row = self.rows.remove(index);
        self.nr_min_slice -= usize::from(row.slice == self.min_slice);
        if self.nr_min_slice == 0 {
            self.measure();
        } else if row.vruntime == self.min_vruntime {
            self.min_vruntime = self.smallest_vruntime();
        }
    }

    fn smallest_vruntime(&self) -> Vruntime {
        self.rows.iter().map(|row| row.vruntime).reduce(Vruntime::min).unwrap_or_default()
    }

    fn smallest_slice(&self) -> (u64, usize) {
        let slice = self.rows.iter().map(|row| row.slice).min().unwrap_or_default();
        (slice, self.rows.iter().filter(|row| row.slice == slice).count())
    }

    /// Finds both minima anew.
    fn measure(&mut self) {
        self.min_vruntime = self.smallest_vruntime();
        (self.min_slice, self.nr_min_slice) = self.smallest_slice();
    }

    fn is_sound(&self) -> bool {
        !self.rows.is_empty()
            && self.min_vruntime == self.smallest_vruntime()
            && (self.min_slice, self.nr_min_slice) == self.smallest_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::{RngStream, StreamKind};

    fn row(deadline: u64, vruntime: u64, slice: u64, item: u32) -> DeadlineRow<u32> {
        DeadlineRow { deadline: Vruntime(deadline), vruntime: Vruntime(vruntime), slice, item }
    }

    /// The slow model: rows in order, nothing remembered.
    #[derive(Default)]
    struct Slow(Vec<DeadlineRow<u32>>);

    impl Slow {
        fn insert(&mut self, row: DeadlineRow<u32>) {
            self.0.push(row);
            self.0.sort_by_key(|row| row.deadline.0);
        }
        fn first_where(&self, limit: u64) -> Option<&DeadlineRow<u32>> {
            self.0.iter().find(|row| row.vruntime.0 <= limit)
        }
        fn smallest_at(&self, deadline: u64) -> Option<&DeadlineRow<u32>> {
            self.0.iter().filter(|row| row.deadline.0 == deadline).min_by_key(|row| row.vruntime.0)
        }
    }

    fn agree(line: &DeadlineLine<u32>, slow: &Slow, limit: u64) {
        assert!(line.is_sound());
        assert!(line.iter().eq(&slow.0));
        assert_eq!((line.len(), line.is_empty(), line.first()), (slow.0.len(), slow.0.is_empty(), slow.0.first()));
        assert_eq!(line.min_vruntime().map(|v| v.0), slow.0.iter().map(|row| row.vruntime.0).min());
        assert_eq!(line.min_slice(), slow.0.iter().map(|row| row.slice).min());
        assert_eq!(line.first_where(|vruntime| vruntime.0 <= limit), slow.first_where(limit));
        for deadline in [limit, slow.0.first().map_or(0, |row| row.deadline.0)] {
            assert_eq!(line.smallest_at(Vruntime(deadline)), slow.smallest_at(deadline));
        }
    }

    #[test]
    fn order_survives_the_wrap() {
        let mut line = DeadlineLine::default();
        line.insert(row(2, 1, 3, 1));
        line.insert(row(u64::MAX - 2, u64::MAX - 9, 3, 0));
        assert_eq!(line.iter().map(|row| row.item).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(line.min_vruntime(), Some(Vruntime(u64::MAX - 9)));
        assert!(line.is_sound());
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let mut line = DeadlineLine::<u32>::default();
        assert!(line.is_empty() && line.is_sound() && !line.remove(Vruntime(0), 0));
        assert_eq!((line.first(), line.min_vruntime(), line.min_slice()), (None, None, None));
        assert_eq!((line.first_where(|_| true), line.smallest_at(Vruntime(0))), (None, None));
    }

    /// Few keys, so that many are equal, and enough rows that blocks split and merge; checked after every act.
    #[test]
    fn equals_the_slow_model() {
        let mut dice = RngStream::new(1, StreamKind::Vopr, 0);
        for round in 0..60 {
            let (mut line, mut slow) = (DeadlineLine::default(), Slow::default());
            // Queues grow to this many rows, then shrink to nothing.
            let most = if round % 4 == 0 { 300 } else { 40 };
            let mut grows = true;
            for item in 0..4 * most as u32 {
                grows &= slow.0.len() < most;
                let removes = dice.below(8) < if grows { 2 } else { 6 };
                if removes && !slow.0.is_empty() {
                    let gone = slow.0.remove(dice.below(slow.0.len() as u64) as usize);
                    assert!(line.remove(gone.deadline, gone.item));
                    assert!(!line.remove(gone.deadline, gone.item));
                } else {
                    let new = row(dice.below(12), dice.below(40), 1 + dice.below(3), item);
                    line.insert(new);
                    slow.insert(new);
                }
                agree(&line, &slow, dice.below(40));
            }
        }
    }
}
