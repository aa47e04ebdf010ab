//! Reading the rows of groups ahead, many at once.
//!
//! What happens to a task in a group happens to a handful of entities and queues, one after the other. Where there are
//! tens of thousands of them, most lines of their rows are in no near cache, and the processor, which looks a few hundred
//! instructions ahead, waits for hardly more than one at a time. So a word of each line is read before the work begins:
//! these reads do not depend on each other, and their waits fall together. Nothing is done with what they give, and no
//! result depends on them; docs/speed.md has what they gain.

use crate::Sched;
use fairground_stdx::{CfsRqId, SeId, TaskId};
use std::hint::black_box;

impl Sched {
    /// Reads the rows of a task, of all groups above it, and of their queues.
    #[inline]
    pub(crate) fn touch_levels(&self, task: TaskId) {
        if !self.groups.is_empty() {
            self.touch_levels_from(self.tasks[task].se);
        }
    }

    /// Reads the rows of an entity and of the queue that it is on.
    #[inline]
    pub(crate) fn touch_level(&self, se: SeId) {
        if !self.groups.is_empty() {
            self.touch_one_level(se);
        }
    }

    /// Reads the rows of groups' queues and of their entities.
    pub(crate) fn touch_queues(&self, queues: &[CfsRqId]) {
        let mut words = 0;
        for &queue in queues {
            words ^= self.queue_words(queue) ^ self.cfs_rqs[queue].se.map_or(0, |se| self.se_words(se));
        }
        black_box(words);
    }

    // The two are not inlined: without groups the callers keep their registers.
    #[inline(never)]
    fn touch_levels_from(&self, first: SeId) {
        let (mut level, mut words) = (Some(first), 0);
        while let Some(se) = level {
            words ^= self.se_words(se) ^ self.queue_words(self.ses[se].cfs_rq);
            level = self.ses[se].parent;
        }
        black_box(words);
    }

    #[inline(never)]
    fn touch_one_level(&self, se: SeId) {
        black_box(self.se_words(se) ^ self.queue_words(self.ses[se].cfs_rq));
    }

    /// A word of each line of an entity's rows that a tick needs.
    #[inline]
    fn se_words(&self, se: SeId) -> u64 {
        let (row, avg) = (&self.ses[se], &self.pelt_se[se]);
        row.exec_start ^ row.runnable_weight ^ avg.last_update_time ^ u64::from(avg.util_est.ewma)
    }

    /// The same of a queue's rows, and of its group's.
    #[inline]
    fn queue_words(&self, queue: CfsRqId) -> u64 {
        let (row, avg) = (&self.cfs_rqs[queue], &self.pelt_cfs[queue]);
        let group = row.tg.map_or(0, |tg| self.groups[tg].load_avg);
        let order = match self.profile.pick.is_eevdf() {
            true => row.avg_load ^ row.deadlines.first().map_or(0, |row| row.vruntime.0),
            false => 0,
        };
        let told = row.tg_load_avg_contrib ^ u64::from(row.idle_h_nr_running);
        let averages = avg.last_update_time ^ u64::from(avg.util_est.ewma);
        group ^ order ^ told ^ averages ^ row.load.weight() ^ row.removed.load_avg
    }
}
