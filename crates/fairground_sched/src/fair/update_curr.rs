//! Accounting of run time.
//!
//! ```text
//! delta    = clock_task - exec_start                 ns of running since the last account
//! vruntime += delta * 1024 / weight                  nice 0: one to one
//! min_vruntime = max(min_vruntime, min(curr, leftmost))
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::weight::{ScaleLoadDown, calc_delta_fair};
use crate::fair::{CfsRq, SchedEntity};
use fairground_model::TraceEvent;
use fairground_stdx::{CfsRqId, Ns, Vruntime};

impl Sched {
    /// Accounts the running entity of `cfs_rq` up to the queue's task clock.
    ///
    /// Kernel: fair.c update_curr(), v4.12–v6.5
    #[inline]
    pub(crate) fn update_curr(&mut self, cx: &mut Ctx<'_, '_>, cfs_rq: CfsRqId) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        let Some(curr) = queue.curr else { return };
        let now = self.rqs[queue.cpu].clocks.clock_task;
        account(cx, self.profile.scale_load_down, now, queue, &mut self.ses[curr]);
    }

    /// Moves the floor of virtual time up to the smaller of the running and the leftmost entity.
    ///
    /// Kernel: fair.c update_min_vruntime(), v4.12–v6.5
    #[inline]
    pub(crate) fn update_min_vruntime(&mut self, cfs_rq: CfsRqId) {
        let queue = &mut self.cfs_rqs[cfs_rq];
        let curr = queue.curr.map(|se| &self.ses[se]).filter(|se| se.on_rq).map(|se| se.vruntime);
        raise_min_vruntime(queue, curr);
    }
}

/// Accounts `se`, the running entity of `queue`, up to `now` on the task clock.
///
/// Kernel: fair.c update_curr(), v4.12–v6.5
#[inline]
pub(super) fn account(cx: &mut Ctx<'_, '_>, down: ScaleLoadDown, now: u64, queue: &mut CfsRq, se: &mut SchedEntity) {
    let delta = now.wrapping_sub(se.exec_start) as i64;
    if delta <= 0 {
        return;
    }
    let delta = delta as u64;
    se.exec_start = now;
    se.sum_exec_runtime += delta;
    se.vruntime = se.vruntime.plus(calc_delta_fair(down, delta, &mut se.load));
    raise_min_vruntime(queue, se.on_rq.then_some(se.vruntime));
    if let Some(task) = se.task {
        cx.record(TraceEvent::SchedStatRuntime { task, runtime: Ns(delta), vruntime: Some(se.vruntime) });
    }
}

#[inline]
fn raise_min_vruntime(queue: &mut CfsRq, curr: Option<Vruntime>) {
    let leftmost = queue.timeline.first().map(|row| row.0);
    let candidate = match (curr, leftmost) {
        (Some(curr), Some(left)) => curr.min(left),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return,
    };
    queue.min_vruntime = queue.min_vruntime.max(candidate);
}
