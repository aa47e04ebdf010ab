//! The classes of a histogram and how many values fell into each, in no more memory than the values need.
//!
//! ```text
//! values 0 to 255              a class each
//! values 2^k to 2^(k+1) - 1    128 classes of 2^(k-7) values each, k = 8 to 40
//! ```
//!
//! The classes of HdrHistogram with two significant digits. Its own table has all 4,480 of them from the start, 36 KB for
//! each of tens of thousands of tasks, most of which wake up a few times.

/// Binary digits of a value that tell its class.
const DIGITS: u32 = 8;
/// Classes of the values of one binary magnitude.
const PER_MAGNITUDE: u64 = 1 << (DIGITS - 1);
/// The magnitudes that are told apart end here: 2^41 ns, about 37 minutes.
const MAGNITUDES: u32 = 41;
/// What longer times count as: 2^40 ns, about 18 minutes.
const TOO_LONG: u64 = 1 << (MAGNITUDES - 1);
/// As many rows a list has before it becomes a table.
const FEW: usize = 32;

/// The class of a value.
#[inline]
pub(super) const fn class_of(value: u64) -> u16 {
    let value = if value >> MAGNITUDES == 0 { value } else { TOO_LONG };
    let coarse = (u64::BITS - (value | 1).leading_zeros()).saturating_sub(DIGITS);
    (coarse as u64 * PER_MAGNITUDE + (value >> coarse)) as u16
}

/// The largest value of a class.
pub(super) const fn highest_of(class: u16) -> u64 {
    let class = class as u64;
    let coarse = (class / PER_MAGNITUDE).saturating_sub(1);
    ((class - coarse * PER_MAGNITUDE + 1) << coarse) - 1
}

/// How many values each class has.
#[derive(Clone, Debug)]
pub(super) enum Classes {
    /// The classes that have any, in order.
    List(Vec<(u16, u64)>),
    /// All classes from `first` on, up to the last that has any.
    Table { first: u16, counts: Vec<u64> },
}

impl Default for Classes {
    fn default() -> Classes {
        Classes::List(Vec::new())
    }
}

impl Classes {
    /// A class has `count` values more.
    #[inline]
    pub(super) fn add(&mut self, class: u16, count: u64) {
        // A constant is the first of its list.
        let known = match self {
            Classes::List(list) => list.first_mut().filter(|row| row.0 == class).map(|row| &mut row.1),
            Classes::Table { first, counts } => counts.get_mut(usize::from(class.wrapping_sub(*first))),
        };
        match known {
            Some(row) => *row += count,
            None => self.add_slowly(class, count),
        }
    }

    /// The classes that have any value, in order, with their counts.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let (list, first, counts): (&[_], _, &[_]) = match self {
            Classes::List(list) => (list, 0, &[]),
            Classes::Table { first, counts } => (&[], *first, counts),
        };
        list.iter().copied().chain((first..).zip(counts.iter().copied()).filter(|row| row.1 > 0))
    }

    #[inline(never)]
    fn add_slowly(&mut self, class: u16, count: u64) {
        match self {
            Classes::List(list) => match list.binary_search_by_key(&class, |row| row.0) {
                Ok(row) => list[row].1 += count,
                Err(row) if list.len() < FEW => list.insert(row, (class, count)),
                Err(_) => {
                    *self = Classes::table(list);
                    self.add(class, count);
                }
            },
            Classes::Table { first, counts } => {
                let less = usize::from(first.saturating_sub(class));
                counts.splice(0..0, std::iter::repeat_n(0, less));
                *first = class.min(*first);
                let row = usize::from(class - *first);
                counts.resize(counts.len().max(row + 1), 0);
                counts[row] += count;
            }
        }
    }

    /// The same as a table; `list` is not empty.
    fn table(list: &[(u16, u64)]) -> Classes {
        let (first, last) = (list[0].0, list[list.len() - 1].0);
        let mut counts = vec![0; usize::from(last - first) + 1];
        for &(class, count) in list {
            counts[usize::from(class - first)] = count;
        }
        Classes::Table { first, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_one_another() {
        assert_eq!((class_of(0), class_of(255), class_of(256), class_of(257), class_of(258)), (0, 255, 256, 256, 257));
        let last = class_of((1 << MAGNITUDES) - 1);
        assert_eq!((last, class_of(u64::MAX)), (4479, class_of(TOO_LONG)));
        for class in 0..last {
            assert_eq!((class_of(highest_of(class)), class_of(highest_of(class) + 1)), (class, class + 1));
        }
    }

    /// In whatever order they come, down, up and in turns, the list and the table both hold all of them.
    #[test]
    fn nothing_is_lost_when_a_list_becomes_a_table() {
        for n in [1, FEW as u16, FEW as u16 + 1, 500] {
            for order in [|i: u16, _| i, |i: u16, n: u16| n - 1 - i, |i: u16, n: u16| (i * 7) % n] {
                let mut classes = Classes::default();
                (0..n).for_each(|i| classes.add(1000 + order(i, n), 1));
                (0..n).for_each(|i| classes.add(1000 + i, 2));
                assert!(classes.iter().eq((0..n).map(|i| (1000 + i, 3))));
            }
        }
    }
}
