//! The order in which a queue holds its entities: smallest virtual time first, equal ones in order of arrival.

use crate::time::Vruntime;
use std::collections::VecDeque;

/// Rows sorted by virtual time; among equals the one inserted first stands first.
///
/// The first row, and then a ring kept sorted: taking the first is O(1), inserting near either end moves few
/// rows. Queues hold tens of entities; in the hundreds it is still on par with a balanced tree (docs/speed.md).
/// Many a group's queue never holds more than one: that costs no ring, neither its memory nor a look at it.
#[derive(Clone, Debug)]
pub struct Timeline<T> {
    /// `None` only if there is no row at all.
    first: Option<(Vruntime, T)>,
    /// `None` as long as there were never two.
    #[allow(clippy::box_collection, reason = "8 bytes of a queue's row, not 32: most queues never need it")]
    rest: Option<Box<VecDeque<(Vruntime, T)>>>,
}

impl<T> Default for Timeline<T> {
    fn default() -> Self {
        Timeline { first: None, rest: None }
    }
}

impl<T: Copy + Eq> Timeline<T> {
    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }
    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }
    /// The row with the smallest virtual time.
    #[inline]
    pub fn first(&self) -> Option<(Vruntime, T)> {
        self.first
    }
    /// The row with the largest virtual time.
    #[inline]
    pub fn last(&self) -> Option<(Vruntime, T)> {
        self.rest.as_ref().and_then(|rest| rest.back().copied()).or(self.first)
    }
    /// The second smallest row.
    #[inline]
    pub fn second(&self) -> Option<(Vruntime, T)> {
        self.rest.as_ref()?.front().copied()
    }
    /// The row that follows `item`, which stands at `key`.
    pub fn after(&self, key: Vruntime, item: T) -> Option<(Vruntime, T)> {
        match self.first?.1 == item {
            true => self.second(),
            false => self.rest.as_ref()?.get(self.position(key, item)? + 1).copied(),
        }
    }
    /// Puts `item` behind every row whose virtual time is at most `key`.
    #[inline]
    pub fn insert(&mut self, key: Vruntime, item: T) {
        match self.first {
            Some(first) if first.0.since(key) <= 0 => self.insert_behind_first(key, item),
            later => {
                self.first = Some((key, item));
                if let Some(row) = later {
                    self.rest.get_or_insert_default().push_front(row);
                }
            }
        }
    }
    /// Takes `item`, which was inserted with `key`, out; false if it was not there.
    #[inline]
    pub fn remove(&mut self, key: Vruntime, item: T) -> bool {
        if self.first.is_some_and(|first| first.1 == item) {
            self.first = self.rest.as_mut().and_then(|rest| rest.pop_front());
            return true;
        }
        let place = self.position(key, item);
        place.zip(self.rest.as_mut()).and_then(|(index, rest)| rest.remove(index)).is_some()
    }
    /// All rows, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = (Vruntime, T)> + '_ {
        self.first.into_iter().chain(self.rest.iter().flat_map(|rest| rest.iter().copied()))
    }

    fn insert_behind_first(&mut self, key: Vruntime, item: T) {
        let rest = self.rest.get_or_insert_default();
        // From the back: what ran last has usually the largest virtual time.
        let mut index = rest.len();
        if index > 16 {
            index = rest.partition_point(|row| row.0.since(key) <= 0);
        } else {
            while index > 0 && rest[index - 1].0.since(key) > 0 {
                index -= 1;
            }
        }
        rest.insert(index, (key, item));
    }

    /// Where `item`, which is not the first row, stands among the rest.
    fn position(&self, key: Vruntime, item: T) -> Option<usize> {
        let rest = self.rest.as_ref()?;
        let start = rest.partition_point(|row| row.0.since(key) < 0);
        (start..rest.len()).take_while(|&i| rest[i].0 == key).find(|&i| rest[i].1 == item)
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
                // Out again: the first first, and in order of arrival, which begins anywhere.
                let mut other = line.clone();
                model.iter().for_each(|&(key, item)| assert!(line.remove(Vruntime(key), item)));
                for (item, &key) in keys.iter().enumerate() {
                    let follows = model.iter().skip_while(|row| row.1 != item).nth(1).map(|row| (Vruntime(row.0), row.1));
                    assert_eq!(other.after(Vruntime(key), item), follows);
                    assert!(other.remove(Vruntime(key), item));
                    model.retain(|row| row.1 != item);
                    assert!(other.iter().map(|row| (row.0.0, row.1)).eq(model.iter().copied()));
                    assert_eq!(other.len(), model.len());
                }
                assert!(line.is_empty());
            }
        }
    }
}
