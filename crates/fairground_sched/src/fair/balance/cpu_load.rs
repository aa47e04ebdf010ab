//! Older loads of a CPU (cpu_load[], up to v5.2): index 0 is the load of the last tick, each further one moves at half
//! the speed of the one before. Ticks that an idle CPU did not have are made up for.
//!
//! ```text
//! cpu_load[i] = (cpu_load[i] * (2^i - 1) + load) / 2^i        rounded towards load
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::rq::RqBalance;
use crate::seam::Balance;
use fairground_stdx::CpuId;

/// Binary places of a factor of [`DEGRADE_FACTOR`].
const DEGRADE_SHIFT: u32 = 7;

/// After so many missed ticks nothing is left, by index.
const DEGRADE_ZERO_TICKS: [u64; 5] = [0, 8, 32, 64, 128];

/// What 2^column missed ticks leave of a load, in 1/128: 128 * ((2^i - 1) / 2^i)^(2^column), by index i.
///
/// Kernel: fair.c degrade_factor, v4.12–v5.2
#[rustfmt::skip]
const DEGRADE_FACTOR: [[u64; 8]; 5] = [
    [  0,   0,  0,  0,  0,  0, 0, 0],
    [ 64,  32,  8,  0,  0,  0, 0, 0],
    [ 96,  72, 40, 12,  1,  0, 0, 0],
    [112,  98, 75, 43, 15,  1, 0, 0],
    [120, 112, 98, 76, 45, 16, 2, 0],
];

/// What is left of a load of that index after ticks that were missed with a load of zero.
///
/// Kernel: fair.c decay_load_missed(), v4.12–v5.2
fn decay_load_missed(load: u64, missed: u64, index: usize) -> u64 {
    match (missed, index) {
        (0, _) => load,
        _ if missed >= DEGRADE_ZERO_TICKS[index] => 0,
        (_, 1) => load >> missed,
        _ => {
            // The place of each bit that is set, the lowest first.
            let bits = std::iter::successors(Some(missed), |&missed| Some(missed & missed.checked_sub(1)?))
                .take_while(|&missed| missed > 0);
            let places = bits.map(|missed| missed.trailing_zeros() as usize);
            places.fold(load, |load, place| (load * DEGRADE_FACTOR[index][place]) >> DEGRADE_SHIFT)
        }
    }
}

impl RqBalance {
    /// The load at the end of `pending` ticks, during which the CPU had the load that it had at the last one.
    ///
    /// Kernel: fair.c cpu_load_update(), v4.12–v5.2
    fn cpu_load_update(&mut self, load: u64, pending: u64) {
        let tickless = self.cpu_load[0];
        // Mostly no tick was missed.
        match pending - 1 {
            0 => self.step_cpu_load(load, |kept, _| kept),
            missed => self.step_cpu_load(load, |kept, index| {
                decay_load_missed(kept, missed, index) + (tickless - decay_load_missed(tickless, missed, index))
            }),
        }
    }

    /// Each older load follows `load` from what is `left` of it, by its index.
    #[inline(always)]
    fn step_cpu_load(&mut self, load: u64, left: impl Fn(u64, usize) -> u64) {
        self.cpu_load[0] = load;
        for index in 1..self.cpu_load.len() {
            let old = left(self.cpu_load[index], index);
            let scale = 1 << index;
            let rounding = if load > old { scale - 1 } else { 0 };
            self.cpu_load[index] = (old * (scale - 1) + load + rounding) >> index;
        }
    }

    /// Kernel: fair.c cpu_load_update_nohz(), v4.12–v5.2
    fn cpu_load_update_nohz(&mut self, jiffies: u64, load: u64) {
        let pending = jiffies - self.last_load_update_tick;
        if pending > 0 {
            self.last_load_update_tick = jiffies;
            self.cpu_load_update(load, pending);
        }
    }
}

impl Sched {
    /// The load of a CPU as placement reads it.
    ///
    /// Kernel: fair.c weighted_cpuload(), v4.12–v5.4; cpu_load(), v5.5–
    pub(crate) fn load_of_cpu(&self, cpu: CpuId) -> u64 {
        match self.profile.balance {
            Balance::LoadBased => self.weighted_cpuload(cpu),
            Balance::GroupType => self.cpu_load(cpu),
        }
    }

    /// The tick of `cx.cpu`: its older loads follow the present one.
    ///
    /// Kernel: fair.c cpu_load_update_active(), v4.12–v5.2
    pub(crate) fn update_cpu_load_active(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) {
        if self.profile.balance != Balance::LoadBased {
            return;
        }
        let load = self.weighted_cpuload(cpu);
        let lb = &mut self.rqs[cpu].lb;
        if lb.nohz_tick_stopped {
            lb.cpu_load_update_nohz(cx.jiffies, load);
        } else {
            lb.last_load_update_tick = cx.jiffies;
            lb.cpu_load_update(load, 1);
        }
    }

    /// Another CPU balances on behalf of the idle `cpu`: the ticks that it missed had no load.
    ///
    /// Kernel: fair.c cpu_load_update_idle(), v4.12–v5.2
    pub(crate) fn cpu_load_update_idle(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) {
        if self.profile.balance == Balance::LoadBased && self.weighted_cpuload(cpu) == 0 {
            self.rqs[cpu].lb.cpu_load_update_nohz(cx.jiffies, 0);
        }
    }

    /// The tick of `cx.cpu` stops: from here on it has the load of this moment.
    ///
    /// Kernel: fair.c cpu_load_update_nohz_start(), v4.12–v5.2
    pub(crate) fn cpu_load_update_nohz_start(&mut self, cpu: CpuId) {
        if self.profile.balance == Balance::LoadBased {
            self.rqs[cpu].lb.cpu_load[0] = self.weighted_cpuload(cpu);
        }
    }

    /// The tick of `cx.cpu` goes on: the ticks that were missed are made up for.
    ///
    /// Kernel: fair.c cpu_load_update_nohz_stop(), v4.12–v5.2
    pub(crate) fn cpu_load_update_nohz_stop(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.profile.balance != Balance::LoadBased || self.rqs[cpu].lb.last_load_update_tick == cx.jiffies {
            return;
        }
        let load = self.weighted_cpuload(cpu);
        self.update_rq_clock(cx, cpu);
        self.rqs[cpu].lb.cpu_load_update_nohz(cx.jiffies, load);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Index 1 of a CPU with these older loads after each of `ticks` ticks with `load`.
    fn series(lb: &mut RqBalance, index: usize, load: u64, ticks: usize) -> Vec<u64> {
        let after_tick = |_| {
            lb.cpu_load_update(load, 1);
            lb.cpu_load[index]
        };
        (0..ticks).map(after_tick).collect()
    }

    /// Model: 07 T03
    #[test]
    fn older_loads_of_v4_12_follow_the_load_by_halves_and_quarters() {
        let mut lb = RqBalance::new(1024);
        let rising = series(&mut lb, 1, 1024, 12);
        assert_eq!(rising, [512, 768, 896, 960, 992, 1008, 1016, 1020, 1022, 1023, 1024, 1024]);
        assert_eq!(lb.cpu_load[0], 1024);
        assert_eq!(series(&mut RqBalance::new(1024), 2, 1024, 1), [256], "(0 * 3 + 1024 + 3) >> 2 = 256");
        lb.cpu_load[1] = 1024;
        assert_eq!(series(&mut lb, 1, 0, 3), [512, 256, 128]);
    }

    #[test]
    fn missed_ticks_decay_as_if_they_had_been() {
        for index in 1..5_usize {
            for missed in 0..200 {
                let ratio = 1.0 - 1.0 / f64::from(1 << index);
                let exact = 10_000.0 * ratio.powi(missed);
                let got = decay_load_missed(10_000, missed as u64, index) as f64;
                assert!((exact - got).abs() <= 10_000.0 * 0.02, "index {index}, missed {missed}: {got} for {exact}");
            }
        }
    }

    #[test]
    fn missed_ticks_are_made_up_for_once() {
        let mut lb = RqBalance { cpu_load: [0, 1024, 1024, 1024, 1024], last_load_update_tick: 10, ..RqBalance::new(1024) };
        lb.cpu_load_update_nohz(13, 0);
        assert_eq!(lb.cpu_load, [0, 1024 >> 3, 432, 686, 840]);
        let before = lb.cpu_load;
        lb.cpu_load_update_nohz(13, 1024);
        assert_eq!(lb.cpu_load, before, "no tick was missed since");
    }

    #[test]
    fn a_load_that_stood_during_missed_ticks_stays() {
        let mut lb = RqBalance { cpu_load: [512; 5], ..RqBalance::new(1024) };
        lb.cpu_load_update_nohz(7, 512);
        assert_eq!(lb.cpu_load, [512; 5]);
    }
}
