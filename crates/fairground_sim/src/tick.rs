//! When a CPU ticks, and jiffies.
//!
//! ```text
//! tick k of a CPU:  offset + k * tick + jitter(k)       0 <= jitter < tick_jitter
//! ```

use fairground_machine::Machine;
use fairground_stdx::{CpuId, Instant, Ns, RngStream, StreamKind};

/// Multiplier, increment and modulus of the jitter generator: the one of the reference jitter model.
const LCG_FACTOR: u64 = 1_103_515_245;
const LCG_STEP: u64 = 12_345;
const LCG_MASK: u64 = (1 << 31) - 1;

/// The grid of a CPU's ticks and how late each of them is.
#[derive(Clone, Debug)]
pub(crate) struct TickClock {
    offset: Ns,
    period: Ns,
    jitter: Ns,
    state: u64,
    /// Number of the tick that is due next.
    index: u64,
}

impl TickClock {
    pub(crate) fn new(machine: &Machine, cpu: CpuId, seed: u64) -> TickClock {
        let drawn = || RngStream::new(seed, StreamKind::TickJitter, cpu.get()).next_u64() & LCG_MASK;
        TickClock {
            offset: machine.tick_offset_of(cpu),
            period: machine.tick,
            jitter: machine.tick_jitter,
            state: machine.tick_jitter_seed.map_or_else(drawn, u64::from),
            index: 0,
        }
    }

    /// The first tick of the grid after `now`: the CPU leaves idle.
    ///
    /// Kernel: tick-sched.c tick_nohz_restart(), v4.12–
    pub(crate) fn restart(&mut self, now: Instant) -> Instant {
        let since = now.ns().saturating_sub(self.offset.0);
        self.index = if now.ns() < self.offset.0 { 0 } else { since / self.period.0 + 1 };
        self.due()
    }

    /// The tick after the one that has just come.
    pub(crate) fn advance(&mut self, now: Instant) -> Instant {
        self.index += 1;
        let due = self.due();
        // A tick that was held back for more than a period is lost, as in the kernel's hrtimer_forward().
        if due > now { due } else { self.restart(now) }
    }

    fn due(&mut self) -> Instant {
        let mut late = 0;
        if self.jitter > Ns::ZERO {
            self.state = (self.state * LCG_FACTOR + LCG_STEP) & LCG_MASK;
            late = (self.state >> 8) % self.jitter.0;
        }
        Instant::from_ns(self.offset.0 + self.index * self.period.0 + late)
    }
}

/// The kernel's count of ticks. One CPU keeps it; when that one goes idle another takes over.
#[derive(Clone, Debug)]
pub(crate) struct Jiffies {
    period: Ns,
    /// Whole periods up to the last tick that counted.
    count: u64,
    keeper: Option<CpuId>,
}

impl Jiffies {
    pub(crate) fn new(period: Ns) -> Jiffies {
        Jiffies { period, count: 0, keeper: None }
    }

    /// A CPU ticks: if it keeps the count (or nobody does) the count follows the clock.
    ///
    /// Kernel: tick-sched.c tick_sched_do_timer(), tick_do_update_jiffies64(), v4.12–
    pub(crate) fn tick(&mut self, cpu: CpuId, now: Instant) {
        if *self.keeper.get_or_insert(cpu) == cpu {
            self.catch_up(now);
        }
    }

    /// An interrupt ends an idle time: the count follows the clock, as there may have been no tick for long.
    ///
    /// Kernel: tick-sched.c tick_nohz_update_jiffies(), v4.12–
    pub(crate) fn catch_up(&mut self, now: Instant) {
        self.count = now.ns() / self.period.0;
    }

    /// A CPU stops its tick.
    pub(crate) fn stop(&mut self, cpu: CpuId) {
        if self.keeper == Some(cpu) {
            self.keeper = None;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(jitter: u64) -> TickClock {
        let mut machine = Machine::preset("smp-1").unwrap();
        (machine.tick, machine.tick_jitter, machine.tick_jitter_seed) = (Ns::from_ms(1), Ns(jitter), Some(12345));
        TickClock::new(&machine, CpuId::new(0), 1)
    }

    #[test]
    fn ticks_lie_on_the_grid_and_restart_behind_now() {
        let mut tick = clock(0);
        assert_eq!(tick.restart(Instant::ZERO).ns(), 1_000_000);
        assert_eq!(tick.advance(Instant::from_ns(1_000_000)).ns(), 2_000_000);
        assert_eq!(tick.restart(Instant::from_ns(7_000_000)).ns(), 8_000_000);
        assert_eq!(tick.advance(Instant::from_ns(12_345_678)).ns(), 13_000_000);
    }

    #[test]
    fn jitter_is_the_reference_generator() {
        let mut tick = clock(300_000);
        let first = (12345u64 * LCG_FACTOR + LCG_STEP) % (1 << 31);
        assert_eq!(tick.restart(Instant::ZERO).ns(), 1_000_000 + (first >> 8) % 300_000);
    }
}
