//! The clocks of the kernel's buffers.

use std::collections::BTreeMap;

// FtraceBundle.ftrace_clock.
/// The default, CLOCK_BOOTTIME.
const BOOT: u64 = 0;
const UNKNOWN: u64 = 1;
/// Each CPU has its own.
const LOCAL: u64 = 3;
/// The highest number defined.
const MONO_RAW: u64 = 4;

/// A clock of a bundle with a moment read off it and off CLOCK_BOOTTIME.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct BundleClock {
    pub(super) clock: u64,
    pub(super) own_ns: Option<u64>,
    pub(super) boot_ns: Option<u64>,
}

/// What is odd about a bundle's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Oddity {
    /// Times of different CPUs do not fit together exactly.
    PerCpu,
    /// It is not the one of the bundles before, and times were brought to CLOCK_BOOTTIME.
    MixedAligned,
    /// It is not the one of the bundles before, and how they relate is not known.
    MixedUnknown,
}

/// How far each clock is from CLOCK_BOOTTIME. The first pair of readings counts for the whole file,
/// so that times of one clock keep their distances.
#[derive(Default)]
pub(super) struct Clocks {
    offsets: BTreeMap<u64, Option<i64>>,
}

impl Clocks {
    /// What has to be added to times of this bundle, and what is odd.
    pub(super) fn offset(&mut self, bundle: BundleClock) -> (i64, Option<Oddity>) {
        let clock = if bundle.clock <= MONO_RAW { bundle.clock } else { UNKNOWN };
        let offset = *self.offsets.entry(clock).or_insert_with(|| match (bundle.boot_ns, bundle.own_ns) {
            _ if clock == BOOT => Some(0),
            (Some(boot), Some(own)) => Some(boot.cast_signed().wrapping_sub(own.cast_signed())),
            _ => None,
        });
        let oddity = match () {
            () if self.offsets.len() > 1 && self.offsets.values().any(Option::is_none) => Some(Oddity::MixedUnknown),
            () if self.offsets.len() > 1 => Some(Oddity::MixedAligned),
            () if clock == LOCAL || clock == UNKNOWN => Some(Oddity::PerCpu),
            () => None,
        };
        (offset.unwrap_or(0), oddity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn clock(clock: u64, own_ns: Option<u64>, boot_ns: Option<u64>) -> BundleClock {
        BundleClock { clock, own_ns, boot_ns }
    }

    #[test]
    fn one_clock_keeps_its_distances() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.offset(clock(MONO_RAW, Some(100), Some(130))), (30, None));
        assert_eq!(clocks.offset(clock(MONO_RAW, Some(200), Some(231))), (30, None), "the first pair counts");
        assert_eq!(Clocks::default().offset(clock(LOCAL, None, None)), (0, Some(Oddity::PerCpu)));
        assert_eq!(Clocks::default().offset(BundleClock::default()), (0, None));
    }

    #[test]
    fn two_clocks() {
        let mut clocks = Clocks::default();
        assert_eq!(clocks.offset(BundleClock::default()), (0, None));
        assert_eq!(clocks.offset(clock(2, Some(130), Some(100))), (-30, Some(Oddity::MixedAligned)));
        assert_eq!(clocks.offset(clock(99, None, Some(u64::MAX))), (0, Some(Oddity::MixedUnknown)));
    }
}
