//! Whether there is an imbalance between the busiest and the local group.

use super::{GroupClass, Pair};
use crate::seam::SparePull;
use crate::topology::CpuIdleType;

impl Pair<'_> {
    /// Kernel: fair.c find_busiest_group() after the statistics, v4.12–v5.4
    pub(super) fn is_imbalanced(&self) -> bool {
        let (local, busiest) = (&self.local, &self.busiest);
        if busiest.sum_nr_running == 0 {
            return false;
        }
        if busiest.group_class == GroupClass::Imbalanced || self.fills_spare_capacity() {
            return true;
        }
        if busiest.group_class == GroupClass::MisfitTask {
            return true;
        }
        if local.avg_load >= busiest.avg_load || local.avg_load >= self.avg_load {
            return false;
        }
        if self.idle == CpuIdleType::Idle {
            // Below that difference an idle CPU would just appear on the other side.
            busiest.group_class == GroupClass::Overloaded || local.idle_cpus > busiest.idle_cpus + 1
        } else {
            busiest.avg_load.wrapping_mul(100) > local.avg_load.wrapping_mul(self.domain.imbalance_pct.into())
        }
    }

    /// An idle CPU takes from a group that has none left, whatever the loads are.
    fn fills_spare_capacity(&self) -> bool {
        let idle = match self.profile.spare_pull {
            SparePull::NewlyIdle => self.idle == CpuIdleType::NewlyIdle,
            SparePull::AnyIdle => self.idle != CpuIdleType::NotIdle,
        };
        idle && self.local_has_capacity() && self.busiest.group_no_capacity
    }
}
