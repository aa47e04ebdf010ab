//! Groups compared by how busy they are, as types.

use super::load_margin;
use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::balance::group::{GroupSums, GroupType, group_has_capacity, group_is_overloaded};
use crate::seam::{IdlestGroup, StartNode};
use crate::task::TaskState;
use crate::topology::SdFlags;
use crate::uclamp::Fit;
use fairground_model::Op;
use fairground_stdx::{CpuId, SdId, SgId, TaskId};

/// How busy a group is without the task that is to be placed.
#[derive(Clone, Copy)]
struct GroupStats {
    group: SgId,
    kind: GroupType,
    /// Load per capacity, times 1024; 0 for groups that have something to spare.
    avg_load: u64,
    util: u64,
    nr_running: u64,
    idle_cpus: u64,
    max_capacity: u64,
}

impl GroupStats {
    /// Whether this group is idler than `best`, the idlest so far.
    ///
    /// Kernel: fair.c update_pick_idlest(), v5.5–
    fn is_idler_than(&self, best: &GroupStats) -> bool {
        if self.kind != best.kind {
            return self.kind < best.kind;
        }
        match self.kind {
            GroupType::Overloaded | GroupType::FullyBusy => self.avg_load < best.avg_load,
            GroupType::MisfitTask => self.max_capacity > best.max_capacity,
            GroupType::HasSpare => (self.idle_cpus, best.util) > (best.idle_cpus, self.util),
            GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => false,
        }
    }
}

impl Sched {
    /// Kernel: fair.c find_idlest_group(), v5.5–
    pub(super) fn idlest_group_by_type(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        task: TaskId,
        sd: SdId,
        local_cpu: CpuId,
    ) -> Option<SgId> {
        // What is asked for that load is kept for a jiffy, so it matters that it is asked for only where the task has a part.
        let has_part = self.contributes(self.tasks[task].cpu, task);
        let h_load = if has_part { self.task_h_load(cx, task) } else { 0 };
        let (mut local, mut idlest): (Option<GroupStats>, Option<GroupStats>) = (None, None);
        for group in self.topology.groups_of(sd) {
            if !self.topology.groups[group].span.intersects(&self.tasks[task].cpus_allowed) {
                continue;
            }
            let stats = self.wakeup_stats(cx, task, h_load, sd, group);
            if self.topology.groups[group].span.contains(local_cpu) {
                local = Some(stats);
            } else if idlest.is_none_or(|best| stats.is_idler_than(&best)) {
                idlest = Some(stats);
            }
        }
        let idlest = idlest?;
        let stays = local.is_some_and(|local| self.stays_local(task, sd, &local, &idlest));
        (!stays).then_some(idlest.group)
    }

    /// Whether the local group is as idle as the idlest other one, or nearly so.
    fn stays_local(&self, task: TaskId, sd: SdId, local: &GroupStats, idlest: &GroupStats) -> bool {
        if local.kind != idlest.kind {
            return local.kind < idlest.kind;
        }
        let domain = &self.topology.domains[sd];
        let (pct, numa) = (u64::from(domain.imbalance_pct), domain.flags.has(SdFlags::NUMA));
        match local.kind {
            GroupType::Overloaded | GroupType::FullyBusy => {
                let margin = load_margin(domain.imbalance_pct);
                (numa && idlest.avg_load + margin >= local.avg_load)
                    || idlest.avg_load >= local.avg_load + margin
                    || local.avg_load.wrapping_mul(100) <= idlest.avg_load.wrapping_mul(pct)
            }
            GroupType::MisfitTask => local.max_capacity >= idlest.max_capacity,
            GroupType::HasSpare => (numa && self.stays_on_node(task, sd, local, idlest)) || local.idle_cpus >= idlest.idle_cpus,
            GroupType::Imbalanced | GroupType::AsymPacking | GroupType::SmtBalance => true,
        }
    }

    /// Whether a node with idle CPUs keeps the task, although the other may have more of them.
    ///
    /// Kernel: fair.c find_idlest_group(), allow_numa_imbalance(), adjust_numa_imbalance(), v5.5–
    fn stays_on_node(&self, task: TaskId, sd: SdId, local: &GroupStats, idlest: &GroupStats) -> bool {
        let allowance = u64::from(self.topology.domains[sd].imb_numa_nr);
        match self.profile.start_node {
            StartNode::AsGroups | StartNode::LessLoad => false,
            StartNode::NoIdle => local.idle_cpus > 0,
            StartNode::Room => local.nr_running < allowance,
            StartNode::SmallImbalance => {
                // A task that may use only part of the node shall not fill that.
                let usable = self.topology.groups[local.group].span.and(&self.tasks[task].cpus_allowed).weight() as u64;
                local.nr_running < allowance.min(usable) && local.idle_cpus.abs_diff(idlest.idle_cpus) <= NUMA_IMBALANCE_MIN
            }
        }
    }

    /// How busy a group is without `task`.
    ///
    /// Kernel: fair.c update_sg_wakeup_stats(), v5.5–
    fn wakeup_stats(&self, cx: &mut Ctx<'_, '_>, task: TaskId, h_load: u64, sd: SdId, group: SgId) -> GroupStats {
        let asym = self.topology.domains[sd].flags.has(SdFlags::ASYM_CPUCAPACITY);
        let demand = self.demand_of(task);
        let (mut span, mut misfit, mut load, mut idle_cpus) = (self.topology.groups[group].span, asym, 0, 0);
        if self.profile.idlest_group == IdlestGroup::AllowedCpus {
            span = span.and(&self.tasks[task].cpus_allowed);
        }
        let mut sums = GroupSums {
            group_weight: u64::from(self.topology.groups[group].group_weight),
            group_capacity: self.topology.groups[group].capacity,
            ..GroupSums::default()
        };
        for cpu in span.iter() {
            cx.meter.count(Op::ScanCpu);
            load += self.cpu_load_without(cpu, task, h_load);
            sums.group_util += self.cpu_util_without(cpu, task);
            sums.group_runnable += self.cpu_runnable_without(cpu, task);
            sums.sum_nr_running += u64::from(self.nr_running_without(cpu, task));
            idle_cpus += u64::from(self.idle_cpu_without(cpu, task));
            misfit &= self.fit_of(demand, cpu) != Fit::Yes;
        }
        let kind = self.classify(sd, group, &sums, misfit);
        let avg_load = match kind {
            GroupType::FullyBusy | GroupType::Overloaded => u64::wrapping_mul(load, 1024) / sums.group_capacity.max(1),
            _ => 0,
        };
        GroupStats {
            group,
            kind,
            avg_load,
            util: sums.group_util,
            nr_running: sums.sum_nr_running,
            idle_cpus,
            max_capacity: self.topology.groups[group].max_capacity,
        }
    }

    /// Kernel: fair.c group_classify(), v5.5–
    fn classify(&self, sd: SdId, group: SgId, sums: &GroupSums, misfit: bool) -> GroupType {
        let pct = self.topology.domains[sd].imbalance_pct;
        if !self.overload_needs_overutilized() && group_is_overloaded(pct, sums) {
            GroupType::Overloaded
        } else if self.topology.groups[group].imbalance {
            GroupType::Imbalanced
        } else if misfit {
            GroupType::MisfitTask
        } else if !group_has_capacity(pct, sums) {
            GroupType::FullyBusy
        } else {
            GroupType::HasSpare
        }
    }

    /// Kernel: fair.c task_running_on_cpu(), v5.5–
    fn nr_running_without(&self, cpu: CpuId, task: TaskId) -> u32 {
        let row = &self.tasks[task];
        let queued = matches!(row.state, TaskState::Running | TaskState::Queued | TaskState::Delayed);
        self.rqs[cpu].nr_counted() - u32::from(row.cpu == cpu && queued)
    }

    /// Kernel: fair.c idle_cpu_without(), v5.5–
    fn idle_cpu_without(&self, cpu: CpuId, task: TaskId) -> bool {
        let rq = &self.rqs[cpu];
        rq.curr.is_none_or(|curr| curr == task) && self.nr_running_without(cpu, task) == 0 && !rq.ttwu_pending()
    }
}

/// So many idle CPUs may a node have fewer than another without that being an imbalance: two tasks that talk.
///
/// Kernel: fair.c NUMA_IMBALANCE_MIN, v5.10–
const NUMA_IMBALANCE_MIN: u64 = 2;
