//! Groups compared by spare capacity and by load.

use super::load_margin;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{IdlestGroup, StartNode};
use crate::topology::SdFlags;
use fairground_model::Op;
use fairground_stdx::{CpuId, SdId, SgId, TaskId};

/// What is known of a group, per capacity and times 1024.
#[derive(Clone, Copy)]
struct GroupLoad {
    group: SgId,
    /// Load of the tasks that want to run.
    runnable: u64,
    /// Load with that of sleepers.
    avg: u64,
    /// The most that any of its CPUs has to spare.
    spare: u64,
}

/// The least loaded and the most spacious of the other groups.
#[derive(Default)]
struct Others {
    idlest: Option<SgId>,
    min_runnable: Option<u64>,
    min_avg: Option<u64>,
    spacious: Option<SgId>,
    most_spare: u64,
}

impl Others {
    /// A group that is clearly less loaded becomes the idlest; where that is close, its sleepers count too.
    fn look_at(&mut self, seen: &GroupLoad, margin: u64, pct: u64) {
        let clearly_less = self.min_runnable.is_none_or(|min| min > seen.runnable + margin);
        let close = self.min_runnable.is_none_or(|min| seen.runnable < min + margin);
        if clearly_less {
            (self.idlest, self.min_runnable, self.min_avg) = (Some(seen.group), Some(seen.runnable), Some(seen.avg));
        } else if close && self.min_avg.is_none_or(|min| u64::wrapping_mul(min, 100) > seen.avg.wrapping_mul(pct)) {
            (self.idlest, self.min_avg) = (Some(seen.group), Some(seen.avg));
        }
        if seen.spare > self.most_spare {
            (self.spacious, self.most_spare) = (Some(seen.group), seen.spare);
        }
    }
}

impl Sched {
    /// Kernel: fair.c find_idlest_group(), v4.12–v5.4
    pub(super) fn idlest_group_by_load(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        task: TaskId,
        sd: SdId,
        local_cpu: CpuId,
        kind: SdFlags,
    ) -> Option<SgId> {
        let domain = &self.topology.domains[sd];
        let (margin, numa) = (load_margin(domain.imbalance_pct), domain.flags.has(SdFlags::NUMA));
        let pct = u64::from(100 + (domain.imbalance_pct - 100) / 2);
        let (mut local, mut others): (Option<GroupLoad>, Others) = (None, Others::default());
        for group in self.topology.groups_of(sd) {
            let span = &self.topology.groups[group].span;
            if !span.intersects(&self.tasks[task].cpus_allowed) {
                continue;
            }
            let is_local = span.contains(local_cpu);
            let seen = self.group_load(cx, task, group);
            if is_local { local = Some(seen) } else { others.look_at(&seen, margin, pct) }
        }
        if kind != SdFlags::BALANCE_FORK {
            // A new task has no utilisation yet that could be compared with spare capacity.
            let half = self.task_util(task) / 2;
            let local_spare = local.map_or(0, |local| local.spare);
            if local_spare > half && pct * local_spare > 100 * others.most_spare {
                return None;
            }
            if others.most_spare > half {
                return others.spacious;
            }
        }
        let (idlest, min_runnable, min_avg) = (others.idlest?, others.min_runnable?, others.min_avg?);
        // Without a local group everything is better than it.
        let Some(local) = local else { return Some(idlest) };
        let far = numa && self.profile.start_node == StartNode::LessLoad && min_runnable + margin >= local.runnable;
        let loaded = min_runnable > local.runnable + margin;
        let close = local.runnable < min_runnable + margin && local.avg.wrapping_mul(100) < min_avg.wrapping_mul(pct);
        (!far && !loaded && !close).then_some(idlest)
    }

    fn group_load(&self, cx: &mut Ctx<'_, '_>, task: TaskId, group: SgId) -> GroupLoad {
        let row = &self.topology.groups[group];
        let mut load = GroupLoad { group, runnable: 0, avg: 0, spare: 0 };
        for cpu in row.span.iter() {
            cx.meter.count(Op::ScanCpu);
            // source_load() and target_load() are the same at forkexec_idx 0, that of all domains.
            load.runnable += self.weighted_cpuload(cpu);
            load.avg += self.cpu_load(cpu);
            load.spare = load.spare.max(self.capacity_spare_without(cpu, task));
        }
        let capacity = row.capacity.max(1);
        (load.runnable, load.avg) = (load.runnable.wrapping_mul(1024) / capacity, load.avg.wrapping_mul(1024) / capacity);
        load
    }

    /// What a CPU would have to spare for `task`.
    ///
    /// Kernel: fair.c capacity_spare_wake(), capacity_spare_without() from v4.19, v4.12–v5.4
    fn capacity_spare_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let capacity = match self.profile.idlest_group {
            IdlestGroup::LoadOrSpareLeft => self.capacity_of(cpu),
            IdlestGroup::LoadOrSpare | IdlestGroup::GroupType | IdlestGroup::AllowedCpus => self.capacity_orig_of(cpu),
        };
        capacity.saturating_sub(self.cpu_util_without(cpu, task))
    }
}
