//! The tick of most ticks: a task of the root group runs, and nothing else on the machine has to do with it.
//!
//! It does what the general way does, in the same order and by the same rules, but the rows of the task and its queue are looked
//! up once, and what cannot be the case here is not asked again. [`Sched::plain_tick_of`] asks it before.

use super::cfs_slice::tick_preempt_reason;
use super::gives_way;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::group::Tell;
use crate::seam::TickPreempt;
use fairground_model::Reason;
use fairground_model::features::Feat;
use fairground_stdx::{SeId, TaskId};

impl Sched {
    /// Chooses how ticks and switches go from now on: the short way, if that is `wanted` and the machine has no groups, governors that
    /// look, lost capacity, capacities that differ or energy model. For switches no server of fair tasks may count either. To be asked
    /// again after each change of these; without it, all go the long way.
    pub fn choose_short_ways(&mut self, wanted: bool) {
        self.plain_ticks = wanted && self.ticks_may_be_plain();
        self.plain_switches = self.plain_ticks && self.switches_may_be_plain();
    }

    /// Whether nothing of that is there which concerns switches alone.
    pub(crate) fn switches_may_be_plain(&self) -> bool {
        !self.dl_root.serves
    }

    /// Whether nothing of that is there.
    pub(crate) fn ticks_may_be_plain(&self) -> bool {
        self.groups.is_empty()
            && !self.cpufreq.looks
            && !self.has_pressure
            && !self.topology.asym_cpucap_active
            && !self.sched_energy_enabled()
    }

    /// The task whose tick goes the short way: a fair one that runs on `cx.cpu`, where no reschedule is due, and no server counts.
    /// Nobody wants samples.
    #[inline(always)]
    pub(crate) fn plain_tick_of(&self, cx: &Ctx<'_, '_>) -> Option<TaskId> {
        let rq = &self.rqs[cx.cpu];
        let task = rq.curr.filter(|_| self.plain_ticks && !cx.trace.wants_samples())?;
        let queue = !(rq.need_resched || rq.need_resched_lazy || self.fair_server_counts(cx.cpu));
        (queue && self.is_fair(task)).then_some(task)
    }

    /// The tick of the fair class where [`Sched::plain_tick_of`] has a task, with the clocks of its CPU.
    ///
    /// Kernel: core.c scheduler_tick(), fair.c task_tick_fair(), v4.12–
    #[inline(always)]
    pub(crate) fn task_tick_plain(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let (cpu, curr) = (cx.cpu, self.tasks[task].se);
        let mut level = self.level(curr);
        let cfs = &*level.cfs_avg;
        level.rq.move_clocks(cx, level.profile, cpu, |_| *cfs);
        match level.profile.tick_preempt {
            TickPreempt::Deadline => {
                if let (_, Some(reason)) = level.account_request_here(cx) {
                    return self.turn_ends_plain(cx, curr, reason);
                }
                cx.decide_who(level.turn_goes_on(), task.get(), 0);
                level.age_plain(cx);
            }
            TickPreempt::CfsSlice | TickPreempt::AlignRightmost => {
                level.account(cx);
                level.age_plain(cx);
                if level.rq.hrtick.is_armed() && !level.profile.feats.has(Feat::DOUBLE_TICK) {
                    return cx.decide_who(Reason::TickLeftToHrtick, task.get(), 0);
                }
                if level.cfs_rq.nr_running == 1 {
                    return cx.decide_who(Reason::TickAlone, task.get(), 0);
                }
                if level.cfs_rq.idle_nr_running > 0 || !level.se.on_rq {
                    return self.check_preempt_tick(cx, curr);
                }
                let ideal = level.root_slice();
                let (mut reason, mut against) =
                    tick_preempt_reason(level.cfs_rq, level.se, ideal, level.tunables.min_granularity_ns);
                if gives_way(reason) {
                    let cfs_rq = level.se.cfs_rq;
                    (reason, against) = self.slice_is_over(cx, curr, cfs_rq, (reason, against));
                }
                cx.decide_who(reason, task.get(), against.map_or(0, |se| self.ses[se].who()));
            }
        }
    }

    #[inline(never)]
    fn turn_ends_plain(&mut self, cx: &mut Ctx<'_, '_>, curr: SeId, reason: Reason) {
        self.end_turn(cx, curr, reason);
        self.update_load_avg(cx, curr, Tell::Group);
    }
}
