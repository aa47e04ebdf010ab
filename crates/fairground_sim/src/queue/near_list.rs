//! Keys of the few CPUs whose events come soon, one after the other.

use super::CLASS_SHIFT;
use std::cell::Cell;

/// Keys in order, at most one per CPU. A key that moves passes those between its old place and its new one: as many as
/// there are CPUs in the list at most, and no more than stand before its new instant.
///
/// ```text
/// [ 480 cpu 7 | 510 cpu 3 | 700 cpu 90 | never ]      cpu 7 makes a step of 150 ns:
/// [ 510 cpu 3 | 630 cpu 7 | 700 cpu 90 | never ]
/// ```
///
/// The last key is later than every event, so that no walk needs to ask for the end.
#[derive(Clone, Debug)]
pub(super) struct NearList {
    keys: Vec<u64>,
}

/// Behind all keys of events.
const END: u64 = u64::MAX;

/// The CPU of a key.
fn cpu_of(key: u64) -> usize {
    (key & ((1 << CLASS_SHIFT) - 1)) as usize
}

impl NearList {
    /// An empty list with room for so many CPUs.
    pub(super) fn new(nr_cpus: usize) -> NearList {
        let mut keys = Vec::with_capacity(nr_cpus + 1);
        keys.push(END);
        NearList { keys }
    }
    /// The smallest key, one that is no event if there is none.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.keys[0]
    }
    /// The second smallest; there is one CPU at least.
    #[inline]
    pub(super) fn second(&self) -> u64 {
        self.keys[1]
    }
    /// The smallest key of the CPUs beside `cpu`, which is in the list.
    #[inline]
    pub(super) fn first_beside(&self, cpu: usize) -> u64 {
        match cpu_of(self.keys[0]) == cpu {
            true => self.second(),
            false => self.keys[0],
        }
    }
    /// A CPU comes into the list.
    #[inline(never)]
    pub(super) fn insert(&mut self, key: u64) {
        let place = self.keys.iter().position(|&other| other > key).unwrap_or(0);
        self.keys.insert(place, key);
    }
    /// A CPU leaves it.
    #[inline(never)]
    pub(super) fn remove(&mut self, cpu: usize) {
        let place = self.place(cpu);
        self.keys.remove(place);
    }
    /// Replaces the key of a CPU: that of the first, mostly, by a later one.
    #[inline]
    pub(super) fn replace(&mut self, cpu: usize, key: u64) {
        let place = if cpu_of(self.keys[0]) == cpu { 0 } else { self.place(cpu) };
        if self.keys[place] > key {
            self.keys.remove(place);
            return self.insert(key);
        }
        let keys = Cell::from_mut(&mut self.keys[place..]).as_slice_of_cells();
        let mut last = &keys[0];
        for next in &keys[1..] {
            if next.get() > key {
                break;
            }
            last.set(next.get());
            last = next;
        }
        last.set(key);
    }
    /// Where the key of `cpu` stands.
    fn place(&self, cpu: usize) -> usize {
        let is_of_cpu = |&key: &u64| cpu_of(key) == cpu;
        self.keys.iter().position(is_of_cpu).expect("invariant: a CPU whose event is near has its key in the list")
    }
}
