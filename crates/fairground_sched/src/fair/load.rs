//! Load tracking of entities and queues: when it is updated, and what moves with a task.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::weight::{LoadWeight, ScaleLoadDown};
use crate::fair::{CfsRq, SchedEntity};
use crate::features::Feat;
use crate::pelt::{CfsRqLoad, PeltClockRule, PeltFamily, SeLoad};
use crate::seam::Place;
use fairground_stdx::{CfsRqId, SeId, TaskId};

impl Sched {
    /// Kernel: fair.c update_cfs_rq_load_avg(), v4.12–
    pub(crate) fn update_cfs_rq_load_avg(&mut self, cx: &Ctx<'_, '_>, cfs_rq: CfsRqId) {
        let (pelt, down) = (self.profile.pelt, self.profile.scale_load_down);
        let (queue, avg) = (&mut self.cfs_rqs[cfs_rq], &mut self.pelt_cfs[cfs_rq]);
        let now = self.rqs[queue.cpu].clocks.pelt(self.profile.pelt_clock);
        self.group_stats.cpu_changes(queue.cpu);
        pelt.consume_removed(avg, &mut queue.removed);
        pelt.update_cfs_rq(now, avg, queue.pelt_load(pelt, down), cx.scale(queue.cpu));
    }

    /// Gives a new task its first utilisation and attaches it to the queue that was chosen. A kernel thread is not new: it
    /// comes with averages of 0.
    ///
    /// Kernel: fair.c post_init_entity_util_avg(), v4.12–
    pub(crate) fn post_init_entity_util_avg(&mut self, cx: &Ctx<'_, '_>, task: TaskId) {
        let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
        let cfs_rq = self.ses[se].cfs_rq;
        let (pelt, weight) = (self.profile.pelt, self.ses[se].load.weight());
        if !self.tasks[task].kthread {
            let capacity = cx.machine.cpus[cpu].capacity;
            pelt.post_init(self.profile.post_init, &mut self.pelt_se[se], &self.pelt_cfs[cfs_rq], capacity, weight);
        }
        self.update_cfs_rq_load_avg(cx, cfs_rq);
        let weight = self.profile.scale_load_down.apply(weight);
        pelt.attach(&mut self.pelt_cfs[cfs_rq], &mut self.pelt_se[se], weight);
    }

    /// A sleeper leaves its CPU: it is aged up to what that CPU's queue knows, and goes into the box
    /// that the queue empties at its next update.
    ///
    /// Kernel: fair.c remove_entity_load_avg(), migrate_se_pelt_lag() from v6.0, v4.12–
    pub(crate) fn remove_entity_load_avg(&mut self, cx: &Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        let cpu = self.cfs_rqs[cfs_rq].cpu;
        let queue_time = self.pelt_cfs[cfs_rq].last_update_time;
        let rq = &self.rqs[cpu];
        let now = match self.profile.pelt_clock {
            PeltClockRule::RqClockPeltIdle if rq.curr.is_none() => rq.clocks.idle_estimate(cx.sched_clock(), 0, queue_time),
            _ => queue_time,
        };
        self.sync_entity(cx, se, now);
        self.profile.pelt.remove(&mut self.cfs_rqs[cfs_rq].removed, &mut self.pelt_se[se]);
    }

    /// A runnable task leaves its queue for another CPU's.
    ///
    /// Kernel: fair.c detach_entity_cfs_rq(), v4.12–
    pub(crate) fn detach_entity_cfs_rq(&mut self, cx: &Ctx<'_, '_>, se: SeId) {
        if self.pelt_se[se].last_update_time == 0 {
            return;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        let now = self.rqs[self.cfs_rqs[cfs_rq].cpu].clocks.pelt(self.profile.pelt_clock);
        self.sync_entity(cx, se, now);
        self.update_cfs_rq_load_avg(cx, cfs_rq);
        let weight = self.profile.scale_load_down.apply(self.ses[se].load.weight());
        self.profile.pelt.detach(&mut self.pelt_cfs[cfs_rq], &self.pelt_se[se], weight);
    }

    /// Ages a sleeping task up to what its CPU's queue knows.
    ///
    /// Kernel: fair.c sync_entity_load_avg(), v4.12–
    pub(crate) fn sync_entity_load_avg(&mut self, cx: &Ctx<'_, '_>, task: TaskId) {
        let se = self.tasks[task].se;
        let now = self.pelt_cfs[self.ses[se].cfs_rq].last_update_time;
        self.sync_entity(cx, se, now);
    }

    /// Ages a blocked entity to `now`.
    ///
    /// Kernel: fair.c sync_entity_load_avg(), v4.12–
    fn sync_entity(&mut self, cx: &Ctx<'_, '_>, se: SeId, now: u64) {
        let scale = cx.scale(self.cfs_rqs[self.ses[se].cfs_rq].cpu);
        let weight = self.profile.scale_load_down.apply(self.ses[se].load.weight());
        self.profile.pelt.update_blocked_se(now, &mut self.pelt_se[se], weight, weight, scale);
    }

    /// Changes the weight of an entity that is on no queue; its share of the queue's load follows.
    ///
    /// Kernel: fair.c reweight_entity(), v4.15– (v4.12 changes the weight alone)
    pub(crate) fn reweight_entity(&mut self, se: SeId, load: LoadWeight) {
        let down = self.profile.scale_load_down;
        let cfs_rq = self.ses[se].cfs_rq;
        let (old, new) = (down.apply(self.ses[se].load.weight()), down.apply(load.weight()));
        if self.profile.place == Place::Lag {
            self.ses[se].scale_lag(load);
        }
        self.ses[se].load = load;
        if self.pelt_se[se].last_update_time != 0 {
            self.group_stats.cpu_changes(self.cfs_rqs[cfs_rq].cpu);
            self.profile.pelt.reweight(&mut self.pelt_cfs[cfs_rq], &mut self.pelt_se[se], old, new);
        } else {
            self.profile.pelt.init_task(&mut self.pelt_se[se], new);
        }
    }

    /// Kernel: fair.c util_est_enqueue(), v4.17–
    pub(crate) fn util_est_enqueue(&mut self, task: TaskId) {
        if self.profile.feats.has(Feat::UTIL_EST) {
            let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
            self.group_stats.cpu_changes(cpu);
            self.profile.util_est.enqueue(&mut self.pelt_cfs[self.rqs[cpu].cfs], &self.pelt_se[se]);
        }
    }

    /// Kernel: fair.c util_est_dequeue(), util_est_update(), v4.17–
    #[inline]
    pub(crate) fn util_est_dequeue(&mut self, cx: &Ctx<'_, '_>, task: TaskId, sleep: bool) {
        if !self.profile.feats.has(Feat::UTIL_EST) {
            return;
        }
        let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
        let rule = self.profile.util_est;
        self.group_stats.cpu_changes(cpu);
        rule.dequeue(&mut self.pelt_cfs[self.rqs[cpu].cfs], &self.pelt_se[se]);
        if sleep {
            let fastup = self.profile.feats.has(Feat::UTIL_EST_FASTUP);
            rule.update(&mut self.pelt_se[se], cx.machine.cpus[cpu].capacity, fastup);
        }
    }
}

impl SchedEntity {
    /// What it feeds into its average.
    #[inline]
    pub(super) fn pelt_load(&self, pelt: PeltFamily, down: ScaleLoadDown, running: bool) -> SeLoad {
        let weight = down.apply(self.load.weight());
        let runnable = match (pelt, self.my_q) {
            (PeltFamily::D, None) => u64::from(!self.sched_delayed),
            (PeltFamily::D, Some(_)) => u64::from(self.runnable_tasks),
            (PeltFamily::A | PeltFamily::B | PeltFamily::C, _) => weight,
        };
        SeLoad { on_rq: self.on_rq, running, runnable, weight }
    }
}

impl CfsRq {
    /// What it feeds into its average.
    #[inline]
    pub(super) fn pelt_load(&self, pelt: PeltFamily, down: ScaleLoadDown) -> CfsRqLoad {
        let weight = down.apply(self.load.weight());
        let runnable = match pelt {
            PeltFamily::D => u64::from(self.h_nr_runnable),
            PeltFamily::A | PeltFamily::B | PeltFamily::C => weight,
        };
        CfsRqLoad { weight, runnable, running: self.curr.is_some() }
    }
}
