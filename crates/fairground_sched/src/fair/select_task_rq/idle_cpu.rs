//! The search of a cache domain in one pass: for idle cores if there may be any, else for an idle CPU.

use super::Placing;
use super::scan_budget::{ScanClock, UNLIMITED};
use crate::Sched;
use crate::ctx::Ctx;
use crate::features::Feat;
use crate::seam::{ClusterSearch, IdleSearch};
use crate::topology::SdFlags;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, CpuMask, SdId, SgId};

/// How a search of single CPUs ended.
pub(super) enum Scan {
    /// At a free CPU.
    Found(CpuId),
    /// Behind the last one.
    Exhausted,
    /// At its limit.
    OutOfBudget,
}

impl Sched {
    /// Kernel: fair.c select_idle_sibling(), v5.13–
    pub(super) fn search_in_one_pass(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        target: CpuId,
    ) -> Option<(CpuId, Reason)> {
        let sd = self.topology.cpus[target].sd_llc?;
        let has_idle_core = self.topology.smt_active && self.test_idle_cores(target);
        if self.topology.smt_active
            && !has_idle_core
            && self.topology.cpus_share_cache(placing.prev, target)
            && let Some(sibling) = self.select_idle_smt(cx, placing, sd, placing.prev)
        {
            return Some((sibling, Reason::SelectIdleSmt));
        }
        if self.profile.idle_search == IdleSearch::OnePass && self.topology.cpus[placing.this].sd_llc.is_none() {
            return None;
        }
        if has_idle_core {
            return self.search_idle_core(cx, placing, sd, target);
        }
        self.search_idle_cpu(cx, placing, sd, target).map(|cpu| (cpu, Reason::SelectIdleCpu))
    }

    /// The first idle core from behind the target on, without any limit; else an idle thread of a busy core that was
    /// seen on the way, and the domain is known to have no idle core.
    ///
    /// Kernel: fair.c select_idle_cpu(), v5.13–
    fn search_idle_core(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId) -> Option<(CpuId, Reason)> {
        let mut cpus = self.topology.domains[sd].span.and(&self.tasks[placing.task].cpus_allowed);
        let mut candidate = None;
        if let Some(cluster) = self.cluster_of_target(sd) {
            let cluster = self.topology.groups[cluster].span;
            if let Some(core) = self.first_idle_core(cx, placing, cpus.and(&cluster), target, &mut candidate) {
                return Some((core, Reason::SelectIdleCore));
            }
            cpus = cpus.and_not(&cluster);
        }
        if let Some(core) = self.first_idle_core(cx, placing, cpus, target, &mut candidate) {
            return Some((core, Reason::SelectIdleCore));
        }
        self.set_idle_cores(target, false);
        candidate.map(|cpu| (cpu, Reason::SelectIdleCpu))
    }

    fn first_idle_core(
        &self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        mut cpus: CpuMask,
        target: CpuId,
        candidate: &mut Option<CpuId>,
    ) -> Option<CpuId> {
        let allowed = &self.tasks[placing.task].cpus_allowed;
        let behind = target.get() + 1;
        let (mut looks, mut found) = (0, None);
        'search: for (mut from, end) in [(behind, u32::MAX), (0, behind)] {
            while let Some(cpu) = cpus.next_from(from).filter(|cpu| cpu.get() < end) {
                if self.is_core_idle(allowed, cpu, candidate, &mut looks) {
                    found = Some(cpu);
                    break 'search;
                }
                self.remove_core(&mut cpus, cpu);
                from = cpu.get() + 1;
            }
        }
        cx.meter.count_n(Op::ScanCpu, looks);
        found
    }

    /// The first free CPU from behind the target on, within the budget; the target's cluster goes first. Only a search
    /// that ends by itself is accounted.
    ///
    /// Kernel: fair.c select_idle_cpu(), v5.13–
    fn search_idle_cpu(&mut self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId) -> Option<CpuId> {
        let (mut nr, mut clock) = (UNLIMITED, None);
        if self.profile.feats.has(Feat::SIS_PROP) {
            let this_sd = self.topology.cpus[placing.this].sd_llc?;
            nr = self.budget_by_wake_avg_idle(cx, this_sd, self.topology.domains[sd].span_weight);
            clock = Some(ScanClock::start(cx, this_sd));
        }
        let outcome = self.scan_cluster_then_rest(cx, placing, sd, target, &mut nr);
        if let (Scan::Found(_) | Scan::Exhausted, Some(clock)) = (&outcome, &clock) {
            self.charge_wake_avg_idle(cx, clock);
        }
        match outcome {
            Scan::Found(cpu) => Some(cpu),
            Scan::Exhausted | Scan::OutOfBudget => None,
        }
    }

    fn scan_cluster_then_rest(&self, cx: &mut Ctx<'_, '_>, placing: &Placing, sd: SdId, target: CpuId, nr: &mut u64) -> Scan {
        let behind = CpuId::new(target.get() + 1);
        let (span, allowed) = (&self.topology.domains[sd].span, &self.tasks[placing.task].cpus_allowed);
        let Some(cluster) = self.cluster_of_target(sd) else { return self.first_free_of(cx, span, allowed, behind, nr) };
        let cluster = &self.topology.groups[cluster].span;
        match self.first_free_of(cx, cluster, allowed, behind, nr) {
            Scan::Exhausted => self.first_free_of(cx, &span.and_not(cluster), allowed, behind, nr),
            outcome => outcome,
        }
    }

    /// The first free one of `cpus`; the counter `nr` is lowered before each look, and 0 ends the search.
    pub(super) fn first_free(&self, cx: &mut Ctx<'_, '_>, cpus: impl Iterator<Item = CpuId>, nr: &mut u64) -> Scan {
        for cpu in cpus {
            *nr -= 1;
            if *nr == 0 {
                return Scan::OutOfBudget;
            }
            cx.meter.count(Op::ScanCpu);
            if self.is_free(cpu) {
                return Scan::Found(cpu);
            }
        }
        Scan::Exhausted
    }

    /// The target's group in its cache domain, if it is a cluster and clusters are searched first.
    fn cluster_of_target(&self, sd: SdId) -> Option<SgId> {
        if self.profile.cluster_search == ClusterSearch::None || !self.topology.cluster_active {
            return None;
        }
        let group = self.topology.domains[sd].first_group;
        self.topology.groups[group].flags.has(SdFlags::CLUSTER).then_some(group)
    }
}
