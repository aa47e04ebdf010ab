//! The rows of one entity and its queue, looked up once for everything that happens to them together.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::balance::GroupStats;
use crate::fair::bandwidth::Bandwidth;
use crate::fair::tunables::EffectiveTunables;
use crate::fair::{CfsRq, SchedEntity};
use crate::pelt::{CfsRqLoad, SchedAvg, SeLoad};
use crate::profile::Profile;
use crate::rq::Rq;
use fairground_model::{Op, TraceEvent};
use fairground_stdx::SeId;

/// An entity on its queue. The kernel passes the two pointers; from here the other rows are one step away.
pub(crate) struct Level<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) tunables: &'a EffectiveTunables,
    pub(crate) rq: &'a mut Rq,
    pub(crate) cfs_rq: &'a mut CfsRq,
    pub(crate) cfs_avg: &'a mut SchedAvg,
    pub(crate) id: SeId,
    pub(crate) se: &'a mut SchedEntity,
    pub(crate) se_avg: &'a mut SchedAvg,
    pub(crate) group_stats: &'a mut GroupStats,
    pub(crate) bandwidth: &'a Bandwidth,
}

impl Sched {
    /// The rows of `se` and its queue.
    #[inline(always)]
    pub(crate) fn level(&mut self, id: SeId) -> Level<'_> {
        let se = &mut self.ses[id];
        let cfs_rq = &mut self.cfs_rqs[se.cfs_rq];
        Level {
            profile: &self.profile,
            tunables: &self.tunables,
            rq: &mut self.rqs[cfs_rq.cpu],
            cfs_avg: &mut self.pelt_cfs[se.cfs_rq],
            cfs_rq,
            id,
            se_avg: &mut self.pelt_se[id],
            group_stats: &mut self.group_stats,
            bandwidth: &self.bandwidth,
            se,
        }
    }
}

impl Level<'_> {
    /// Ages a running task and its queue, a root queue, where no clock of a queue ever stands. Mostly both were updated last at the
    /// same time, a few periods ago.
    ///
    /// Kernel: fair.c update_load_avg(), v4.12–
    #[inline(always)]
    pub(crate) fn age_plain(&mut self, cx: &mut Ctx<'_, '_>) {
        let Level { profile, rq, cfs_rq, cfs_avg, se, se_avg, group_stats, .. } = self;
        let (pelt, down) = (profile.pelt, profile.scale_load_down);
        let now = rq.clocks.pelt(profile.pelt_clock);
        if cfs_rq.removed.nr == 0 && se_avg.last_update_time != 0 && se.on_rq {
            let load = SeLoad { on_rq: true, ..se.pelt_load(profile, true) };
            let queue_load = CfsRqLoad { running: true, ..cfs_rq.pelt_load(pelt, down) };
            let scale = cx.scale(cfs_rq.cpu);
            if pelt.update_se_and_cfs_rq_by_few_periods(now, (se_avg, load), (cfs_avg, queue_load), scale) {
                group_stats.cpu_changes(cfs_rq.cpu);
                if pelt.scales_contributions() {
                    cx.meter.count_n(Op::PeltScale, 2);
                }
                return;
            }
        }
        self.age(cx);
    }

    /// As [`Level::age_plain`] where mostly no period has ended since the last update: a tick has just been.
    #[inline(always)]
    pub(crate) fn age_at_switch(&mut self, cx: &mut Ctx<'_, '_>) {
        let Level { profile, rq, cfs_rq, cfs_avg, se_avg, group_stats, .. } = self;
        let (pelt, now) = (profile.pelt, rq.clocks.pelt(profile.pelt_clock));
        let same = (se_avg.last_update_time, se_avg.period_contrib) == (cfs_avg.last_update_time, cfs_avg.period_contrib);
        // Less than a unit of load tracking, which is kept for the next update.
        if same && cfs_rq.removed.nr == 0 && se_avg.last_update_time != 0 && pelt.is_up_to_date(now, se_avg) {
            return group_stats.cpu_changes(cfs_rq.cpu);
        }
        self.age(cx);
    }

    /// Ages an entity whose queue has just been aged up to now: nothing is to be done there.
    ///
    /// Kernel: fair.c update_load_avg(), v4.12–
    #[inline(always)]
    pub(crate) fn age_on_aged_queue(&mut self, cx: &mut Ctx<'_, '_>) {
        let Level { profile, rq, cfs_rq, cfs_avg, se, se_avg, .. } = self;
        let (pelt, now) = (profile.pelt, rq.clocks.pelt(profile.pelt_clock));
        if cfs_rq.removed.nr != 0 || se_avg.last_update_time == 0 || !pelt.is_up_to_date(now, cfs_avg) {
            self.age(cx);
            return;
        }
        cx.meter.count_n(Op::PeltScale, pelt.scalings(now, se_avg));
        pelt.update_waiting_se(now, se_avg, se.pelt_load(profile, false), cx.scale(cfs_rq.cpu));
    }

    /// Ages the entity and its queue; an entity that comes from elsewhere is attached. True: the queue's averages are others.
    ///
    /// Kernel: fair.c update_load_avg() but for groups, v4.12–
    // One copy for all callers: inlined, it would take the registers that the tick needs.
    #[inline(never)]
    pub(crate) fn age(&mut self, cx: &mut Ctx<'_, '_>) -> bool {
        let Level { profile, rq, cfs_rq, cfs_avg, id, se, se_avg, group_stats, bandwidth, .. } = self;
        group_stats.cpu_changes(cfs_rq.cpu);
        let (pelt, down) = (profile.pelt, profile.scale_load_down);
        let now = bandwidth.clock_pelt(se.cfs_rq, rq.clocks.pelt(profile.pelt_clock));
        let scale = cx.scale(cfs_rq.cpu);
        let (load, queue_load) = (se.pelt_load(profile, cfs_rq.curr == Some(*id)), cfs_rq.pelt_load(pelt, down));
        let removed = pelt.consume_removed(cfs_avg, &mut cfs_rq.removed);
        if let Some(sum) = removed {
            cfs_rq.add_tg_cfs_propagate(sum);
        }
        let scalings = pelt.scalings(now, cfs_avg);
        let decayed = if se_avg.last_update_time != 0 {
            cx.meter.count_n(Op::PeltScale, scalings + pelt.scalings(now, se_avg));
            pelt.update_se_and_cfs_rq(now, (se_avg, load), (cfs_avg, queue_load), scale)
        } else {
            cx.meter.count_n(Op::PeltScale, scalings);
            pelt.update_cfs_rq(now, cfs_avg, queue_load, scale);
            let sum = pelt.attach(cfs_avg, se_avg, load.weight);
            cfs_rq.add_tg_cfs_propagate(sum);
            true
        };
        if let (Some(task), true) = (se.task, cx.trace.wants_samples()) {
            cx.trace.record(cx.now, cfs_rq.cpu, TraceEvent::SeSample { task, util_avg: se_avg.util_avg });
        }
        decayed || removed.is_some()
    }
}
