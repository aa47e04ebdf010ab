//! The histogram of schbench (and of fio): exact below 512, above that 256 buckets for each doubling.
//!
//! ```text
//! value < 512:  bucket = value
//! else:         e = msb(value) - 8;  bucket = (e + 1) * 256 + ((value >> e) & 255)
//! reported:     the middle of the bucket, 2^(e + 8) + k * 2^e + 2^(e - 1)   for k = bucket % 256
//! ```

/// log2 of the buckets of one group.
const GROUP_BITS: u32 = 8;
/// Buckets of one group.
const GROUP: u64 = 1 << GROUP_BITS;
/// Groups: values above 2^27 count as if they were in the last bucket.
const GROUPS: u64 = 19;
const BUCKETS: usize = (GROUPS * GROUP) as usize;

/// The bucket in which a value is counted.
fn bucket_of(value: u64) -> usize {
    let msb = value.max(1).ilog2();
    if msb <= GROUP_BITS {
        return value as usize;
    }
    let e = msb - GROUP_BITS;
    let bucket = (u64::from(e) + 1) * GROUP + ((value >> e) & (GROUP - 1));
    (bucket as usize).min(BUCKETS - 1)
}

/// The value that stands for all values of a bucket.
fn value_of(bucket: usize) -> u64 {
    let bucket = bucket.min(BUCKETS - 1) as u64;
    if bucket < 2 * GROUP {
        return bucket;
    }
    let e = (bucket >> GROUP_BITS) - 1;
    (1 << (e + u64::from(GROUP_BITS))) + ((bucket % GROUP) << e) + (1 << (e - 1))
}

/// Counts of values in these buckets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlatHistogram {
    counts: Vec<u64>,
    len: u64,
    max: u64,
}

impl Default for PlatHistogram {
    fn default() -> PlatHistogram {
        PlatHistogram { counts: vec![0; BUCKETS], len: 0, max: 0 }
    }
}

impl PlatHistogram {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket_of(value)] += 1;
        self.len += 1;
        self.max = self.max.max(value);
    }
    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &PlatHistogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.len += other.len;
        self.max = self.max.max(other.max);
    }
    /// The number of values.
    pub fn len(&self) -> u64 {
        self.len
    }
    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The largest value, not that of its bucket.
    pub fn max(&self) -> u64 {
        self.max
    }
    /// The value of the first bucket up to which at least `milli` thousandths of a percent of all values lie, and how
    /// many lie up to there; 0 if there is no value. p99.5 is `percentile(99_500)`.
    pub fn percentile(&self, milli: u32) -> (u64, u64) {
        let mut below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            below += count;
            if u128::from(below) * 100_000 >= u128::from(milli) * u128::from(self.len) {
                return (value_of(bucket), below);
            }
        }
        (value_of(BUCKETS - 1), below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Model: 08 T04
    #[test]
    fn buckets_are_those_of_the_real_program() {
        for (value, bucket, reported) in
            [(511, 511, 511), (512, 512, 513), (887, 699, 887), (7_288, 1_479, 7_288), (13_023, 1_686, 13_008)]
        {
            assert_eq!((bucket_of(value), value_of(bucket)), (bucket, reported), "{value}");
        }
        let mut one = PlatHistogram::default();
        one.record(13_023);
        assert_eq!((one.percentile(99_000).0, one.max()), (13_008, 13_023));
    }

    /// Model: 08 T05
    #[test]
    fn percentiles_of_one_to_a_thousand_are_500_and_991() {
        let mut all = PlatHistogram::default();
        (1..=1000).for_each(|value| all.record(value));
        assert_eq!((all.percentile(50_000), all.percentile(99_000)), ((500, 500), (991, 991)));
    }

    #[test]
    fn nothing_and_too_much() {
        let mut histogram = PlatHistogram::default();
        assert_eq!((histogram.percentile(99_000), histogram.max(), histogram.is_empty()), ((0, 0), 0, true));
        histogram.record(u64::MAX);
        assert_eq!((histogram.percentile(50_000).0, histogram.max()), (value_of(BUCKETS - 1), u64::MAX));
    }

    proptest! {
        #[test]
        fn a_value_is_reported_to_half_a_bucket(value in 0u64..1 << 26) {
            let reported = value_of(bucket_of(value));
            prop_assert!(reported.abs_diff(value) * 2 <= value / GROUP + 1, "{reported} for {value}");
            prop_assert!(bucket_of(value) <= bucket_of(value + 1));
        }
        #[test]
        fn merging_equals_recording_all(left in prop::collection::vec(0u64..100_000, 0..50), right in prop::collection::vec(0u64..100_000, 0..50)) {
            let (mut a, mut b, mut all) = (PlatHistogram::default(), PlatHistogram::default(), PlatHistogram::default());
            left.iter().for_each(|&value| { a.record(value); all.record(value) });
            right.iter().for_each(|&value| { b.record(value); all.record(value) });
            a.merge(&b);
            prop_assert_eq!(a, all);
        }
    }
}
