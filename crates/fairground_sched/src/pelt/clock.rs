//! The clocks of a CPU's run queue, and the rule by which load tracking reads time.

use super::sum::{cap_scale, pelt_divider};
use super::tables::{LOAD_AVG_MAX, PELT_MIN_DIVIDER};
use super::{PeltClockRule, SCHED_CAPACITY_SHIFT, Scale, SchedAvg};

impl PeltClockRule {
    /// Whether the sums of a CPU say that it had no spare time at any capacity, so that its idle time
    /// was lost to slowness.
    ///
    /// Kernel: pelt.h update_idle_rq_clock_pelt(), v5.1–
    pub fn overloaded(self, cfs: &SchedAvg, rt: &SchedAvg, dl: &SchedAvg) -> bool {
        let sum = u64::from(cfs.util_sum) + u64::from(rt.util_sum) + u64::from(dl.util_sum);
        let threshold = match self {
            PeltClockRule::ScaledContribution => return false,
            PeltClockRule::ClockPeltAsMailed => pelt_divider(cfs) << SCHED_CAPACITY_SHIFT,
            PeltClockRule::RqClockPelt | PeltClockRule::RqClockPeltIdle => PELT_MIN_DIVIDER << SCHED_CAPACITY_SHIFT,
        };
        sum + LOAD_AVG_MAX >= threshold
    }

    /// Whether the time by which a clock moves is scaled, unless its CPU is idle.
    #[inline]
    pub(crate) const fn scales_time(self) -> bool {
        !matches!(self, PeltClockRule::ScaledContribution)
    }

    /// Time running that is in a `util_sum`. The patch as mailed left the division by capacity in place.
    pub(super) fn running_time(self, util_sum: u32, cpu_capacity: u32) -> u64 {
        match self {
            PeltClockRule::ScaledContribution | PeltClockRule::ClockPeltAsMailed => {
                u64::from(util_sum.checked_div(cpu_capacity).unwrap_or(0))
            }
            PeltClockRule::RqClockPelt | PeltClockRule::RqClockPeltIdle => u64::from(util_sum >> SCHED_CAPACITY_SHIFT),
        }
    }

    /// Run time in clock_task, as scaled time; the order of the two truncations matters to the last bit.
    #[inline]
    const fn scaled(self, delta_ns: u64, scale: Scale) -> u64 {
        match self {
            PeltClockRule::ScaledContribution => delta_ns,
            PeltClockRule::ClockPeltAsMailed => cap_scale(cap_scale(delta_ns, scale.freq), scale.cpu),
            PeltClockRule::RqClockPelt | PeltClockRule::RqClockPeltIdle => cap_scale(cap_scale(delta_ns, scale.cpu), scale.freq),
        }
    }
}

/// The clocks of one CPU, in ns. They change only in [`RqClocks::update`] and [`RqClocks::enter_idle`].
///
/// Kernel: sched.h struct rq, v4.12–
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RqClocks {
    /// Wall time.
    pub clock: u64,
    /// Wall time without interrupts and stolen time.
    pub clock_task: u64,
    /// Scaled time; in step with `clock_task` while idle.
    pub clock_pelt: u64,
    /// Idle time that is not shown as idle, since the CPU had no spare time.
    pub lost_idle_time: u64,
    /// `clock` when it was last read while the CPU idled (v6.0 on).
    pub clock_idle: u64,
    /// [`RqClocks::rq_clock_pelt`] by then (v6.0 on).
    pub clock_pelt_idle: u64,
}

impl RqClocks {
    /// Moves the clocks on: `delta` ns of wall time, of which `delta_task` were not interrupts or
    /// stolen. `idle`: the current task is the idle task. `overloaded` ([`PeltClockRule::overloaded`])
    /// is asked only where the rule tests it.
    ///
    /// Kernel: core.c update_rq_clock(), pelt.h update_rq_clock_pelt(), v4.12–
    #[inline]
    pub fn update(
        &mut self,
        rule: PeltClockRule,
        delta: u64,
        delta_task: u64,
        idle: bool,
        scale: Scale,
        overloaded: impl FnOnce() -> bool,
    ) {
        self.clock += delta;
        self.clock_task += delta_task;
        if !idle {
            self.clock_pelt += rule.scaled(delta_task, scale);
            return;
        }
        if rule == PeltClockRule::ClockPeltAsMailed && overloaded() {
            self.lose_idle_time();
        }
        self.sync_idle(rule);
    }

    /// The scaled clock of an idle CPU is in step with its task clock. From v6.0 on both are remembered each time: what idles and
    /// ticks, or is looked at by another CPU, has younger marks than when it went idle.
    ///
    /// Kernel: pelt.h _update_idle_rq_clock_pelt(), v6.0– (update_rq_clock_pelt() before)
    #[inline]
    fn sync_idle(&mut self, rule: PeltClockRule) {
        self.clock_pelt = self.clock_task;
        if rule == PeltClockRule::RqClockPeltIdle {
            (self.clock_idle, self.clock_pelt_idle) = (self.clock, self.rq_clock_pelt());
        }
    }

    /// The fair class found nothing to run and the CPU is about to go idle.
    ///
    /// Kernel: pelt.h update_idle_rq_clock_pelt(), v5.1–
    #[inline]
    pub fn enter_idle(&mut self, rule: PeltClockRule, overloaded: impl FnOnce() -> bool) {
        match rule {
            PeltClockRule::ScaledContribution | PeltClockRule::ClockPeltAsMailed => {}
            PeltClockRule::RqClockPelt => {
                if overloaded() {
                    self.lose_idle_time();
                }
            }
            PeltClockRule::RqClockPeltIdle => {
                if overloaded() {
                    self.lose_idle_time();
                }
                self.sync_idle(rule);
            }
        }
    }

    /// Scaled time without lost idle time.
    ///
    /// Kernel: pelt.h rq_clock_pelt(), v5.1–
    #[inline]
    pub const fn rq_clock_pelt(&self) -> u64 {
        self.clock_pelt - self.lost_idle_time
    }

    /// The time that load tracking of this CPU reads.
    #[inline]
    pub const fn pelt(&self, rule: PeltClockRule) -> u64 {
        match rule {
            PeltClockRule::ScaledContribution => self.clock_task,
            PeltClockRule::ClockPeltAsMailed | PeltClockRule::RqClockPelt | PeltClockRule::RqClockPeltIdle => {
                self.rq_clock_pelt()
            }
        }
    }

    /// What the scaled clock of an idle CPU would show at `sched_clock`, for a sleeper who leaves it:
    /// its clocks stand still since it went idle, or since they were read last. `throttled_ns` is the time that the task's queue was
    /// throttled, `last_update_time` that of the queue.
    ///
    /// Kernel: fair.c migrate_se_pelt_lag(), v6.0–
    pub fn idle_estimate(&self, sched_clock: u64, throttled_ns: u64, last_update_time: u64) -> u64 {
        let frozen = self.clock_pelt_idle.saturating_sub(throttled_ns);
        if frozen < last_update_time {
            // Another CPU has looked since: nothing is added to what it saw.
            return last_update_time;
        }
        frozen + sched_clock.saturating_sub(self.clock_idle)
    }

    /// The time by which the scaled clock is behind is lost, once: a CPU may go idle again before its clock has
    /// moved, and before an update has brought the scaled clock up.
    fn lose_idle_time(&mut self) {
        self.lost_idle_time += self.clock_task - self.clock_pelt;
        self.clock_pelt = self.clock_task;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_cpu_remembers_its_clocks() {
        let mut clocks = RqClocks::default();
        let half = Scale { freq: 512, cpu: 1024 };
        clocks.update(PeltClockRule::RqClockPeltIdle, 1000, 1000, false, half, || false);
        assert_eq!(clocks.rq_clock_pelt(), 500);
        clocks.enter_idle(PeltClockRule::RqClockPeltIdle, || true);
        assert_eq!((clocks.clock_pelt, clocks.lost_idle_time), (1000, 500));
        assert_eq!((clocks.clock_idle, clocks.clock_pelt_idle), (1000, 500));
        assert_eq!(clocks.idle_estimate(1700, 0, 0), 1200, "idle time counts in full");
        assert_eq!(clocks.idle_estimate(1700, 200, 0), 1000, "throttled time does not");
        assert_eq!(clocks.idle_estimate(1700, 200, 1100), 1100, "never before the queue's own time");
    }

    /// A CPU goes idle at 1000 and ticks at 5000: a queue that was looked at then has a younger time, and yet time goes on.
    #[test]
    fn an_idle_cpu_that_is_looked_at_has_younger_marks() {
        let rule = PeltClockRule::RqClockPeltIdle;
        let mut clocks = RqClocks::default();
        clocks.update(rule, 1000, 1000, false, Scale::FULL, || false);
        clocks.enter_idle(rule, || false);
        clocks.update(rule, 4000, 4000, true, Scale::FULL, || false);
        assert_eq!((clocks.clock_idle, clocks.clock_pelt_idle), (5000, 5000));
        assert_eq!(clocks.idle_estimate(7000, 0, 5000), 7000);
        assert_eq!(clocks.idle_estimate(7000, 0, 5001), 5001);
    }

    #[test]
    fn idle_time_is_lost_once_at_one_instant() {
        let mut clocks = RqClocks::default();
        let half = Scale { freq: 512, cpu: 1024 };
        clocks.update(PeltClockRule::RqClockPelt, 1000, 1000, false, half, || true);
        for _ in 0..3 {
            clocks.enter_idle(PeltClockRule::RqClockPelt, || true);
            assert_eq!((clocks.lost_idle_time, clocks.rq_clock_pelt()), (500, 500));
        }
    }

    #[test]
    fn interrupt_time_moves_only_the_wall_clock() {
        let mut clocks = RqClocks::default();
        clocks.update(PeltClockRule::ScaledContribution, 1000, 400, false, Scale::FULL, || true);
        assert_eq!((clocks.clock, clocks.pelt(PeltClockRule::ScaledContribution)), (1000, 400));
    }
}
