//! Keys of the few CPUs whose events come soon, one after the other.

use super::CLASS_SHIFT;
use fairground_stdx::CpuMask;

/// Places of the ring: enough for a key of each CPU, and the two around them.
const PLACES: usize = 2 * CpuMask::CAPACITY;

/// Keys in order, at most one per CPU, in a ring. The first mostly moves behind nearly all others, since steps are of
/// about the same length: it is taken off one end and finds its place from the other.
///
/// ```text
/// [ 480 cpu 7 | 510 cpu 3 | 600 cpu 90 | never ]                  cpu 7 makes a step of 150 ns:
///             [ 510 cpu 3 | 600 cpu 90 | 630 cpu 7 | never ]
/// ```
///
/// Around them stand two that are no keys of events: whoever looks for a place meets the first, and whoever asks for the
/// first or the second key the last. Nobody need ask how many there are.
#[derive(Clone, Debug)]
pub(super) struct NearList {
    keys: Box<[u64; PLACES]>,
    /// The place of the first key, and the one behind the last.
    first: usize,
    end: usize,
}

/// Before and behind all keys of events.
const BEFORE: u64 = 0;
const END: u64 = u64::MAX;

/// The places beside one: those of a ring wrap.
#[inline]
fn after(place: usize) -> usize {
    place.wrapping_add(1) % PLACES
}
#[inline]
fn before(place: usize) -> usize {
    place.wrapping_sub(1) % PLACES
}

/// The CPU of a key.
fn cpu_of(key: u64) -> usize {
    (key & ((1 << CLASS_SHIFT) - 1)) as usize
}

impl NearList {
    /// An empty list.
    pub(super) fn new() -> NearList {
        let mut list = NearList { keys: Box::new([END; PLACES]), first: 0, end: 0 };
        list.keys[before(list.first)] = BEFORE;
        list
    }
    /// The smallest key, one that is no event if there is none.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.keys[self.first % PLACES]
    }
    /// The second smallest; there is one CPU at least.
    #[inline]
    pub(super) fn second(&self) -> u64 {
        self.keys[after(self.first)]
    }
    /// The smallest key of the CPUs beside `cpu`, which is in the list.
    #[inline]
    pub(super) fn first_beside(&self, cpu: usize) -> u64 {
        match cpu_of(self.first()) == cpu {
            true => self.second(),
            false => self.first(),
        }
    }
    /// A CPU comes into the list.
    #[inline]
    pub(super) fn insert(&mut self, key: u64) {
        let mut place = self.end % PLACES;
        self.end = after(place);
        self.keys[self.end] = END;
        loop {
            let other = self.keys[before(place)];
            if other <= key {
                break;
            }
            self.keys[place] = other;
            place = before(place);
        }
        self.keys[place] = key;
    }
    /// A CPU leaves it.
    #[inline]
    pub(super) fn remove(&mut self, cpu: usize) {
        if cpu_of(self.first()) != cpu {
            return self.remove_among(cpu);
        }
        self.keys[self.first % PLACES] = BEFORE;
        self.first = after(self.first);
    }
    /// The same if it is not the first.
    #[inline(never)]
    fn remove_among(&mut self, cpu: usize) {
        let mut place = self.first;
        loop {
            assert!(place != self.end, "invariant: a CPU whose event is near has its key in the list");
            if cpu_of(self.keys[place]) == cpu {
                break;
            }
            place = after(place);
        }
        while place != self.end {
            self.keys[place] = self.keys[after(place)];
            place = after(place);
        }
        self.end = before(self.end);
    }
    /// Replaces the key of a CPU: that of the first, mostly, by a later one.
    #[inline]
    pub(super) fn replace(&mut self, cpu: usize, key: u64) {
        self.remove(cpu);
        self.insert(key);
    }
}
