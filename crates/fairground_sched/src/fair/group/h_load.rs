//! The load of a task as the root queue of its CPU sees it, through all groups above it.
//!
//! ```text
//! h_load(root)  = its load_avg
//! h_load(group) = h_load(above) * load_avg of the group's entity / (load_avg of the queue above + 1)
//! task          = load_avg * h_load(queue) / (load_avg of the queue + 1)
//! ```
//!
//! The products wrap, as loads do ([`SchedAvg`](crate::pelt::SchedAvg)).

use crate::Sched;
use crate::ctx::Ctx;
use fairground_stdx::{CfsRqId, TaskId};
use std::num::NonZeroU64;

impl Sched {
    /// That load; its hierarchical part is at most a jiffy old. Without groups it is the load of the task but for the
    /// rounding.
    ///
    /// Kernel: fair.c task_h_load(), v4.12–
    pub fn task_h_load(&mut self, cx: &Ctx<'_, '_>, task: TaskId) -> u64 {
        let cfs_rq = self.se(task).cfs_rq;
        let h_load = self.update_cfs_rq_h_load(cx.jiffies, cfs_rq);
        self.se_avg(task).load_avg.wrapping_mul(h_load) / (self.pelt_cfs[cfs_rq].load_avg + 1)
    }

    /// Brings the hierarchical load of a queue and of those above it up to date, each at most once a jiffy.
    ///
    /// Kernel: fair.c update_cfs_rq_h_load(), v4.12–
    fn update_cfs_rq_h_load(&mut self, jiffies: u64, queue: CfsRqId) -> u64 {
        let now = NonZeroU64::new(jiffies + 1);
        if self.cfs_rqs[queue].last_h_load_update == now {
            return self.cfs_rqs[queue].h_load;
        }
        let h_load = match self.cfs_rqs[queue].se {
            None => self.pelt_cfs[queue].load_avg,
            Some(se) => {
                let above = self.ses[se].cfs_rq;
                let h_load = self.update_cfs_rq_h_load(jiffies, above);
                h_load.wrapping_mul(self.pelt_se[se].load_avg) / (self.pelt_cfs[above].load_avg + 1)
            }
        };
        let cfs_rq = &mut self.cfs_rqs[queue];
        (cfs_rq.h_load, cfs_rq.last_h_load_update) = (h_load, now);
        h_load
    }
}
