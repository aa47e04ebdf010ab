//! The arithmetic of the rules, in its plainest form.

use fairground_sched::Profile;

/// Weights of nice -20 to 19.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586,
    1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// A weight with 2^32 over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Weight {
    pub(super) weight: u64,
    pub(super) inverse: u64,
}

impl Weight {
    pub(super) fn of_idle_policy() -> Weight {
        Weight { weight: 3, inverse: 1_431_655_765 }
    }

    pub(super) fn of_nice(nice: i8) -> Weight {
        let weight = WEIGHTS[(i16::from(nice) + 20) as usize];
        let half = if [13, 14, 16, 17].contains(&nice) { 0 } else { weight / 2 };
        Weight { weight, inverse: ((1 << 32) + half) / weight }
    }

    /// Wall time as virtual time of this weight.
    pub(super) fn virtual_time(&self, delta: u64) -> u64 {
        if self.weight == 1024 { delta } else { calc_delta(delta, 1024, self.inverse) }
    }
}

/// The inverse of the sum of weights on a queue.
pub(super) fn inverse_of_sum(sum: u64) -> u64 {
    0xffff_ffff / sum
}

/// delta * weight * inverse / 2^32, with factors cut to 32 bits from below.
pub(super) fn calc_delta(delta: u64, weight: u64, inverse: u64) -> u64 {
    let (mut factor, mut places) = (weight, 32);
    for multiplier in [1, inverse] {
        factor *= multiplier;
        while factor > 0xffff_ffff {
            factor /= 2;
            places -= 1;
        }
    }
    (u128::from(delta) * u128::from(factor) / (1 << places)) as u64
}

/// The tunables that hold on the machine, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tunables {
    pub(super) latency: u64,
    pub(super) min_granularity: u64,
    pub(super) wakeup_granularity: u64,
    pub(super) nr_latency: u64,
}

impl Tunables {
    pub(super) fn of(profile: &Profile, cpus: u32) -> Tunables {
        let at = profile.tunables.at(cpus);
        let (latency, min_granularity) = (at.latency_ns, at.min_granularity_ns);
        let nr_latency = latency / min_granularity + u64::from(!latency.is_multiple_of(min_granularity));
        Tunables { latency, min_granularity, wakeup_granularity: at.wakeup_granularity_ns, nr_latency }
    }

    /// In which each of `count` tasks runs once.
    pub(super) fn period(&self, count: u64) -> u64 {
        if count > self.nr_latency { count * self.min_granularity } else { self.latency }
    }
}
