//! A part of a row that few rows need.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// What a part is as long as nobody has written to it.
pub trait Unused: Clone + 'static {
    /// The value that is read then.
    const UNUSED: &'static Self;
}

/// A part that takes a pointer in its row, and memory of its own from the first time that it is borrowed to be written.
///
/// A table of tens of thousands of tasks has rows that are read at each event. What only a few of them use (a deadline, the counts of
/// loops) would make all of them longer.
#[derive(Clone)]
pub struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Rare<T> {
        Rare(None)
    }
}

impl<T: Unused> Deref for Rare<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::UNUSED)
    }
}

impl<T: Unused> DerefMut for Rare<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::UNUSED.clone()))
    }
}

impl<T: Unused + PartialEq> PartialEq for Rare<T> {
    fn eq(&self, other: &Rare<T>) -> bool {
        **self == **other
    }
}

impl<T: Unused + Eq> Eq for Rare<T> {}

impl<T: Unused + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Unused for [u64; 4] {
        const UNUSED: &'static [u64; 4] = &[7; 4];
    }

    #[test]
    fn a_part_has_memory_from_its_first_write_on() {
        let mut part: Rare<[u64; 4]> = Rare::default();
        assert_eq!((part[3], part.0.is_none()), (7, true));
        part[1] = 8;
        assert_eq!((*part, part.0.is_some()), ([7, 8, 7, 7], true));
        assert_eq!(size_of_val(&part), size_of::<usize>());
    }

    #[test]
    fn an_unused_part_equals_one_that_was_set_back() {
        let (unused, mut used): (Rare<[u64; 4]>, Rare<[u64; 4]>) = Default::default();
        used[0] = 9;
        assert_ne!(unused, used);
        used[0] = 7;
        assert_eq!(unused, used);
        assert_eq!(format!("{unused:?}"), "[7, 7, 7, 7]");
    }
}
