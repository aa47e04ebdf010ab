//! Seam `balance`: from which group of a domain something is to be moved, and how much.
//!
//! Contract: the answer is a group of the domain other than that of `env.dst_cpu`; then `env.imbalance` and
//! `env.migration` say how much of what. No group: all is in balance. On the way the capacity of the local group is
//! refreshed, and at the highest domain the flags of the root domain.

use super::LbEnv;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::Balance;
use crate::topology::{CpuIdleType, SchedGroup};
use fairground_stdx::{CpuId, SgId};

impl Sched {
    /// Finds the group from which `env.dst_cpu` should take most, if there is an imbalance.
    ///
    /// Kernel: fair.c find_busiest_group(), sched_balance_find_src_group() from v6.10, v4.12–
    pub(crate) fn find_busiest_group(&mut self, cx: &mut Ctx<'_, '_>, env: &mut LbEnv) -> Option<SgId> {
        match self.profile.balance {
            Balance::LoadBased => self.busiest_group_by_load(cx, env),
            Balance::GroupType => self.busiest_group_by_type(cx, env),
        }
    }

    /// The statistics reach the local group of a domain: its capacity is refreshed, by a newidle balance only from
    /// time to time.
    ///
    /// Kernel: fair.c update_sd_lb_stats(), v4.12–
    pub(super) fn refresh_local_group(&mut self, cx: &Ctx<'_, '_>, env: &LbEnv, local: SgId) {
        if env.idle != CpuIdleType::NewlyIdle || cx.jiffies >= self.topology.groups[local].next_update {
            self.update_group_capacity(cx.jiffies, env.sd);
        }
    }

    /// The highest domain has seen all CPUs: whether some CPU of the machine has two tasks or more, or one that does not
    /// fit it (SG_OVERLOAD).
    ///
    /// Kernel: fair.c update_sd_lb_stats(), v4.12–
    pub(super) fn set_root_overload(&mut self, env: &LbEnv, overload: bool) {
        self.note_overutilized(env);
        if self.topology.domains[env.sd].parent.is_none() {
            self.topology.overload = overload;
        }
    }
}

/// The CPUs of a group that a balance looks at.
pub(super) fn cpus_of<'a>(group: &'a SchedGroup, env: &'a LbEnv) -> impl Iterator<Item = CpuId> + 'a {
    group.cpus.iter().copied().filter(|&cpu| env.cpus.contains(cpu))
}

/// Whether a CPU is preferred to another where priorities matter: no platform of the model gives priorities of its
/// own, and without them the lower number is preferred.
///
/// Kernel: sched.h sched_asym_prefer(), v4.12–
pub(super) const fn sched_asym_prefer(a: CpuId, b: CpuId) -> bool {
    a.get() < b.get()
}
