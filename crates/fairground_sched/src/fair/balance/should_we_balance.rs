//! Which CPU of a group balances on its behalf.

use super::LbEnv;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::ShouldWeBalance;
use crate::topology::{CpuIdleType, SdFlags};
use fairground_stdx::{CpuId, CpuMask};

/// What the idle CPUs of a group say.
enum Idle {
    /// There is none.
    None,
    /// This one balances: it is the first idle one, with the whole core where that counts.
    First(CpuId),
    /// All are threads of busy cores; this is the first.
    InBusyCore(CpuId),
}

impl Sched {
    /// Whether the destination is the CPU of its group that shall balance now.
    ///
    /// Kernel: fair.c should_we_balance(), v4.12–
    pub(super) fn should_we_balance(&self, cx: &Ctx<'_, '_>, env: &LbEnv) -> bool {
        let (dst, rule) = (env.dst_cpu, self.profile.should_we_balance);
        if !env.cpus.contains(dst) {
            return false;
        }
        if env.idle == CpuIdleType::NewlyIdle {
            // A stopper that waits counts, and a server of fair tasks that is queued.
            let rq = &self.rqs[dst];
            return rule == ShouldWeBalance::FirstIdle || (rq.nr_counted() == 0 && !rq.ttwu_pending());
        }
        let mask = &self.topology.groups[self.topology.domains[env.sd].first_group].balance_mask;
        match self.first_idle(cx, env, mask) {
            Idle::First(cpu) => return cpu == dst,
            Idle::InBusyCore(cpu) if rule == ShouldWeBalance::IdleCore || cpu == dst => return cpu == dst,
            Idle::InBusyCore(_) | Idle::None => {}
        }
        mask.first() == Some(dst)
    }

    /// The idle CPU of the group that comes first, in order of their numbers.
    fn first_idle(&self, cx: &Ctx<'_, '_>, env: &LbEnv, mask: &CpuMask) -> Idle {
        let by_core = match self.profile.should_we_balance {
            ShouldWeBalance::FirstIdle | ShouldWeBalance::FirstIdleUnlessFed => false,
            ShouldWeBalance::IdleCoreOrFirst | ShouldWeBalance::IdleCore => {
                !self.topology.domains[env.sd].flags.has(SdFlags::SHARE_CPUCAPACITY)
            }
        };
        let mut in_busy_core = None;
        for cpu in mask.and(&env.cpus).iter().filter(|&cpu| self.idle_cpu(cpu)) {
            if !by_core || self.siblings_idle(cx, cpu) {
                return Idle::First(cpu);
            }
            in_busy_core = in_busy_core.or(Some(cpu));
        }
        in_busy_core.map_or(Idle::None, Idle::InBusyCore)
    }

    /// Whether all other threads of a CPU's core are idle.
    ///
    /// Kernel: fair.c siblings_idle(), v5.7–
    pub(crate) fn siblings_idle(&self, cx: &Ctx<'_, '_>, cpu: CpuId) -> bool {
        cx.machine.cpus[cpu].smt.iter().all(|thread| thread == cpu || self.idle_cpu(thread))
    }
}
