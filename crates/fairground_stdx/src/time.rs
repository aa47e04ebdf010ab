//! Points and lengths of simulated time, and weighted virtual time.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

/// Nanoseconds in a microsecond, a millisecond and a second.
pub const NSEC_PER_USEC: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const NSEC_PER_MSEC: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const NSEC_PER_SEC: u64 = 1_000_000_000;

/// A point on the simulated clock, in ns since the run began. Never goes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Instant(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// The latest instant that an event may have: 2^50 ns, about 13 days. Event keys pack an
    /// instant, a class and a CPU into 64 bits.
    pub const MAX: Instant = Instant((1 << 50) - 1);

    /// `ns` after the start of the run.
    #[inline]
    pub const fn from_ns(ns: u64) -> Instant {
        Instant(ns)
    }
    /// Nanoseconds since the start of the run.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }
    /// Time passed since `earlier`; an `earlier` that lies later is our own bug and stops the run.
    #[inline]
    pub fn since(self, earlier: Instant) -> Ns {
        Ns(self.0 - earlier.0)
    }
    /// Time passed since `earlier`, nothing if that lies in the future.
    #[inline]
    pub fn saturating_since(self, earlier: Instant) -> Ns {
        Ns(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Ns> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, length: Ns) -> Instant {
        Instant(self.0 + length.0)
    }
}
impl AddAssign<Ns> for Instant {
    #[inline]
    fn add_assign(&mut self, length: Ns) {
        self.0 += length.0;
    }
}

/// A length of simulated time, in ns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Ns(pub u64);

impl Ns {
    /// No time at all.
    pub const ZERO: Ns = Ns(0);
    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Ns {
        Ns(us * NSEC_PER_USEC)
    }
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Ns {
        Ns(ms * NSEC_PER_MSEC)
    }
    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Ns {
        Ns(s * NSEC_PER_SEC)
    }
    /// The number of nanoseconds.
    #[inline]
    pub const fn ns(self) -> u64 {
        self.0
    }
    /// Subtraction that stops at zero.
    #[inline]
    pub fn saturating_sub(self, other: Ns) -> Ns {
        Ns(self.0.saturating_sub(other.0))
    }
}

impl Add for Ns {
    type Output = Ns;
    #[inline]
    fn add(self, other: Ns) -> Ns {
        Ns(self.0 + other.0)
    }
}
impl AddAssign for Ns {
    #[inline]
    fn add_assign(&mut self, other: Ns) {
        self.0 += other.0;
    }
}
impl Sub for Ns {
    type Output = Ns;
    #[inline]
    fn sub(self, other: Ns) -> Ns {
        Ns(self.0 - other.0)
    }
}
impl SubAssign for Ns {
    #[inline]
    fn sub_assign(&mut self, other: Ns) {
        self.0 -= other.0;
    }
}

/// Prints with the largest unit that keeps the value exact: `3ms`, `1500us`, `17ns`.
impl fmt::Display for Ns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (size, unit) in [(NSEC_PER_SEC, "s"), (NSEC_PER_MSEC, "ms"), (NSEC_PER_USEC, "us")] {
            if self.0 >= size && self.0.is_multiple_of(size) {
                return write!(f, "{}{unit}", self.0 / size);
            }
        }
        write!(f, "{}ns", self.0)
    }
}

/// Weighted virtual time. Wraps like the kernel's u64 and is ordered only by signed distance, so it
/// has no `Ord` and cannot be sorted by accident.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Vruntime(pub u64);

impl Vruntime {
    /// Signed distance from `other` to `self`, in weighted ns: the only comparison there is.
    #[inline]
    pub const fn since(self, other: Vruntime) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }
    /// `self` moved on by `delta` weighted ns.
    #[inline]
    pub const fn plus(self, delta: u64) -> Vruntime {
        Vruntime(self.0.wrapping_add(delta))
    }
    /// `self` moved back by `delta` weighted ns.
    #[inline]
    pub const fn minus(self, delta: u64) -> Vruntime {
        Vruntime(self.0.wrapping_sub(delta))
    }
    /// The later of two.
    #[inline]
    pub const fn max(self, other: Vruntime) -> Vruntime {
        if other.since(self) > 0 { other } else { self }
    }
    /// The earlier of two.
    #[inline]
    pub const fn min(self, other: Vruntime) -> Vruntime {
        if other.since(self) < 0 { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_print_with_their_largest_exact_unit() {
        let shown: Vec<String> =
            [0, 17, 1_000, 1_500_000, 3_000_000, 2_000_000_000].iter().map(|&ns| Ns(ns).to_string()).collect();
        assert_eq!(shown, ["0ns", "17ns", "1us", "1500us", "3ms", "2s"]);
    }

    #[test]
    fn vruntime_orders_across_the_wrap() {
        let before = Vruntime(u64::MAX - 5);
        let after = before.plus(10);
        assert_eq!(after.0, 4);
        assert_eq!(after.since(before), 10);
        assert_eq!(before.max(after), after);
        assert_eq!(before.min(after), before);
    }
}
