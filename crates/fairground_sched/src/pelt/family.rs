//! The four sets of rules, and what each caller feeds into the core step.

use super::sum::{Rates, Stretch, cap_scale, pelt_divider};
use super::{LOAD_AVG_MAX, PeltFamily, SCHED_CAPACITY_SCALE, SCHED_CAPACITY_SHIFT, Scale, SchedAvg};

/// How the averages follow from the sums.
#[derive(Clone, Copy)]
struct Factors {
    load: u64,
    runnable: u64,
}

/// What an entity of a queue feeds into its average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeLoad {
    /// Whether it is queued or running.
    pub on_rq: bool,
    /// Whether it runs.
    pub running: bool,
    /// Family D: se_runnable of an entity that is on the queue (a task: whether it wants to run; a group: its
    /// task count). B and C: the scaled-down runnable weight. A: the weight of a group whose runnable load is aged by itself,
    /// else 0.
    pub runnable: u64,
    /// The scaled-down se_weight.
    pub weight: u64,
}

/// What a run queue feeds into its average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CfsRqLoad {
    /// Its scaled-down load.
    pub weight: u64,
    /// Family D: its number of runnable tasks. B and C: its scaled-down runnable weight. A uses
    /// `weight` for both.
    pub runnable: u64,
    /// Whether one of its entities runs.
    pub running: bool,
}

/// Calls a method with the family as a constant, so that nothing inside has to ask which one it is.
macro_rules! monomorphic {
    ($family:ident.$method:ident($($arg:expr),*)) => {
        match $family {
            PeltFamily::A => PeltFamily::A.$method($($arg),*),
            PeltFamily::B => PeltFamily::B.$method($($arg),*),
            PeltFamily::C => PeltFamily::C.$method($($arg),*),
            PeltFamily::DSynced => PeltFamily::DSynced.$method($($arg),*),
            PeltFamily::D => PeltFamily::D.$method($($arg),*),
            PeltFamily::DWhole => PeltFamily::DWhole.$method($($arg),*),
        }
    };
}

impl PeltFamily {
    /// Whether real-time and deadline tasks and interrupts have averages.
    #[inline]
    pub(crate) const fn tracks_other_classes(self) -> bool {
        !matches!(self, PeltFamily::A)
    }

    /// What a run queue feeds into its second average: its runnable tasks, its second weight, or its weight.
    #[inline]
    pub(crate) fn queue_runnable(self, nr_runnable: u32, second_weight: u64, weight: u64) -> u64 {
        match self {
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => u64::from(nr_runnable),
            PeltFamily::B | PeltFamily::C => second_weight,
            PeltFamily::A => weight,
        }
    }

    /// Whether `runnable_avg` counts runnable tasks.
    #[inline(always)]
    pub const fn counts_tasks(self) -> bool {
        matches!(self, PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole)
    }

    /// Whether contributions are scaled by frequency and capacity, and not the clock.
    #[inline(always)]
    pub(crate) const fn scales_contributions(self) -> bool {
        matches!(self, PeltFamily::A | PeltFamily::B)
    }

    /// How often an update at `now` scales by frequency and capacity: once if time has passed that it counts, in the families that
    /// scale contributions.
    ///
    /// Kernel: fair.c accumulate_sum(), v4.12–v5.0
    #[inline]
    pub(crate) fn scalings(self, now: u64, sa: &SchedAvg) -> u64 {
        match self {
            PeltFamily::A | PeltFamily::B => u64::from(Stretch::counts(sa, now)),
            PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => 0,
        }
    }

    /// The same of the average of interrupt time, of which `running_ns` lie just before `rq_clock`: family B takes two steps, the
    /// later ones scale that time once.
    ///
    /// Kernel: pelt.c update_irq_load_avg(), v4.19–
    #[inline]
    pub(crate) fn irq_scalings(self, rq_clock: u64, sa: &SchedAvg, running_ns: u64) -> u64 {
        match self {
            PeltFamily::A => 0,
            PeltFamily::B => {
                u64::from(Stretch::counts(sa, rq_clock.wrapping_sub(running_ns))) + u64::from(Stretch::is_counted(running_ns))
            }
            PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => 1,
        }
    }

    /// Ages an entity that is on no queue, and whose queue's lock may not be held.
    /// `weight` and `runnable_weight` are scaled down; families A and D have no runnable weight.
    ///
    /// Kernel: pelt.c __update_load_avg_blocked_se(), v4.12–
    pub fn update_blocked_se(self, now: u64, sa: &mut SchedAvg, weight: u64, runnable_weight: u64, scale: Scale) -> bool {
        let factors = Factors { load: weight, runnable: runnable_weight };
        self.step(Stretch::since_update(sa, now), sa, Rates::default(), factors, scale)
    }

    /// Ages an entity of a queue.
    ///
    /// Kernel: pelt.c __update_load_avg_se(), v4.12–
    pub fn update_se(self, now: u64, sa: &mut SchedAvg, load: SeLoad, scale: Scale) -> bool {
        self.step_se(Stretch::since_update(sa, now), sa, load, scale)
    }

    /// Ages a run queue.
    ///
    /// Kernel: pelt.c __update_load_avg_cfs_rq(), v4.12–
    pub fn update_cfs_rq(self, now: u64, sa: &mut SchedAvg, load: CfsRqLoad, scale: Scale) -> bool {
        self.step_cfs_rq(Stretch::since_update(sa, now), sa, load, scale)
    }

    /// Ages an entity and the queue on which it is. The same as one after the other, but where both
    /// were updated last at the same time, as they mostly are, the stretch is worked out once. Returns what the queue's
    /// update does.
    ///
    /// Kernel: fair.c update_load_avg(), v4.12–
    #[inline]
    pub(crate) fn update_se_and_cfs_rq(
        self,
        now: u64,
        (se, se_load): (&mut SchedAvg, SeLoad),
        (cfs, cfs_load): (&mut SchedAvg, CfsRqLoad),
        scale: Scale,
    ) -> bool {
        monomorphic!(self.step_se_and_cfs_rq(now, (se, se_load), (cfs, cfs_load), scale))
    }

    /// The same where a few periods have ended since both were updated last, at the same time. False: that is not the case, and
    /// nothing is done. True: the averages of both are others.
    #[inline(always)]
    pub(crate) fn update_se_and_cfs_rq_by_few_periods(
        self,
        now: u64,
        (se, se_load): (&mut SchedAvg, SeLoad),
        (cfs, cfs_load): (&mut SchedAvg, CfsRqLoad),
        scale: Scale,
    ) -> bool {
        let together = (se.last_update_time, se.period_contrib) == (cfs.last_update_time, cfs.period_contrib);
        let Some(stretch) = Stretch::of_few_periods(se, now).filter(|_| together) else { return false };
        monomorphic!(self.step_both(stretch, (se, se_load), (cfs, cfs_load), scale));
        true
    }

    /// Whether so little time has passed since the last update of `sa` that one at `now` would change nothing.
    #[inline(always)]
    pub(crate) fn is_up_to_date(self, now: u64, sa: &SchedAvg) -> bool {
        Stretch::is_nothing(sa, now)
    }

    /// Ages an entity that has waited on its queue.
    ///
    /// Kernel: pelt.c __update_load_avg_se(), v4.12–
    #[inline(always)]
    pub(crate) fn update_waiting_se(self, now: u64, sa: &mut SchedAvg, load: SeLoad, scale: Scale) {
        let stretch = Stretch::since_update(sa, now);
        monomorphic!(self.step_se(stretch, sa, load, scale));
    }

    #[inline(always)]
    fn step_both(
        self,
        stretch: Stretch,
        (se, se_load): (&mut SchedAvg, SeLoad),
        (cfs, cfs_load): (&mut SchedAvg, CfsRqLoad),
        scale: Scale,
    ) {
        self.step_se(stretch, se, se_load, scale);
        self.step_cfs_rq(stretch, cfs, cfs_load, scale);
    }

    #[inline(always)]
    fn step_se_and_cfs_rq(
        self,
        now: u64,
        (se, se_load): (&mut SchedAvg, SeLoad),
        (cfs, cfs_load): (&mut SchedAvg, CfsRqLoad),
        scale: Scale,
    ) -> bool {
        let together = (se.last_update_time, se.period_contrib) == (cfs.last_update_time, cfs.period_contrib);
        let stretch = Stretch::since_update(se, now);
        self.step_se(stretch, se, se_load, scale);
        let stretch = if together { stretch } else { Stretch::since_update(cfs, now) };
        self.step_cfs_rq(stretch, cfs, cfs_load, scale)
    }

    #[inline(always)]
    fn step_se(
        self,
        stretch: Stretch,
        sa: &mut SchedAvg,
        SeLoad { on_rq, running, runnable, weight }: SeLoad,
        scale: Scale,
    ) -> bool {
        let queued = u64::from(on_rq);
        let rates = match self {
            PeltFamily::A => Rates {
                load: if on_rq { weight } else { 0 },
                runnable: if on_rq { runnable } else { 0 },
                util: self.util_rate(running, scale),
            },
            PeltFamily::B | PeltFamily::C => {
                Rates { load: queued, runnable: queued, util: self.util_rate(running && on_rq, scale) }
            }
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => Rates {
                load: queued,
                runnable: if on_rq { runnable << SCHED_CAPACITY_SHIFT } else { 0 },
                util: self.util_rate(running && on_rq, scale),
            },
        };
        let updated = self.step(stretch, sa, rates, Factors { load: weight, runnable }, scale);
        sa.util_est.unchanged &= !updated;
        updated
    }

    #[inline(always)]
    fn step_cfs_rq(
        self,
        stretch: Stretch,
        sa: &mut SchedAvg,
        CfsRqLoad { weight, runnable, running }: CfsRqLoad,
        scale: Scale,
    ) -> bool {
        let some = weight != 0;
        let rates = match self {
            PeltFamily::A => Rates { load: weight, runnable: weight, util: self.util_rate(running, scale) },
            PeltFamily::B | PeltFamily::C => {
                Rates { load: weight, runnable: if some { runnable } else { 0 }, util: self.util_rate(running && some, scale) }
            }
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => Rates {
                load: weight,
                runnable: if some { runnable << SCHED_CAPACITY_SHIFT } else { 0 },
                util: self.util_rate(running && some, scale),
            },
        };
        self.step(stretch, sa, rates, Factors { load: 1, runnable: 1 }, scale)
    }

    /// Ages the average of the real-time or the deadline class of a CPU. Family A has none.
    ///
    /// Kernel: pelt.c update_rt_rq_load_avg(), v4.19–
    pub fn update_class(self, now: u64, sa: &mut SchedAvg, running: bool, scale: Scale) -> bool {
        if self == PeltFamily::A {
            return false;
        }
        self.step(Stretch::since_update(sa, now), sa, self.class_rates(running, scale), Factors { load: 1, runnable: 1 }, scale)
    }

    /// Ages the average of what a CPU has lost of its capacity, which is its load. Only kernels of family D have it.
    ///
    /// Kernel: pelt.c update_hw_load_avg(), update_thermal_load_avg() up to v6.9, v5.7–
    pub fn update_hw(self, now: u64, sa: &mut SchedAvg, lost: u32) -> bool {
        let lost = u64::from(lost);
        let rates = Rates { load: lost, runnable: lost << SCHED_CAPACITY_SHIFT, util: self.util_rate(lost > 0, Scale::FULL) };
        self.step(Stretch::since_update(sa, now), sa, rates, Factors { load: 1, runnable: 1 }, Scale::FULL)
    }

    /// Ages the average of interrupt and stolen time: `running_ns` of it lie just before `rq_clock`.
    /// Only its utilisation is ever read, so only that is kept. Family A has none.
    ///
    /// Kernel: pelt.c update_irq_load_avg(), v4.19–
    #[inline]
    pub fn update_irq(self, rq_clock: u64, sa: &mut SchedAvg, running_ns: u64, scale: Scale) -> bool {
        monomorphic!(self.step_irq(rq_clock, sa, running_ns, scale))
    }

    #[inline(always)]
    fn step_irq(self, rq_clock: u64, sa: &mut SchedAvg, running_ns: u64, scale: Scale) -> bool {
        let busy_ns = match self {
            PeltFamily::A => return false,
            PeltFamily::B => running_ns,
            PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => {
                cap_scale(cap_scale(running_ns, scale.freq), scale.cpu)
            }
        };
        let freq = self.contribution_scale(scale);
        let quiet = Stretch::since_update(sa, rq_clock.wrapping_sub(busy_ns)).step_util(sa, 0, freq);
        let busy = Stretch::since_update(sa, rq_clock).step_util(sa, self.util_rate(true, scale), freq);
        if quiet || busy {
            sa.util_avg = sa.util_sum / self.divider(sa) as u32;
        }
        quiet || busy
    }

    #[inline(always)]
    fn step(self, stretch: Stretch, sa: &mut SchedAvg, rates: Rates, factors: Factors, scale: Scale) -> bool {
        let updated = stretch.step(sa, rates, self.contribution_scale(scale));
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
                sa.load_avg = factors.load.wrapping_mul(sa.load_sum) / divider;
                sa.runnable_avg = factors.runnable.wrapping_mul(sa.runnable_sum) / divider;
            }
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => {
                sa.load_avg = factors.load.wrapping_mul(sa.load_sum) / divider;
                sa.runnable_avg = sa.runnable_sum / divider;
            }
        }
    }

    /// What sums are divided by at this place in the period.
    #[inline(always)]
    pub(super) const fn divider(self, sa: &SchedAvg) -> u64 {
        match self {
            PeltFamily::A => LOAD_AVG_MAX,
            PeltFamily::B | PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => pelt_divider(sa),
        }
    }

    /// Families A and B scale contributions by frequency; the others scale the clock.
    #[inline(always)]
    const fn contribution_scale(self, scale: Scale) -> u32 {
        match self {
            PeltFamily::A | PeltFamily::B => scale.freq,
            PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => SCHED_CAPACITY_SCALE as u32,
        }
    }

    #[inline(always)]
    const fn util_rate(self, running: bool, scale: Scale) -> u32 {
        match (running, self) {
            (false, _) => 0,
            (true, PeltFamily::A | PeltFamily::B) => scale.cpu,
            (true, PeltFamily::C | PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole) => SCHED_CAPACITY_SCALE as u32,
        }
    }

    const fn class_rates(self, running: bool, scale: Scale) -> Rates {
        let on = running as u64;
        let runnable = match self {
            PeltFamily::A | PeltFamily::B | PeltFamily::C => on,
            PeltFamily::DSynced | PeltFamily::D | PeltFamily::DWhole => on << SCHED_CAPACITY_SHIFT,
        };
        Rates { load: on, runnable, util: self.util_rate(running, scale) }
    }
}
