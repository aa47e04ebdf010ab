//! The slow path: where a task starts that has nothing in any cache.

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::topology::SdFlags;
use fairground_model::{Op, Reason};
use fairground_stdx::{CpuId, SdId, SgId, TaskId};

/// The idle CPU to prefer among those seen so far.
#[derive(Clone, Copy)]
struct Shallowest {
    cpu: Option<CpuId>,
    exit_latency: u64,
    idle_stamp: u64,
}

impl Sched {
    /// From `sd` down: the idlest group, there the idlest CPU, and again from the largest smaller domain of that.
    ///
    /// Kernel: fair.c find_idlest_cpu(), sched_balance_find_dst_cpu() from v6.10, v4.12–
    pub(super) fn find_idlest_cpu(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        sd: SdId,
        kind: SdFlags,
    ) -> (CpuId, Reason) {
        if !self.topology.domains[sd].span.intersects(&self.tasks[placing.task].cpus_allowed) {
            return (placing.prev, Reason::SelectLocal);
        }
        if kind != SdFlags::BALANCE_FORK {
            self.sync_entity_load_avg(cx, placing.task);
        }
        let (mut cpu, mut next) = (placing.this, Some(sd));
        while let Some(sd) = next {
            next = self.topology.domains[sd].child;
            if !self.topology.domains[sd].flags.has(kind) {
                continue;
            }
            let Some(group) = self.find_idlest_group(cx, placing, sd, cpu, kind) else { continue };
            let found = self.find_idlest_group_cpu(cx, placing.task, group, cpu);
            if found != cpu {
                cpu = found;
                next = self.largest_below(cpu, self.topology.domains[sd].span_weight, kind);
            }
        }
        (cpu, if cpu == placing.this { Reason::SelectLocal } else { Reason::SelectIdlest })
    }

    /// The largest domain of `cpu` with that flag and fewer than `weight` CPUs.
    fn largest_below(&self, cpu: CpuId, weight: u32, kind: SdFlags) -> Option<SdId> {
        let smaller = self.topology.domains_of(cpu).take_while(|&sd| self.topology.domains[sd].span_weight < weight);
        smaller.filter(|&sd| self.topology.domains[sd].flags.has(kind)).last()
    }

    /// The CPU of a group that leaves the shallowest idle state, or was the last to become idle, or has the least load.
    ///
    /// Kernel: fair.c find_idlest_group_cpu(), sched_balance_find_dst_group_cpu() from v6.10, v4.14– (find_idlest_cpu() before)
    fn find_idlest_group_cpu(&self, cx: &mut Ctx<'_, '_>, task: TaskId, group: SgId, this: CpuId) -> CpuId {
        let group = &self.topology.groups[group];
        if group.group_weight == 1 {
            return group.span.first().unwrap_or(this);
        }
        let mut shallowest = Shallowest { cpu: None, exit_latency: u64::MAX, idle_stamp: 0 };
        let (mut least, mut least_load) = (this, u64::MAX);
        for cpu in group.span.iter_wrap_and(&self.tasks[task].cpus_allowed, CpuId::new(0)) {
            cx.meter.count(Op::ScanCpu);
            if self.is_free_of_others(task, cpu) {
                return cpu;
            }
            if self.available_idle_cpu(cpu) {
                self.prefer_shallow(&mut shallowest, cpu);
            } else if shallowest.cpu.is_none() {
                let load = self.load_of_cpu(cpu);
                if load < least_load {
                    (least, least_load) = (cpu, load);
                }
            }
        }
        shallowest.cpu.unwrap_or(least)
    }

    /// A shorter way out of idle goes first; equal or unknown ones go by who became idle last.
    fn prefer_shallow(&self, best: &mut Shallowest, cpu: CpuId) {
        let lb = &self.rqs[cpu].lb;
        let (exit_latency, known) = (lb.idle_exit_latency, lb.idle_exit_latency > 0);
        if known && exit_latency < best.exit_latency {
            *best = Shallowest { cpu: Some(cpu), exit_latency, idle_stamp: lb.idle_stamp };
        } else if (!known || exit_latency == best.exit_latency) && lb.idle_stamp > best.idle_stamp {
            (best.cpu, best.idle_stamp) = (Some(cpu), lb.idle_stamp);
        }
    }
}
