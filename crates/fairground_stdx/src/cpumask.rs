//! Sets of CPUs.

use crate::ids::CpuId;

const WORDS: usize = 16;

/// A set of up to [`CpuMask::CAPACITY`] CPUs. Iteration is in CPU-number order, as the kernel's.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CpuMask([u64; WORDS]);

impl CpuMask {
    /// One more than the largest CPU number a mask can hold.
    pub const CAPACITY: usize = WORDS * 64;
    /// No CPU.
    pub const EMPTY: CpuMask = CpuMask([0; WORDS]);

    /// CPUs 0 to `n - 1`.
    pub fn first_n(n: usize) -> CpuMask {
        (0..n).map(|cpu| CpuId::new(cpu as u32)).collect()
    }
    /// Exactly one CPU.
    pub fn only(cpu: CpuId) -> CpuMask {
        let mut mask = CpuMask::EMPTY;
        mask.insert(cpu);
        mask
    }
    /// Adds a CPU.
    #[inline]
    pub fn insert(&mut self, cpu: CpuId) {
        self.0[cpu.get() as usize / 64] |= 1 << (cpu.get() % 64);
    }
    /// Takes a CPU out.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId) {
        self.0[cpu.get() as usize / 64] &= !(1 << (cpu.get() % 64));
    }
    /// Whether the CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0[cpu.get() as usize / 64] >> (cpu.get() % 64) & 1 == 1
    }
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // Without a branch per word: such sets are empty mostly.
        self.0.iter().fold(0, |all, word| all | word) == 0
    }
    /// The number of CPUs in the set (the kernel's cpumask_weight).
    pub fn weight(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// The CPU with the smallest number.
    #[inline]
    pub fn first(&self) -> Option<CpuId> {
        self.next_from(0)
    }
    /// The CPU with the smallest number that is at least `from`.
    #[inline]
    pub fn next_from(&self, from: u32) -> Option<CpuId> {
        let mut index = from as usize / 64;
        if index >= WORDS {
            return None;
        }
        let mut word = self.0[index] & (u64::MAX << (from % 64));
        loop {
            if word != 0 {
                return Some(CpuId::new(index as u32 * 64 + word.trailing_zeros()));
            }
            index += 1;
            if index == WORDS {
                return None;
            }
            word = self.0[index];
        }
    }
    /// The CPUs in both sets.
    #[inline]
    pub fn and(&self, other: &CpuMask) -> CpuMask {
        CpuMask(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
    /// The CPUs in at least one of the sets.
    pub fn or(&self, other: &CpuMask) -> CpuMask {
        CpuMask(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
    /// The CPUs of `self` that are not in `other`.
    pub fn and_not(&self, other: &CpuMask) -> CpuMask {
        CpuMask(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }
    /// Whether every CPU of `self` is in `other`.
    pub fn is_subset(&self, other: &CpuMask) -> bool {
        (0..WORDS).fold(0, |rest, i| rest | (self.0[i] & !other.0[i])) == 0
    }
    /// Whether the sets share a CPU.
    pub fn intersects(&self, other: &CpuMask) -> bool {
        (0..WORDS).any(|i| self.0[i] & other.0[i] != 0)
    }
    /// The CPUs in number order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let cpu = self.next_from(from)?;
            from = cpu.get() + 1;
            Some(cpu)
        })
    }
    /// The CPUs in number order beginning at `start` and wrapping once.
    pub fn iter_wrap(&self, start: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        wrapping(start, move |from| self.next_from(from))
    }
    /// The CPU with the smallest number that is at least `from` and in both sets.
    #[inline]
    pub fn next_from_and(&self, other: &CpuMask, from: u32) -> Option<CpuId> {
        let mut index = from as usize / 64;
        let mut wanted = u64::MAX << (from % 64);
        while index < WORDS {
            let word = self.0[index] & other.0[index] & wanted;
            if word != 0 {
                return Some(CpuId::new(index as u32 * 64 + word.trailing_zeros()));
            }
            (index, wanted) = (index + 1, u64::MAX);
        }
        None
    }
    /// The number of CPUs in both sets with numbers from `from` on and below `end`.
    fn weight_and_within(&self, other: &CpuMask, from: u32, end: u32) -> u64 {
        let (first, last) = (from as usize / 64, end as usize / 64);
        let below_end = !(u64::MAX << (end % 64));
        let mut wanted = u64::MAX << (from % 64);
        let mut count = 0;
        for index in first..WORDS.min(last + 1) {
            let word = self.0[index] & other.0[index] & wanted & if index == last { below_end } else { u64::MAX };
            // Most words of most sets are empty, and there need not be an instruction that counts bits.
            if word != 0 {
                count += u64::from(word.count_ones());
            }
            wanted = u64::MAX;
        }
        count
    }
    /// At which place `last`, which is in both sets, stands in [`CpuMask::iter_wrap_and`], counted from 1.
    pub fn weight_wrap_and(&self, other: &CpuMask, start: CpuId, last: CpuId) -> u64 {
        let behind_last = last.get() + 1;
        match last >= start {
            true => self.weight_and_within(other, start.get(), behind_last),
            false => {
                let to_the_end = self.weight_and_within(other, start.get(), CpuMask::CAPACITY as u32);
                to_the_end + self.weight_and_within(other, 0, behind_last)
            }
        }
    }
    /// The CPUs in both sets in number order beginning at `start` and wrapping once, without building the set.
    pub fn iter_wrap_and<'m>(&'m self, other: &'m CpuMask, start: CpuId) -> impl Iterator<Item = CpuId> + 'm {
        wrapping(start, move |from| self.next_from_and(other, from))
    }
    /// Reads a CPU list as the kernel and taskset write it: `0-3,8,10-11`.
    pub fn parse_list(text: &str) -> Option<CpuMask> {
        let mut mask = CpuMask::EMPTY;
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (low, high): (u32, u32) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            if high < low || high as usize >= CpuMask::CAPACITY {
                return None;
            }
            (low..=high).for_each(|cpu| mask.insert(CpuId::new(cpu)));
        }
        Some(mask)
    }
    /// Reads a hexadecimal mask, with or without `0x` and the kernel's commas: `ff`, `0000000f,ffffffff`.
    pub fn parse_hex(text: &str) -> Option<CpuMask> {
        let digits: Vec<u32> =
            text.trim().trim_start_matches("0x").chars().filter(|&c| c != ',').map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let mut mask = CpuMask::EMPTY;
        for (place, digit) in digits.iter().rev().enumerate() {
            for bit in (0..4).filter(|bit| digit >> bit & 1 == 1) {
                let cpu = place * 4 + bit;
                if cpu >= CpuMask::CAPACITY {
                    return None;
                }
                mask.insert(CpuId::new(cpu as u32));
            }
        }
        (!digits.is_empty()).then_some(mask)
    }
}

/// The CPUs that `next_from` finds, each the next at or behind a number, in number order beginning at `start` and wrapping once.
#[inline]
fn wrapping(start: CpuId, next_from: impl Fn(u32) -> Option<CpuId>) -> impl Iterator<Item = CpuId> {
    let (mut from, mut wrapped) = (start.get(), false);
    std::iter::from_fn(move || {
        loop {
            match next_from(from) {
                Some(cpu) if !wrapped || cpu < start => {
                    from = cpu.get() + 1;
                    return Some(cpu);
                }
                Some(_) => return None,
                None if wrapped => return None,
                None => (from, wrapped) = (0, true),
            }
        }
    })
}

impl FromIterator<CpuId> for CpuMask {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuMask {
        let mut mask = CpuMask::EMPTY;
        cpus.into_iter().for_each(|cpu| mask.insert(cpu));
        mask
    }
}

/// Prints as a CPU list: `0-3,8`.
impl std::fmt::Display for CpuMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (mut from, mut comma) = (0, "");
        while let Some(low) = self.next_from(from) {
            let mut high = low.get();
            while (high as usize + 1) < CpuMask::CAPACITY && self.contains(CpuId::new(high + 1)) {
                high += 1;
            }
            if high == low.get() {
                write!(f, "{comma}{low}")?;
            } else {
                write!(f, "{comma}{low}-{high}")?;
            }
            (from, comma) = (high + 1, ",");
        }
        Ok(())
    }
}
impl std::fmt::Debug for CpuMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CpuMask({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_hex_read_and_print() {
        let mask = CpuMask::parse_list("0-3,8,10-11").unwrap();
        assert_eq!((mask.to_string().as_str(), mask.weight()), ("0-3,8,10-11", 7));
        assert_eq!(CpuMask::parse_hex("0xd0f").unwrap(), mask);
        assert_eq!(CpuMask::parse_hex("00000001,00000000").unwrap().to_string(), "32");
        assert_eq!(CpuMask::parse_list("3-1"), None);
        assert_eq!(CpuMask::parse_list("2000"), None);
        assert_eq!(CpuMask::parse_hex("xyz"), None);
    }

    #[test]
    fn wrapping_order_starts_anywhere() {
        let mask = CpuMask::parse_list("0-2,64,70").unwrap();
        let order = |start| mask.iter_wrap(CpuId::new(start)).map(CpuId::get).collect::<Vec<_>>();
        assert_eq!(order(2), [2, 64, 70, 0, 1]);
        assert_eq!(order(71), [0, 1, 2, 64, 70]);
        assert_eq!(order(0), [0, 1, 2, 64, 70]);
        let both = |start| {
            mask.iter_wrap_and(&CpuMask::parse_list("1-69").unwrap(), CpuId::new(start)).map(CpuId::get).collect::<Vec<_>>()
        };
        assert_eq!((both(2), both(71)), (vec![2, 64, 1], vec![1, 2, 64]));
        for start in 0..72 {
            let other = CpuMask::parse_list("1-69").unwrap();
            for (place, cpu) in (1..).zip(mask.iter_wrap_and(&other, CpuId::new(start))) {
                assert_eq!(mask.weight_wrap_and(&other, CpuId::new(start), cpu), place);
            }
        }
        assert_eq!(mask.and_not(&CpuMask::parse_list("1-69").unwrap()).to_string(), "0,70");
        let all = CpuMask::first_n(1024);
        assert_eq!(all.weight_wrap_and(&all, CpuId::new(64), CpuId::new(63)), 1024);
        assert_eq!(CpuMask::first_n(1024).weight(), 1024);
        assert_eq!(CpuMask::first_n(1024).to_string(), "0-1023");
    }
}
