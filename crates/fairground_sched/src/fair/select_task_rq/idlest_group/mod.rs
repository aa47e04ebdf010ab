//! The group of a domain in which a task starts: at which of them the least is going on.

mod group_type;
mod load_or_spare;

use super::Placing;
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::IdlestGroup;
use crate::topology::SdFlags;
use fairground_stdx::{CpuId, SdId, SgId};

/// What a difference of loads must be at least to count: NICE_0_LOAD by as much as makes an imbalance.
///
/// 1024 * (imbalance_pct - 100) / 100
fn load_margin(imbalance_pct: u32) -> u64 {
    1024 * u64::from(imbalance_pct - 100) / 100
}

impl Sched {
    /// Another group than that of `local_cpu` if it is clearly idler.
    ///
    /// Kernel: fair.c find_idlest_group(), sched_balance_find_dst_group() from v6.10, v4.12–
    pub(super) fn find_idlest_group(
        &mut self,
        cx: &mut Ctx<'_, '_>,
        placing: &Placing,
        sd: SdId,
        local_cpu: CpuId,
        kind: SdFlags,
    ) -> Option<SgId> {
        match self.profile.idlest_group {
            IdlestGroup::LoadOrSpare | IdlestGroup::LoadOrSpareLeft => {
                self.idlest_group_by_load(cx, placing.task, sd, local_cpu, kind)
            }
            IdlestGroup::GroupType | IdlestGroup::AllowedCpus => self.idlest_group_by_type(cx, placing.task, sd, local_cpu),
        }
    }
}
