//! The four sets of rules, and what each caller feeds into the core step.

use super::sum::{Rates, cap_scale, pelt_divider, update_sum, update_util_sum};
use super::{LOAD_AVG_MAX, SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT, Scale, SchedAvg};
use crate::seam::seam;

seam! {
    /// Which rules load tracking follows.
    PeltFamily = "pelt" {
        A "a" "Contributions scaled by frequency and capacity; run queues track runnable load; sums divided by the full maximum.",
        B "b" "As family a, with runnable load of entities too, unweighted sums of entities, and a divider that moves within the period.",
        C "c" "As family b, but time is scaled, not contributions.",
        D "d" "As family c, with runnable_avg, which counts runnable tasks, in place of runnable load.",
    }
    history { v(4, 12) => A, v(4, 20) => B, v(5, 1) => C, v(5, 7) => D, }
}

/// How the averages follow from the sums.
#[derive(Clone, Copy)]
struct Factors {
    load: u64,
    runnable: u64,
}

impl PeltFamily {
    /// Ages an entity that is on no queue, and whose queue's lock may not be held.
    /// `weight` and `runnable_weight` are scaled down; families A and D have no runnable weight.
    ///
    /// Kernel: pelt.c __update_load_avg_blocked_se(), v4.12–
    #[inline]
    pub fn update_blocked_se(self, now: u64, sa: &mut SchedAvg, weight: u64, runnable_weight: u64, scale: Scale) -> bool {
        self.step(now, sa, Rates::default(), Factors { load: weight, runnable: runnable_weight }, scale)
    }

    /// Ages an entity of a queue. `weight` is the scaled-down se_weight. `runnable`: in family D
    /// se_runnable (a task: whether it is on the queue; a group: its task count), in B and C the
    /// scaled-down runnable weight; A ignores it.
    ///
    /// Kernel: pelt.c __update_load_avg_se(), v4.12–
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the inputs of the kernel's function, all numbers")]
    pub fn update_se(
        self,
        now: u64,
        sa: &mut SchedAvg,
        on_rq: bool,
        runnable: u64,
        running: bool,
        weight: u64,
        scale: Scale,
    ) -> bool {
        let queued = u64::from(on_rq);
        let rates = match self {
            PeltFamily::A => Rates { load: if on_rq { weight } else { 0 }, runnable: 0, util: self.util_rate(running, scale) },
            PeltFamily::B | PeltFamily::C => {
                Rates { load: queued, runnable: queued, util: self.util_rate(running && on_rq, scale) }
            }
            PeltFamily::D => Rates {
                load: queued,
                runnable: if on_rq { runnable << SCHED_CAPACITY_SHIFT } else { 0 },
                util: self.util_rate(running && on_rq, scale),
            },
        };
        let updated = self.step(now, sa, rates, Factors { load: weight, runnable }, scale);
        sa.util_est.unchanged &= !updated;
        updated
    }

    /// Ages a run queue. `weight` is its scaled-down load. `runnable`: in family D its number of
    /// runnable tasks, in B and C its scaled-down runnable weight; A uses `weight` for both.
    ///
    /// Kernel: pelt.c __update_load_avg_cfs_rq(), v4.12–
    #[inline]
    pub fn update_cfs_rq(self, now: u64, sa: &mut SchedAvg, weight: u64, runnable: u64, running: bool, scale: Scale) -> bool {
        let some = weight != 0;
        let rates = match self {
            PeltFamily::A => Rates { load: weight, runnable: weight, util: self.util_rate(running, scale) },
            PeltFamily::B | PeltFamily::C => {
                Rates { load: weight, runnable: if some { runnable } else { 0 }, util: self.util_rate(running && some, scale) }
            }
            PeltFamily::D => Rates {
                load: weight,
                runnable: if some { runnable << SCHED_CAPACITY_SHIFT } else { 0 },
                util: self.util_rate(running && some, scale),
            },
        };
        self.step(now, sa, rates, Factors { load: 1, runnable: 1 }, scale)
    }

    /// Ages the average of the real-time or the deadline class of a CPU. Family A has none.
    ///
    /// Kernel: pelt.c update_rt_rq_load_avg(), v4.19–
    #[inline]
    pub fn update_class(self, now: u64, sa: &mut SchedAvg, running: bool, scale: Scale) -> bool {
        if self == PeltFamily::A {
            return false;
        }
        self.step(now, sa, self.class_rates(running, scale), Factors { load: 1, runnable: 1 }, scale)
    }

    /// Ages the average of interrupt and stolen time: `running_ns` of it lie just before `rq_clock`.
    /// Only its utilisation is ever read, so only that is kept. Family A has none.
    ///
    /// Kernel: pelt.c update_irq_load_avg(), v4.19–
    pub fn update_irq(self, rq_clock: u64, sa: &mut SchedAvg, running_ns: u64, scale: Scale) -> bool {
        let busy_ns = match self {
            PeltFamily::A => return false,
            PeltFamily::B => running_ns,
            PeltFamily::C | PeltFamily::D => cap_scale(cap_scale(running_ns, scale.freq), scale.cpu),
        };
        let freq = self.contribution_scale(scale);
        let quiet = update_util_sum(rq_clock.wrapping_sub(busy_ns), sa, 0, freq);
        let busy = update_util_sum(rq_clock, sa, self.util_rate(true, scale), freq);
        if quiet || busy {
            sa.util_avg = sa.util_sum / self.divider(sa) as u32;
        }
        quiet || busy
    }

    #[inline(always)]
    fn step(self, now: u64, sa: &mut SchedAvg, rates: Rates, factors: Factors, scale: Scale) -> bool {
        let updated = update_sum(now, sa, rates, self.contribution_scale(scale));
        if updated {
            self.average(sa, factors);
        }
        updated
    }

    /// Averages from sums.
    ///
    /// Kernel: pelt.c ___update_load_avg(), v4.12–
    #[inline(always)]
    fn average(self, sa: &mut SchedAvg, factors: Factors) {
        let divider = self.divider(sa);
        sa.util_avg = sa.util_sum / divider as u32;
        match self {
            PeltFamily::A => {
                sa.load_avg = sa.load_sum / divider;
                sa.runnable_avg = sa.runnable_sum / divider;
            }
            PeltFamily::B | PeltFamily::C => {
                sa.load_avg = factors.load * sa.load_sum / divider;
                sa.runnable_avg = factors.runnable * sa.runnable_sum / divider;
            }
            PeltFamily::D => {
                sa.load_avg = factors.load * sa.load_sum / divider;
                sa.runnable_avg = sa.runnable_sum / divider;
            }
        }
    }

    /// What sums are divided by at this place in the period.
    #[inline(always)]
    pub(super) const fn divider(self, sa: &SchedAvg) -> u64 {
        match self {
            PeltFamily::A => LOAD_AVG_MAX,
            PeltFamily::B | PeltFamily::C | PeltFamily::D => pelt_divider(sa),
        }
    }

    /// Families A and B scale contributions by frequency; the others scale the clock.
    #[inline(always)]
    const fn contribution_scale(self, scale: Scale) -> u32 {
        match self {
            PeltFamily::A | PeltFamily::B => scale.freq,
            PeltFamily::C | PeltFamily::D => SCHED_CAPACITY_SCALE as u32,
        }
    }

    #[inline(always)]
    const fn util_rate(self, running: bool, scale: Scale) -> u64 {
        match (running, self) {
            (false, _) => 0,
            (true, PeltFamily::A | PeltFamily::B) => scale.cpu as u64,
            (true, PeltFamily::C | PeltFamily::D) => SCHED_CAPACITY_SCALE,
        }
    }

    const fn class_rates(self, running: bool, scale: Scale) -> Rates {
        let on = running as u64;
        let runnable = match self {
            PeltFamily::A | PeltFamily::B | PeltFamily::C => on,
            PeltFamily::D => on << SCHED_CAPACITY_SHIFT,
        };
        Rates { load: on, runnable, util: self.util_rate(running, scale) }
    }
}
