//! What a queue tells its group of its load, so that the group's queues on other CPUs can work out their shares.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::TgLoadUpdate;
use fairground_model::QueueAct;
use fairground_stdx::{CfsRqId, TgId};

/// Loads that changed by less than this part of what was told are not worth a write to a line that all CPUs share.
const TOLD_PART: u64 = 64;
/// 1 ms: how often at most a queue tells its load.
const RATE_LIMIT_NS: u64 = 1_000_000;

impl Sched {
    /// Tells the group of `queue` its load, if that has changed enough.
    ///
    /// |load_avg - told| > told / 64
    ///
    /// Kernel: fair.c update_tg_load_avg(), v4.12–
    pub(super) fn update_tg_load_avg(&mut self, cx: &mut Ctx<'_, '_>, queue: CfsRqId, tg: TgId) {
        let (load, cfs_rq) = (self.pelt_cfs[queue].load_avg, &mut self.cfs_rqs[queue]);
        // A call on another CPU that began later may have told already.
        let now = match self.profile.tg_load_update {
            TgLoadUpdate::OnChange | TgLoadUpdate::OnceAMillisecond => cx.sched_clock_cpu(cfs_rq.cpu),
            TgLoadUpdate::OnceByQueueClock => self.rqs[cfs_rq.cpu].clocks.clock,
        };
        let is_limited = self.profile.tg_load_update != TgLoadUpdate::OnChange;
        let too_soon = match self.tells_by_record {
            true => cfs_rq.last_update_tg_load_avg != 0,
            false => now.saturating_sub(cfs_rq.last_update_tg_load_avg) < RATE_LIMIT_NS,
        };
        if too_soon && is_limited {
            return;
        }
        let told = cfs_rq.tg_load_avg_contrib;
        if load.abs_diff(told) > told / TOLD_PART {
            cfs_rq.tg_load_avg_contrib = load;
            cfs_rq.last_update_tg_load_avg = now;
            let (cpu, sum) = (cfs_rq.cpu, &mut self.groups[tg].load_avg);
            *sum = *sum - told + load;
            if is_limited && cx.trace.wants_samples() {
                self.tell(cx, cpu, QueueAct::Tell, (Some(tg), None));
            }
        }
    }
}
