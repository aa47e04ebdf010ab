//! Whether there is an imbalance between the busiest and the local group.

use super::super::group::GroupType;
use super::{Pair, smt_vs_nonsmt_groups};

impl Pair<'_> {
    /// Kernel: fair.c find_busiest_group() after the statistics, v5.5–
    pub(super) fn is_imbalanced(&self) -> bool {
        let (local, busiest) = (self.local(), self.busiest());
        if matches!(busiest.group_type, GroupType::MisfitTask | GroupType::AsymPacking | GroupType::Imbalanced) {
            return true;
        }
        if local.group_type > busiest.group_type {
            return false;
        }
        if local.group_type == GroupType::Overloaded && !self.is_more_loaded() {
            return false;
        }
        if self.prefer_sibling && local.group_type == GroupType::HasSpare && self.sibling_excess() > 1 {
            return true;
        }
        busiest.group_type == GroupType::Overloaded || self.can_use_spare_cpus()
    }

    /// Both groups are overloaded: the local one must be below the mean, and the busiest above the local one by more
    /// than the margin of the domain.
    fn is_more_loaded(&self) -> bool {
        let (local, busiest) = (self.local().avg_load, self.busiest().avg_load);
        let pct = u64::from(self.domain.imbalance_pct);
        local < busiest && local < self.sds.avg_load() && busiest.wrapping_mul(100) > pct.wrapping_mul(local)
    }

    /// No task waits for long: an idle CPU may still take one, if that does not just move an idle CPU elsewhere.
    fn can_use_spare_cpus(&self) -> bool {
        let (local, busiest) = (self.local(), self.busiest());
        if !self.balancer_is_idle() {
            return false;
        }
        if busiest.group_type == GroupType::SmtBalance && smt_vs_nonsmt_groups(self.local_flags(), self.busiest_group.flags) {
            return true;
        }
        let moves_the_hole = busiest.sums.group_weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1;
        !moves_the_hole && busiest.sum_h_nr_running != 1
    }
}
