//! The order in which a queue holds its entities: smallest virtual time first, equal ones in order of arrival.

use crate::time::Vruntime;
use std::collections::VecDeque;

/// Rows sorted by virtual time; among equals the one inserted first stands first.
///
/// A ring kept sorted: taking the first is O(1), inserting near either end moves few rows. Queues
/// hold tens of entities; in the hundreds it is still on par with a balanced tree (docs/speed.md).
#[derive(Clone, Debug)]
pub struct Timeline<T> {
    rows: VecDeque<(Vruntime, T)>,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Timeline { rows: VecDeque::new() }
    }
}

impl<T: Copy + Eq> Timeline<T> {
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// The row with the smallest virtual time.
    #[inline]
    pub fn first(&self) -> Option<(Vruntime, T)> {
        self.rows.front().copied()
    }
    /// The row with the largest virtual time.
    #[inline]
    pub fn last(&self) -> Option<(Vruntime, T)> {
        self.rows.back().copied()
    }
    /// The second smallest row.
    #[inline]
    pub fn second(&self) -> Option<(Vruntime, T)> {
        self.rows.get(1).copied()
    }
    /// The row that follows `item`, which stands at `key`.
    pub fn after(&self, key: Vruntime, item: T) -> Option<(Vruntime, T)> {
        self.rows.get(self.position(key, item)? + 1).copied()
    }
    /// Puts `item` behind every row whose virtual time is at most `key`.
    #[inline]
    pub fn insert(&mut self, key: Vruntime, item: T) {
        // From the back: what ran last has usually the largest virtual time.
        let mut index = self.rows.len();
        if index > 16 {
            index = self.rows.partition_point(|row| row.0.since(key) <= 0);
        } else {
            while index > 0 && self.rows[index - 1].0.since(key) > 0 {
                index -= 1;
            }
        }
        self.rows.insert(index, (key, item));
    }
    /// Takes `item`, which was inserted with `key`, out; false if it was not there.
    #[inline]
    pub fn remove(&mut self, key: Vruntime, item: T) -> bool {
        match self.position(key, item) {
            Some(index) => self.rows.remove(index).is_some(),
            None => false,
        }
    }
    /// All rows, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = (Vruntime, T)> + '_ {
        self.rows.iter().copied()
    }

    #[inline]
    fn position(&self, key: Vruntime, item: T) -> Option<usize> {
        if self.rows.front()?.1 == item {
            return Some(0);
        }
        let start = self.rows.partition_point(|row| row.0.since(key) < 0);
        (start..self.rows.len()).take_while(|&i| self.rows[i].0 == key).find(|&i| self.rows[i].1 == item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_keep_their_order_of_arrival() {
        let mut line = Timeline::default();
        for (key, item) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd')] {
            line.insert(Vruntime(key), item);
        }
        assert_eq!(line.iter().map(|row| row.1).collect::<String>(), "bdac");
        assert_eq!(line.after(Vruntime(3), 'b'), Some((Vruntime(3), 'd')));
        assert!(line.remove(Vruntime(3), 'd') && !line.remove(Vruntime(3), 'd'));
        assert_eq!(
            (line.first(), line.second(), line.last()),
            (Some((Vruntime(3), 'b')), Some((Vruntime(5), 'a')), Some((Vruntime(5), 'c')))
        );
    }

    #[test]
    fn order_survives_the_wrap() {
        let mut line = Timeline::default();
        line.insert(Vruntime(2), 'b');
        line.insert(Vruntime(u64::MAX - 2), 'a');
        assert_eq!(line.iter().map(|row| row.1).collect::<String>(), "ab");
    }

    /// Every sequence of up to six inserts with keys 0..3 against a stable sort.
    #[test]
    fn equals_a_stable_sort_exhaustively() {
        for length in 0..=6u32 {
            for case in 0..3u32.pow(length) {
                let keys: Vec<u64> = (0..length).map(|i| u64::from(case / 3u32.pow(i) % 3)).collect();
                let mut line = Timeline::default();
                let mut model: Vec<(u64, usize)> = keys.iter().copied().zip(0..).collect();
                keys.iter().enumerate().for_each(|(i, &key)| line.insert(Vruntime(key), i));
                model.sort_by_key(|row| row.0);
                assert!(line.iter().map(|row| (row.0.0, row.1)).eq(model.iter().copied()));
                for &(key, item) in &model {
                    assert!(line.remove(Vruntime(key), item));
                }
                assert!(line.is_empty());
            }
        }
    }
}
