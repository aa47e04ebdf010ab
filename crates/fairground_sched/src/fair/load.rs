//! Load tracking of entities and queues: when it is updated, and what moves with a task.

use crate::Sched;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use crate::fair::group::Tell;
use crate::fair::level::Level;
use crate::fair::steps::step;
use crate::fair::weight::LoadWeight;
use crate::fair::{CfsRq, DequeueFlags, SchedEntity};
use crate::pelt::{CfsRqLoad, PeltFamily, SeLoad, UtilEstSample};
use crate::profile::Profile;
use crate::seam::{AttachNew, DelayedUtilEst, GroupLoad, MigrateDetach, ScaleLoadDown, SleeperClock};
use fairground_model::features::Feat;
use fairground_model::{Op, QueueAct, TraceEvent};
use fairground_stdx::{CfsRqId, Ns, SeId, TaskId};

/// A period of load tracking, in ns.
///
/// Kernel: pelt.c ___update_load_sum(), v4.12–
const PERIOD_NS: u64 = 1 << 20;

impl Sched {
    /// Ages an entity and its queue, attaches one that comes from elsewhere, and lets what happened go up through groups.
    ///
    /// Kernel: fair.c update_load_avg(), v4.12–
    #[inline]
    pub(crate) fn update_load_avg(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, tell: Tell) {
        step("update_load_avg");
        if cx.trace.wants_samples() {
            self.tell_clock(cx, self.cfs_rqs[self.ses[se].cfs_rq].cpu);
        }
        let mut level = self.level(se);
        let decayed = level.age(cx);
        let root_of = (decayed && level.cfs_rq.tg.is_none()).then_some(level.cfs_rq.cpu);
        if level.se.my_q.is_some() || level.cfs_rq.tg.is_some() {
            self.update_load_of_groups(cx, se, decayed, tell);
        }
        if let Some(cpu) = root_of {
            self.cfs_rq_util_change(cx, cpu);
        }
    }

    /// Ages a queue, without what sleepers took away. True: its averages are others.
    ///
    /// Kernel: fair.c update_cfs_rq_load_avg(), v4.12–
    pub(crate) fn update_cfs_rq_load_avg(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId) -> bool {
        if cx.trace.wants_samples() {
            self.tell_clock(cx, self.cfs_rqs[cfs_rq].cpu);
        }
        let (pelt, down) = (self.profile.pelt, self.profile.scale_load_down);
        let (queue, avg) = (&mut self.cfs_rqs[cfs_rq], &mut self.pelt_cfs[cfs_rq]);
        let now = self.bandwidth.clock_pelt(cfs_rq, self.rqs[queue.cpu].clocks.pelt(self.profile.pelt_clock));
        self.group_stats.cpu_changes(queue.cpu);
        let removed = pelt.consume_removed(avg, &mut queue.removed);
        if let Some(sum) = removed {
            queue.add_tg_cfs_propagate(sum);
        }
        cx.meter.count_n(Op::PeltScale, pelt.scalings(now, avg));
        pelt.update_cfs_rq(now, avg, queue.pelt_load(pelt, down), cx.scale(queue.cpu)) || removed.is_some()
    }

    /// Gives a new task its first utilisation and attaches it to the queue that was chosen, if its enqueue does not do that.
    /// A kernel thread is not new: it comes with averages of 0.
    ///
    /// Kernel: fair.c post_init_entity_util_avg(), v4.12–
    pub(crate) fn post_init_entity_util_avg(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
        let cfs_rq = self.ses[se].cfs_rq;
        let (pelt, weight) = (self.profile.pelt, self.ses[se].load.weight());
        let detached = !self.is_fair(task);
        if detached && self.profile.attach_new == AttachNew::AtEnqueue {
            return self.begin_detached(task);
        }
        if !self.tasks[task].kthread {
            let capacity = cx.machine.cpus[cpu].capacity;
            pelt.post_init(self.profile.post_init, &mut self.pelt_se[se], &self.pelt_cfs[cfs_rq], capacity, weight);
        }
        if detached {
            self.begin_detached(task);
        } else if self.profile.attach_new == AttachNew::BeforeEnqueue {
            self.attach_entity_cfs_rq(cx, se);
        }
    }

    /// Adds the averages of an entity that is on no queue to those of its queue, and of all above it.
    ///
    /// Kernel: fair.c attach_entity_cfs_rq(), v4.12–
    pub(crate) fn attach_entity_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        self.age_before_change(cx, cfs_rq);
        let weight = self.profile.scale_load_down.apply(self.ses[se].load.weight());
        let sum = self.profile.pelt.attach(&mut self.pelt_cfs[cfs_rq], &mut self.pelt_se[se], weight);
        self.cfs_rqs[cfs_rq].add_tg_cfs_propagate(sum);
        self.tell_group(cx, cfs_rq);
        self.propagate_entity_cfs_rq(cx, se);
        self.cfs_rq_util_change(cx, self.cfs_rqs[cfs_rq].cpu);
    }

    /// Ages a queue before an entity joins its averages or leaves them. If they are others by that, schedutil looks, still without the
    /// change: it may ask for a frequency then, and its rate limit begins.
    ///
    /// Kernel: fair.c update_load_avg() in attach_entity_cfs_rq() and detach_entity_cfs_rq(), v4.12–
    fn age_before_change(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId) {
        // One that nobody has used counts as aged up to the beginning: no period of it is over before so long.
        let first = self.pelt_cfs[cfs_rq].last_update_time < SCHED_CLOCK_AT_START;
        let decayed = self.update_cfs_rq_load_avg(cx, cfs_rq);
        let aged = self.pelt_cfs[cfs_rq].last_update_time.saturating_sub(SCHED_CLOCK_AT_START);
        if decayed && (!first || aged >= PERIOD_NS) && self.cfs_rqs[cfs_rq].tg.is_none() {
            self.cfs_rq_util_change(cx, self.cfs_rqs[cfs_rq].cpu);
        }
    }

    /// A sleeper leaves its CPU, or a task ends: it is aged up to what that CPU's queue knows, and is noted in the `removed`
    /// that the queue empties at its next update.
    ///
    /// Kernel: fair.c remove_entity_load_avg(), v4.12–
    pub(crate) fn remove_entity_load_avg(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        self.sync_entity(cx, se, self.pelt_cfs[cfs_rq].last_update_time);
        self.profile.pelt.remove(&mut self.cfs_rqs[cfs_rq].removed, &mut self.pelt_se[se]);
    }

    /// A sleeper that was removed from an idle CPU: the queue's time has stood still there since nobody looked, and the sleeper is
    /// aged by an estimate of that. What was removed stays as it was.
    ///
    /// Kernel: fair.c migrate_se_pelt_lag(), v6.0–
    pub(crate) fn migrate_se_pelt_lag(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        let cpu = self.cfs_rqs[cfs_rq].cpu;
        let (rq, still) = (&self.rqs[cpu], self.bandwidth.stood_still(cfs_rq));
        if self.profile.sleeper_clock == SleeperClock::AsRead || rq.curr.is_some() || still == u64::MAX {
            return;
        }
        let queue_time = self.pelt_cfs[cfs_rq].last_update_time;
        let now = cx.sched_clock_cpu(cpu);
        if cx.trace.wants_samples() && !self.groups.is_empty() {
            let clock = Ns(rq.clocks.clock_task + now.saturating_sub(rq.clocks.clock));
            cx.record(TraceEvent::QueueAct { act: QueueAct::Read, cpu, clock, group: None, task: None });
        }
        let now = rq.clocks.idle_estimate(now, still, queue_time);
        self.pelt_se[se].last_update_time = queue_time;
        self.sync_entity(cx, se, now);
    }

    /// Ages an entity that joins the averages of its queue or leaves them, and is on no queue. That is no blocked update in the kernel:
    /// its utilisation counts as changed, so that the next sleep is a sample.
    ///
    /// Kernel: fair.c update_load_avg() in attach_entity_cfs_rq() and detach_entity_cfs_rq(), v4.12–
    pub(super) fn age_unqueued_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let now = self.cfs_rq_clock_pelt(self.ses[se].cfs_rq);
        let updated = self.sync_entity(cx, se, now);
        self.pelt_se[se].util_est.unchanged &= !updated;
    }

    /// Takes the averages of an entity that is on no queue off those of its queue, and of all above it.
    ///
    /// Kernel: fair.c detach_entity_cfs_rq(), v4.12–
    pub(crate) fn detach_entity_cfs_rq(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        if self.pelt_se[se].last_update_time == 0 {
            return;
        }
        let cfs_rq = self.ses[se].cfs_rq;
        self.age_unqueued_entity(cx, se);
        self.age_before_change(cx, cfs_rq);
        self.detach_entity_load_avg(cx, se);
        self.propagate_entity_cfs_rq(cx, se);
        self.cfs_rq_util_change(cx, self.cfs_rqs[cfs_rq].cpu);
    }

    /// Ages an entity that is being dequeued. A task that goes to another CPU takes its part of the averages with it at once, if that
    /// is done here: its group is told once, of what is left. A queue tells once in 1 ms only, so what it told before that would stand.
    ///
    /// Kernel: fair.c dequeue_entity(), update_load_avg() with DO_DETACH, v6.0–
    pub(crate) fn update_load_avg_at_dequeue(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, flags: DequeueFlags) {
        let attached = self.ses[se].task.is_some() && self.pelt_se[se].last_update_time != 0;
        let detaches = attached && self.profile.migrate_detach == MigrateDetach::WithDequeue;
        if !detaches || !flags.has(DequeueFlags::MIGRATING) {
            return self.update_load_avg(cx, se, Tell::Group);
        }
        let cpu = self.cfs_rqs[self.ses[se].cfs_rq].cpu;
        if cx.trace.wants_samples() {
            self.tell_clock(cx, cpu);
        }
        self.level(se).age(cx);
        self.detach_entity_load_avg(cx, se);
        self.pelt_se[se].last_update_time = 0;
        self.cfs_rq_util_change(cx, cpu);
    }

    /// Takes the averages of an entity, which are up to date, off those of its queue.
    ///
    /// Kernel: fair.c detach_entity_load_avg(), v4.12–
    pub(crate) fn detach_entity_load_avg(&mut self, cx: &mut Ctx<'_, '_>, se: SeId) {
        let cfs_rq = self.ses[se].cfs_rq;
        let weight = self.profile.scale_load_down.apply(self.ses[se].load.weight());
        let sum = self.profile.pelt.detach(&mut self.pelt_cfs[cfs_rq], &self.pelt_se[se], weight);
        self.cfs_rqs[cfs_rq].add_tg_cfs_propagate(sum);
        self.tell_group(cx, cfs_rq);
    }

    /// Ages a sleeping task up to what its CPU's queue knows.
    ///
    /// Kernel: fair.c sync_entity_load_avg(), v4.12–
    pub(crate) fn sync_entity_load_avg(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId) {
        let se = self.tasks[task].se;
        let now = self.pelt_cfs[self.ses[se].cfs_rq].last_update_time;
        self.sync_entity(cx, se, now);
    }

    /// Ages a blocked entity to `now`. Whether its averages are others.
    ///
    /// Kernel: fair.c sync_entity_load_avg(), v4.12–
    pub(super) fn sync_entity(&mut self, cx: &mut Ctx<'_, '_>, se: SeId, now: u64) -> bool {
        let scale = cx.scale(self.cfs_rqs[self.ses[se].cfs_rq].cpu);
        let weight = self.profile.scale_load_down.apply(self.ses[se].load.weight());
        cx.meter.count_n(Op::PeltScale, self.profile.pelt.scalings(now, &self.pelt_se[se]));
        self.profile.pelt.update_blocked_se(now, &mut self.pelt_se[se], weight, weight, scale)
    }

    /// Changes the weight of an entity that is on no queue; its share of the queue's load follows.
    ///
    /// Kernel: fair.c reweight_entity(), v4.15– (v4.12 changes the weight alone)
    pub(crate) fn reweight_entity(&mut self, se: SeId, load: LoadWeight) {
        let down = self.profile.scale_load_down;
        let cfs_rq = self.ses[se].cfs_rq;
        let (old, new) = (down.apply(self.ses[se].load.weight()), down.apply(load.weight()));
        if self.profile.place.keeps_lag() {
            self.ses[se].scale_lag(&self.profile, load);
        }
        self.ses[se].load = load;
        if self.pelt_se[se].last_update_time != 0 {
            self.group_stats.cpu_changes(self.cfs_rqs[cfs_rq].cpu);
            self.profile.pelt.reweight(&mut self.pelt_cfs[cfs_rq], &mut self.pelt_se[se], old, new, new);
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

    /// Kernel: fair.c util_est_dequeue(), v4.17–
    #[inline]
    pub(crate) fn util_est_dequeue(&mut self, task: TaskId) {
        if self.profile.feats.has(Feat::UTIL_EST) {
            let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
            self.group_stats.cpu_changes(cpu);
            self.profile.util_est.dequeue(&mut self.pelt_cfs[self.rqs[cpu].cfs], &self.pelt_se[se]);
        }
    }

    /// `task` goes to sleep: a sample of its utilisation.
    ///
    /// Kernel: fair.c util_est_update(), v4.17–
    #[inline]
    pub(crate) fn util_est_update(&mut self, cx: &Ctx<'_, '_>, task: TaskId) {
        if self.profile.feats.has(Feat::UTIL_EST) {
            let (se, cpu) = (self.tasks[task].se, self.tasks[task].cpu);
            let fastup = self.profile.feats.has(Feat::UTIL_EST_FASTUP);
            self.profile.util_est.update(&mut self.pelt_se[se], cx.machine.cpus[cpu].capacity, fastup);
        }
    }

    /// `task`, whose dequeue is put off, leaves the fair class, and goes through the dequeue of a task that falls asleep once more.
    ///
    /// Kernel: core.c __sched_setscheduler() with fair.c dequeue_task_fair(), v6.12–
    pub(crate) fn util_est_of_delayed(&mut self, cx: &Ctx<'_, '_>, task: TaskId) {
        let rule = self.profile.delayed_util_est;
        if rule == DelayedUtilEst::SampledAndTakenOff {
            self.util_est_dequeue(task);
        }
        if rule != DelayedUtilEst::LeftAlone {
            self.util_est_update(cx, task);
        }
    }

    /// `se`, whose averages have just been brought up to date, goes to sleep: the sample of a task is due here where it is taken
    /// within the dequeue.
    ///
    /// Kernel: fair.c update_load_avg() with UPDATE_UTIL_EST, v7.2–
    #[inline]
    pub(crate) fn sample_within_dequeue(&mut self, cx: &Ctx<'_, '_>, se: SeId, flags: DequeueFlags) {
        let falls_asleep = flags.has(DequeueFlags::SLEEP) && !flags.has(DequeueFlags::DELAYED);
        if let (UtilEstSample::WithinDequeue, true, Some(task)) = (self.profile.util_est_sample, falls_asleep, self.ses[se].task)
        {
            self.util_est_update(cx, task);
        }
    }
}

impl SchedEntity {
    /// What it feeds into its average.
    #[inline]
    pub(super) fn pelt_load(&self, profile: &Profile, running: bool) -> SeLoad {
        let weight = profile.scale_load_down.apply(self.load.weight());
        let runnable = match (profile.group_load, self.my_q) {
            (GroupLoad::RunnableAvg, _) if self.sched_delayed => 0,
            (GroupLoad::RunnableAvg, None) => 1,
            (GroupLoad::RunnableAvg, Some(_)) => self.runnable_weight,
            (GroupLoad::Reweighted, Some(_)) => profile.scale_load_down.apply(self.runnable_weight),
            (GroupLoad::Reweighted, None) | (GroupLoad::Independent, Some(_)) => weight,
            (GroupLoad::Independent, None) | (GroupLoad::ViaLoadAvg, _) => 0,
        };
        SeLoad { on_rq: self.on_rq, running, runnable, weight }
    }

    /// Families B and C: the second weight, times 1024. That of a task is its weight.
    #[inline]
    pub(crate) fn runnable_weight(&self) -> u64 {
        if self.my_q.is_some() { self.runnable_weight } else { self.load.weight() }
    }
}

impl CfsRq {
    /// What it feeds into its average.
    #[inline]
    pub(super) fn pelt_load(&self, pelt: PeltFamily, down: ScaleLoadDown) -> CfsRqLoad {
        let weight = down.apply(self.load.weight());
        let runnable = pelt.queue_runnable(self.h_nr_runnable, down.apply(self.runnable_weight), weight);
        CfsRqLoad { weight, runnable, running: self.curr.is_some() }
    }
}

impl Level<'_> {
    /// The entity, which comes onto its queue, counts in the queue's runnable load; with `independent` of seam `group_load`
    /// tasks only.
    ///
    /// Kernel: fair.c enqueue_runnable_load_avg(), v4.12–v5.6
    #[inline]
    pub(super) fn enqueue_runnable_load_avg(&mut self) {
        if self.counts_in_runnable_load() {
            step("enqueue_runnable_load_avg");
            let weight = self.se.runnable_weight();
            self.cfs_rq.runnable_weight += weight;
            self.profile.pelt.enqueue_runnable_load(self.cfs_avg, self.se_avg, self.profile.scale_load_down.apply(weight));
        }
    }

    /// Kernel: fair.c dequeue_runnable_load_avg(), v4.12–v5.6
    #[inline]
    pub(super) fn dequeue_runnable_load_avg(&mut self) {
        if self.counts_in_runnable_load() {
            let weight = self.se.runnable_weight();
            self.cfs_rq.runnable_weight -= weight;
            self.profile.pelt.dequeue_runnable_load(self.cfs_avg, self.se_avg, self.profile.scale_load_down.apply(weight));
        }
    }

    #[inline]
    fn counts_in_runnable_load(&self) -> bool {
        match self.profile.group_load {
            GroupLoad::ViaLoadAvg | GroupLoad::Reweighted => true,
            GroupLoad::Independent => self.se.my_q.is_none(),
            GroupLoad::RunnableAvg => false,
        }
    }
}
