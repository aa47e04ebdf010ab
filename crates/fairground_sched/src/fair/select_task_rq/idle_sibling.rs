//! select_idle_sibling(): an idle CPU near the target, those known by name first.

use super::{Placing, Search};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{ClusterSearch, IdleCapacity, KthreadWaker, RecentCpu};
use crate::uclamp::Demand;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, TaskId};

/// What the look at the CPUs known by name has come to.
pub(super) enum Sibling {
    /// A choice, and the rule that made it.
    Chosen((CpuId, Reason)),
    /// The cache domain is searched.
    Search(Box<Search>),
}

impl Sched {
    /// Kernel: fair.c select_idle_sibling(), v4.12–
    pub(super) fn select_idle_sibling(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, target: CpuId) -> Sibling {
        // The CPUs that are known by name together count as one look.
        cx.meter.count(Op::ScanCpu);
        let sis = &mut self.rqs[placing.this].sis;
        (sis.sis_search, sis.sis_scanned) = (sis.sis_search + 1, sis.sis_scanned + 1);
        let util = self.util_to_fit(cx, placing.task);
        if self.profile.idle_capacity == IdleCapacity::First
            && let Some(choice) = self.search_capacity(cx, placing, target, util)
        {
            return Sibling::Chosen(choice);
        }
        let prev = placing.prev;
        if self.is_free(placing.task, target) && self.fits(util, target) {
            return Sibling::Chosen((target, if target == prev { Reason::SelectPrevIdle } else { Reason::SelectTargetIdle }));
        }
        let mut farther = None;
        if prev != target && self.is_idle_near(placing.task, prev, target, util) {
            if !self.is_in_other_cluster(prev, target) {
                return Sibling::Chosen((prev, Reason::SelectPrevIdle));
            }
            farther = Some((prev, Reason::SelectPrevIdle));
        }
        if self.may_stack(placing) && self.fits(util, prev) {
            return Sibling::Chosen((prev, Reason::SelectKthread));
        }
        if let Some(recent) = self.recent_idle_cpu(placing, target, util) {
            if !self.is_in_other_cluster(recent, target) {
                return Sibling::Chosen((recent, Reason::SelectRecent));
            }
            farther = farther.or(Some((recent, Reason::SelectRecent)));
        }
        if self.profile.idle_capacity.asks_known_first()
            && let Some(choice) = self.search_capacity(cx, placing, target, util)
        {
            return Sibling::Chosen(choice);
        }
        match self.begin_search(cx, placing, target) {
            Ok(mut search) => {
                search.farther = farther;
                Sibling::Search(search)
            }
            Err(found) => Sibling::Chosen(self.end_search(placing.this, target, found.or(farther))),
        }
    }

    /// What a search has come to: where nothing was found the task goes to the target.
    pub(super) fn end_search(&mut self, this: CpuId, target: CpuId, found: Option<(CpuId, Reason)>) -> (CpuId, Reason) {
        self.rqs[this].sis.sis_failed += u64::from(found.is_none() && self.topology.cpus[target].sd_llc.is_some());
        found.unwrap_or((target, Reason::SelectTarget))
    }

    /// Whether a woken task would run at once on `cpu`.
    ///
    /// Kernel: fair.c select_idle_sibling(), v4.12–; choose_sched_idle_rq(), v7.0–
    #[inline]
    pub(super) fn is_free(&self, task: TaskId, cpu: CpuId) -> bool {
        self.available_idle_cpu(cpu) || self.is_free_of_others(task, cpu)
    }

    /// Whether `cpu` has only tasks of policy SCHED_IDLE, and that makes it free for `task`.
    ///
    /// Kernel: fair.c sched_idle_cpu(), v5.7–; choose_sched_idle_rq(), v7.0–
    #[inline]
    pub(super) fn is_free_of_others(&self, task: TaskId, cpu: CpuId) -> bool {
        let policy = || self.tasks[task].policy;
        self.has_idle_policy && self.profile.sched_idle_cpu.is_free_for(policy()) && self.sched_idle_cpu(cpu)
    }

    /// Whether `cpu` is free, shares the cache of `target` and fits.
    fn is_idle_near(&self, task: TaskId, cpu: CpuId, target: CpuId, util: Option<Demand>) -> bool {
        self.topology.cpus_share_cache(cpu, target) && self.is_free(task, cpu) && self.fits(util, cpu)
    }

    /// Whether the machine has clusters, and `cpu` is in another one than `target`.
    ///
    /// Kernel: fair.c select_idle_sibling() with cpus_share_resources(), v6.7–
    fn is_in_other_cluster(&self, cpu: CpuId, target: CpuId) -> bool {
        self.profile.cluster_search == ClusterSearch::First
            && self.topology.cluster_active
            && self.topology.cpus[cpu].share_id != self.topology.cpus[target].share_id
    }

    /// Whether the waker is a kernel thread that is bound to this CPU, which is the wakee's previous one, and has
    /// nothing but itself there: such a thread hands work on and sleeps.
    ///
    /// Kernel: fair.c select_idle_sibling() with is_per_cpu_kthread(), v5.6–
    fn may_stack(&self, placing: &Placing) -> bool {
        self.profile.kthread_waker == KthreadWaker::Stacks
            && placing.in_task
            && placing.prev == placing.this
            && self.rqs[placing.this].curr.is_some_and(|waker| self.is_per_cpu_kthread(waker))
            && self.rqs[placing.this].nr_counted() <= 1
    }

    /// Kernel: kthread.h is_per_cpu_kthread(), v4.12–
    pub(crate) fn is_per_cpu_kthread(&self, task: TaskId) -> bool {
        let task = &self.tasks[task];
        task.kthread && super::only_cpu(&task.cpus_allowed).is_some()
    }

    /// The CPU that the task used before its previous one, if it is free, near and allowed. The memory is brought up
    /// to date by that.
    fn recent_idle_cpu(&mut self, placing: &Placing, target: CpuId, util: Option<Demand>) -> Option<CpuId> {
        let rule = self.profile.recent_used_cpu;
        let (task, prev) = (placing.task, placing.prev);
        let recent = self.tasks[task].recent_used_cpu;
        let checked = match rule {
            RecentCpu::None => return None,
            RecentCpu::OnHit | RecentCpu::Always => recent,
            RecentCpu::AlwaysUnchecked => prev,
        };
        let hit = recent != prev
            && recent != target
            && self.is_idle_near(placing.task, recent, target, util)
            && self.tasks[task].cpus_allowed.contains(checked);
        if hit || rule != RecentCpu::OnHit {
            self.tasks[task].recent_used_cpu = prev;
        }
        hit.then_some(recent)
    }
}
