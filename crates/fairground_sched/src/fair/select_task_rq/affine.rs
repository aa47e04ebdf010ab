//! wake_affine(): towards the waker's CPU, or back to the previous one.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::WakeAffine;
use fairground_model::features::Feat;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, SdId};

/// Load and capacity of a node.
struct NodeStats {
    load: i64,
    capacity: i64,
}

/// By how much the previous CPU's load counts more than the waker's, in percent: half of what makes an imbalance.
///
/// 100 + (imbalance_pct - 100) / 2
fn handicap_pct(imbalance_pct: u32) -> i64 {
    100 + (i64::from(imbalance_pct) - 100) / 2
}

/// What the comparison of two CPUs' loads knows.
pub(super) struct WeightRule {
    pub(super) this_load: i64,
    pub(super) prev_load: i64,
    pub(super) this_capacity: i64,
    pub(super) prev_capacity: i64,
    pub(super) task_load: i64,
    /// Load of a waker that will sleep soon.
    pub(super) sync_waker: Option<i64>,
    /// WA_BIAS: imbalance_pct of the domain.
    pub(super) bias: Option<u32>,
}

impl WeightRule {
    /// Whether the waker's CPU has less load per capacity than the previous one, with the task there.
    ///
    /// (this - waker + task) * [100] * prev_capacity < (prev - task) * [handicap] * this_capacity + [1 if sync]
    ///
    /// Kernel: fair.c wake_affine_weight(), v4.14–
    pub(super) fn prefers_this(&self) -> bool {
        let mut this = self.this_load;
        if let Some(waker) = self.sync_waker {
            if waker > this {
                return true;
            }
            this = this.wrapping_sub(waker);
        }
        let (this_pct, prev_pct) = self.bias.map_or((1, 1), |pct| (100, handicap_pct(pct)));
        let this = this.wrapping_add(self.task_load).wrapping_mul(this_pct * self.prev_capacity);
        let prev = self.prev_load.wrapping_sub(self.task_load).wrapping_mul(prev_pct * self.this_capacity);
        this < prev.wrapping_add(i64::from(self.sync_waker.is_some()))
    }
}

impl Sched {
    /// Near which CPU an idle one is searched: this one or the previous one.
    ///
    /// Kernel: fair.c wake_affine(), v4.12–
    pub(super) fn wake_affine(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId) -> CpuId {
        let (target, reason) = match self.profile.wake_affine {
            WakeAffine::CacheOrNodes => self.wake_affine_nodes(cx, placing, sd),
            WakeAffine::IdleThenWeight | WakeAffine::IdleThenWeightOrPrev => self.wake_affine_idle_or_weight(cx, placing, sd),
        };
        if target == placing.this {
            self.topology.domains[sd].stats.ttwu_move_affine += 1;
        }
        cx.decide(reason, Some(placing.task), target.get());
        target
    }

    fn wake_affine_idle_or_weight(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId) -> (CpuId, Reason) {
        if self.profile.feats.has(Feat::WA_IDLE)
            && let Some(answer) = self.wake_affine_idle(placing)
        {
            return answer;
        }
        match self.profile.feats.has(Feat::WA_WEIGHT) && self.wake_affine_weight(cx, placing, sd) {
            true => (placing.this, Reason::AffineLessLoad),
            false => (placing.prev, Reason::AffinePrev),
        }
    }

    /// Kernel: fair.c wake_affine_idle(), v4.14–
    fn wake_affine_idle(&self, placing: &Placing) -> Option<(CpuId, Reason)> {
        let (this, prev) = (placing.this, placing.prev);
        if self.available_idle_cpu(this) && self.topology.cpus_share_cache(this, prev) {
            // An interrupt on an idle CPU: both are equally near, and the previous one may be warm.
            return Some(if self.available_idle_cpu(prev) { (prev, Reason::AffinePrevIdle) } else { (this, Reason::AffineIdle) });
        }
        if placing.sync && self.nr_runnable(this) == 1 {
            return Some((this, Reason::AffineSync));
        }
        let keeps_idle_prev = self.profile.wake_affine == WakeAffine::IdleThenWeightOrPrev && self.available_idle_cpu(prev);
        keeps_idle_prev.then_some((prev, Reason::AffinePrevIdle))
    }

    /// Tasks of a CPU that want to run: none of those in delayed dequeue. A queued server of the fair class counts as one more where it
    /// is a task of its CPU, so a waker that runs on its behalf is not alone.
    fn nr_runnable(&self, cpu: CpuId) -> u32 {
        let rq = &self.rqs[cpu];
        let queue = &self.cfs_rqs[rq.cfs];
        rq.nr_counted() - (queue.h_nr_running - queue.h_nr_runnable)
    }

    pub(super) fn wake_affine_weight(&mut self, cx: &Ctx<'_, '_>, placing: &Placing, sd: SdId) -> bool {
        let (this, prev) = (placing.this, placing.prev);
        let bias = self.profile.feats.has(Feat::WA_BIAS).then_some(self.topology.domains[sd].imbalance_pct);
        let this_load = self.affine_load(this);
        // A waker that is more than all of this CPU ends it: the task is not asked then, and its queue keeps the load it was taken for.
        let sync_waker = placing.sync.then(|| self.waker_h_load(cx, this));
        if sync_waker.is_some_and(|waker| waker > this_load) {
            return true;
        }
        let rule = WeightRule {
            this_load,
            prev_load: self.affine_load(prev),
            this_capacity: self.capacity_of(this) as i64,
            prev_capacity: self.capacity_of(prev) as i64,
            task_load: self.task_h_load(cx, placing.task) as i64,
            sync_waker,
            bias,
        };
        rule.prefers_this()
    }

    fn affine_load(&self, cpu: CpuId) -> i64 {
        self.load_of_cpu(cpu) as i64
    }

    /// Load of the running task of `cpu`; the idle task has none.
    fn waker_h_load(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId) -> i64 {
        self.rqs[cpu].curr.map_or(0, |waker| self.task_h_load(cx, waker) as i64)
    }

    /// Within a cache always this CPU; between nodes:
    ///
    /// 100 * prev.capacity * (this.load + task) <= handicap * this.capacity * (prev.load - task)
    ///
    /// Kernel: fair.c wake_affine(), numa_wake_affine(), v4.12–v4.13
    fn wake_affine_nodes(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId) -> (CpuId, Reason) {
        let (this, prev) = (placing.this, placing.prev);
        if self.topology.cpus_share_cache(this, prev) {
            return (this, Reason::AffineCache);
        }
        let (mut here, there) = (self.node_stats(cx, this), self.node_stats(cx, prev));
        if placing.sync {
            here.load = (here.load - self.waker_h_load(cx, this)).max(0);
        }
        if here.load == 0 {
            return (this, Reason::AffineLessLoad);
        }
        let task = self.task_h_load(cx, placing.task) as i64;
        let here_load = 100 * there.capacity * (here.load + task);
        let there_load = handicap_pct(self.topology.domains[sd].imbalance_pct) * here.capacity * (there.load - task);
        if here_load <= there_load { (this, Reason::AffineLessLoad) } else { (prev, Reason::AffinePrev) }
    }

    /// Kernel: fair.c update_numa_stats(), v4.12–v4.13
    fn node_stats(&self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> NodeStats {
        let node = cx.machine.cpus[cpu].node;
        let mut stats = NodeStats { load: 0, capacity: 0 };
        for (other, view) in cx.machine.cpus.iter_enumerated() {
            if view.node == node && self.rqs[other].online {
                cx.meter.count(Op::ScanCpu);
                stats.load += self.weighted_cpuload(other) as i64;
                stats.capacity += self.capacity_of(other) as i64;
            }
        }
        stats
    }
}
