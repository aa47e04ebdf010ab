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
    /// A length, of which the queue knows the smallest and the largest.
    pub slice: u64,
    /// The item.
    pub item: T,
}

/// The only row, or else a search tree of two levels. Of the tens of thousands of queues of a big tree of groups most never
/// hold more than one row: that costs no memory beside the queue's own, and no look at it.
#[derive(Clone, Debug)]
pub struct DeadlineLine<T> {
    /// The row of a queue that has one; then the tree is empty.
    only: Option<DeadlineRow<T>>,
    /// All rows of a queue that has more; kept for its memory from the first time on.
    tree: Option<Box<Tree<T>>>,
}

/// Blocks of rows in order, each with the smallest virtual time and the smallest slice of its rows. A short queue is one
/// block, and so a sorted array.
///
/// ```text
/// block.min_vruntime = min of its rows' vruntime        block.min_slice = min of its rows' slice
/// ```
#[derive(Clone, Debug)]
struct Tree<T> {
    /// The first rows; empty only if there is none at all. It grows with its rows, later blocks have room for all.
    head: Block<T>,
    /// The blocks behind it in order; none is empty.
    tail: Vec<Block<T>>,
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
        DeadlineLine { only: None, tree: None }
    }
}

impl<T: Copy + Eq> DeadlineLine<T> {
    /// An empty one that has a block with room for all its rows, for a queue that is used all the time.
    pub fn with_room() -> DeadlineLine<T> {
        DeadlineLine { only: None, tree: Some(Box::new(Tree::new(Block::with_room(BLOCK_ROWS + 1)))) }
    }
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        if self.only.is_some() { 1 } else { self.tree.as_ref().map_or(0, |tree| tree.len) }
    }
    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The row with the earliest deadline.
    #[inline]
    pub fn first(&self) -> Option<&DeadlineRow<T>> {
        self.only.as_ref().or_else(|| self.tree.as_ref()?.head.rows.first())
    }
    /// The smallest virtual time of all rows.
    #[inline]
    pub fn min_vruntime(&self) -> Option<Vruntime> {
        match &self.only {
            Some(row) => Some(row.vruntime),
            None => self.blocks().map(|block| block.min_vruntime).reduce(Vruntime::min),
        }
    }
    /// The smallest slice of all rows.
    #[inline]
    pub fn min_slice(&self) -> Option<u64> {
        match &self.only {
            Some(row) => Some(row.slice),
            None => self.blocks().map(|block| block.min_slice).min(),
        }
    }
    /// The largest slice of all rows.
    #[inline]
    pub fn max_slice(&self) -> Option<u64> {
        match &self.only {
            Some(row) => Some(row.slice),
            None => self.blocks().map(Block::max_slice).max(),
        }
    }
    /// All rows, earliest deadline first.
    pub fn iter(&self) -> impl Iterator<Item = &DeadlineRow<T>> + '_ {
        self.only.iter().chain(self.blocks().flat_map(|block| &block.rows))
    }

    /// The row with the earliest deadline among those whose virtual time `wanted` accepts. What
    /// accepts a virtual time must accept every smaller one.
    #[inline]
    pub fn first_where(&self, wanted: impl Fn(Vruntime) -> bool) -> Option<&DeadlineRow<T>> {
        if let Some(row) = &self.only {
            return Some(row).filter(|row| wanted(row.vruntime));
        }
        let block = self.blocks().find(|block| wanted(block.min_vruntime))?;
        block.rows.iter().find(|row| wanted(row.vruntime))
    }

    /// Among the rows of this deadline the one with the smallest virtual time, the first of equal ones.
    pub fn smallest_at(&self, deadline: Vruntime) -> Option<&DeadlineRow<T>> {
        let first = self.tree.as_ref().map_or(0, |tree| tree.first_block_of(deadline));
        let rows = self.only.iter().chain(self.blocks().skip(first).flat_map(|block| &block.rows));
        let equal = rows.skip_while(|row| row.deadline.since(deadline) < 0).take_while(|row| row.deadline == deadline);
        equal.reduce(|best, row| if row.vruntime.since(best.vruntime) < 0 { row } else { best })
    }

    /// Puts a row behind every row whose deadline is not later.
    #[inline]
    pub fn insert(&mut self, row: DeadlineRow<T>) {
        if self.is_empty() {
            self.only = Some(row);
            return;
        }
        let tree = self.tree.get_or_insert_with(|| Box::new(Tree::new(Block::with_room(2))));
        if let Some(only) = self.only.take() {
            tree.insert(only);
        }
        tree.insert(row);
    }

    /// Takes `item`, which was inserted with `deadline`, out; false if it was not there.
    #[inline]
    pub fn remove(&mut self, deadline: Vruntime, item: T) -> bool {
        if let Some(only) = &self.only {
            let found = only.item == item && only.deadline == deadline;
            self.only = self.only.take().filter(|_| !found);
            return found;
        }
        let Some(tree) = &mut self.tree else { return false };
        let found = tree.remove(deadline, item);
        if tree.len == 1 {
            self.only = tree.take_last();
        }
        found
    }

    /// Gives `item`, which was inserted with `deadline`, another slice where it stands; false if it is not there.
    pub fn set_slice(&mut self, deadline: Vruntime, item: T, slice: u64) -> bool {
        if let Some(only) = self.only.as_mut().filter(|only| only.item == item && only.deadline == deadline) {
            only.slice = slice;
            return true;
        }
        self.tree.as_mut().is_some_and(|tree| tree.set_slice(deadline, item, slice))
    }

    /// Those that hold a row.
    #[inline]
    fn blocks(&self) -> impl Iterator<Item = &Block<T>> {
        self.tree.iter().filter(|tree| tree.len > 0).flat_map(|tree| std::iter::once(&tree.head).chain(&tree.tail))
    }

    /// Whether every block knows its rows, and all rows stand in order: for tests.
    pub fn is_sound(&self) -> bool {
        let ordered = self.iter().is_sorted_by(|a, b| a.deadline.since(b.deadline) <= 0);
        let held: usize = self.blocks().map(|block| block.rows.len()).sum();
        let told = self.tree.as_ref().map_or(0, |tree| tree.len);
        ordered && held == told && told != 1 && (told == 0 || self.only.is_none()) && self.blocks().all(Block::is_sound)
    }
}

impl<T: Copy + Eq> Tree<T> {
    fn new(head: Block<T>) -> Tree<T> {
        Tree { head, tail: Vec::new(), spare: Vec::new(), len: 0 }
    }

    #[inline]
    fn block(&mut self, index: usize) -> Option<&mut Block<T>> {
        match index {
            0 => Some(&mut self.head),
            _ => self.tail.get_mut(index - 1),
        }
    }

    #[inline]
    fn insert(&mut self, row: DeadlineRow<T>) {
        self.len += 1;
        let index = self.tail.partition_point(|block| block.rows[0].deadline.since(row.deadline) <= 0);
        let block = self.block(index).expect("invariant: as many blocks as begin before the row, and the head");
        block.insert(row);
        if block.rows.len() > BLOCK_ROWS {
            self.split(index);
        }
    }

    #[inline]
    fn remove(&mut self, deadline: Vruntime, item: T) -> bool {
        let mut index = self.first_block_of(deadline);
        while let Some(block) = self.block(index) {
            if let Some(row) = block.position(deadline, item) {
                block.remove(row);
                self.len -= 1;
                self.tidy_after_removal(index);
                return true;
            }
            if block.rows.first().is_none_or(|first| first.deadline.since(deadline) > 0) {
                return false;
            }
            index += 1;
        }
        false
    }

    /// The row of a tree that has one: it is empty then.
    fn take_last(&mut self) -> Option<DeadlineRow<T>> {
        self.len = 0;
        self.head.rows.pop()
    }

    fn set_slice(&mut self, deadline: Vruntime, item: T, slice: u64) -> bool {
        let first = self.first_block_of(deadline);
        let mut blocks = std::iter::once(&mut self.head).chain(&mut self.tail).skip(first);
        let Some((row, block)) = blocks.find_map(|block| Some((block.position(deadline, item)?, block))) else { return false };
        block.rows[row].slice = slice;
        block.measure();
        true
    }

    /// The first block that may hold a row of `deadline`: rows of one deadline may begin at the end of
    /// the block before the first that begins with it.
    #[inline]
    fn first_block_of(&self, deadline: Vruntime) -> usize {
        self.tail.partition_point(|block| block.rows[0].deadline.since(deadline) < 0)
    }

    /// A block that is full gives its later half to a new one behind it.
    #[cold]
    fn split(&mut self, index: usize) {
        let mut later = self.spare.pop().unwrap_or_else(|| Block::with_room(BLOCK_ROWS + 1));
        let block = self.block(index).expect("invariant: a block that is split is there");
        later.rows.extend(block.rows.drain(BLOCK_ROWS / 2..));
        block.measure();
        later.measure();
        self.tail.insert(index, later);
    }

    /// An empty block goes, unless it is the only one; two small neighbours become one.
    #[inline]
    fn tidy_after_removal(&mut self, index: usize) {
        if self.tail.is_empty() {
            return;
        }
        let gone = match index {
            0 => self.head.rows.is_empty().then(|| std::mem::replace(&mut self.head, self.tail.remove(0))),
            _ => self.tail[index - 1].rows.is_empty().then(|| self.tail.remove(index - 1)),
        };
        match gone {
            Some(emptied) => self.spare.push(emptied),
            None => self.merge_with_next(index),
        }
    }

    fn merge_with_next(&mut self, index: usize) {
        let (before, behind) = self.tail.split_at_mut(index);
        let Some(second) = behind.first_mut() else { return };
        let first = before.last_mut().unwrap_or(&mut self.head);
        if first.rows.len() + second.rows.len() > BLOCK_ROWS / 2 {
            return;
        }
        first.rows.append(&mut second.rows);
        first.measure();
        let emptied = self.tail.remove(index);
        self.spare.push(emptied);
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

    /// Mostly all slices are equal, and nothing has to be looked through.
    #[inline]
    fn max_slice(&self) -> u64 {
        if self.nr_min_slice == self.rows.len() {
            return self.min_slice;
        }
        self.rows.iter().map(|row| row.slice).max().unwrap_or_default()
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
        assert_eq!(line.max_slice(), slow.0.iter().map(|row| row.slice).max());
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
