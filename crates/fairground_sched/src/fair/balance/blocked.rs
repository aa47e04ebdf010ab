//! Ageing the averages of a CPU from outside: those of its sleepers would stand still while nothing happens there.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::FreqBlocked;
use fairground_model::{Op, QueueAct};
use fairground_stdx::CpuId;

impl Sched {
    /// Brings clock and averages of `cpu` up to now, under its lock, and notes whether anything is left to age.
    ///
    /// Kernel: fair.c update_blocked_averages(), v4.12– (sched_balance_update_blocked_averages() from v6.10)
    pub fn update_blocked_averages(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.count_rq_lock(cx, cpu);
        self.update_rq_clock(cx, cpu);
        self.age_blocked_averages(cx, cpu);
    }

    /// Brings the averages of `cpu` up to its clock, and notes whether anything is left to age. Its lock is held.
    ///
    /// Kernel: fair.c __sched_balance_update_blocked_averages(), v7.2– (in update_blocked_averages() before)
    pub(crate) fn age_blocked_averages(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if cx.trace.wants_samples() && !self.rqs[cpu].leaf_cfs_rqs.is_empty() {
            self.rqs[cpu].told_clock = self.rqs[cpu].clocks.clock_task;
            self.tell(cx, cpu, QueueAct::Age, (None, None));
        }
        self.count_scalings_of_others(cx, cpu);
        let others = self.update_blocked_others(cx, cpu);
        let in_groups = self.update_blocked_groups(cx, cpu);
        // A root queue in which nothing is left stands still until somebody comes.
        let (cfs_rq, mut changes) = (self.rqs[cpu].cfs, others && self.profile.cpufreq_blocked == FreqBlocked::AnyClass);
        if self.cfs_rqs[cfs_rq].on_list {
            changes |= self.update_cfs_rq_load_avg(cx, cfs_rq);
            self.cfs_rqs[cfs_rq].on_list = !self.cfs_rq_is_decayed(cfs_rq);
        }
        if changes {
            self.cfs_rq_util_change(cx, cpu);
        }
        if !in_groups && !self.has_blocked(cpu) {
            self.rqs[cpu].lb.has_blocked_load = false;
        }
    }

    /// Ages what the other classes and interrupts used. Whether a period of one of them is over.
    ///
    /// Kernel: fair.c __update_blocked_others(), v5.4– (in update_blocked_averages() before)
    fn update_blocked_others(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) -> bool {
        let (pelt, scale) = (self.profile.pelt, cx.scale(cpu));
        let curr = self.rqs[cpu].curr;
        let (rt_runs, dl_runs) = (curr.is_some_and(|task| self.is_rt(task)), curr.is_some_and(|task| self.is_dl(task)));
        let rq = &mut self.rqs[cpu];
        let now = rq.clocks.pelt(self.profile.pelt_clock);
        let changes = [
            pelt.update_class(now, &mut rq.avg_rt, rt_runs, scale),
            pelt.update_class(now, &mut rq.avg_dl, dl_runs, scale),
            // Without accounting of their time interrupts have no average (HAVE_SCHED_AVG_IRQ).
            cx.machine.irq_time_accounting && pelt.update_irq(rq.clocks.clock, &mut rq.avg_irq, 0, scale),
        ];
        self.update_hw_load_avg(cpu);
        changes.contains(&true)
    }

    /// Counts what ageing the other classes and interrupts scales.
    fn count_scalings_of_others(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let (pelt, rq) = (self.profile.pelt, &self.rqs[cpu]);
        let now = rq.clocks.pelt(self.profile.pelt_clock);
        if pelt.tracks_other_classes() {
            let classes = pelt.scalings(now, &rq.avg_rt) + pelt.scalings(now, &rq.avg_dl);
            cx.meter.count_n(Op::PeltScale, classes + pelt.irq_scalings(rq.clocks.clock, &rq.avg_irq, 0));
        }
    }

    /// Whether any average of a CPU is left that would fall.
    ///
    /// Kernel: fair.c cfs_rq_has_blocked(), others_have_blocked(), v4.17–
    fn has_blocked(&self, cpu: CpuId) -> bool {
        let (rq, cfs) = (&self.rqs[cpu], self.cfs_avg(cpu));
        cfs.load_avg != 0
            || rq.avg_hw.load_avg != 0
            || [cfs, &rq.avg_rt, &rq.avg_dl, &rq.avg_irq].iter().any(|avg| avg.util_avg != 0)
    }
}
