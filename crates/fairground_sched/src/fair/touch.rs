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

    /// Reads the rows of an entity that was picked, and of the queue below it, from which is picked next.
    #[inline]
    pub(crate) fn touch_picked(&self, se: SeId) {
        if !self.groups.is_empty() {
            self.touch_one_picked(se);
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

    /// Reads the rows of tasks, of which some queues may have one to tell.
    pub(crate) fn touch_tasks(&self, tasks: impl Iterator<Item = TaskId>) {
        black_box(tasks.fold(0, |words, task| {
            let row = &self.tasks[task];
            words ^ self.se_words(row.se) ^ u64::from(row.throttled)
        }));
    }

    // These are not inlined: without groups the callers keep their registers.
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
    fn touch_one_picked(&self, se: SeId) {
        black_box(self.se_words(se) ^ self.ses[se].my_q.map_or(0, |below| self.queue_words(below)));
    }

    /// A word of each line of an entity's rows.
    #[inline]
    fn se_words(&self, se: SeId) -> u64 {
        let row = &self.ses[se];
        row.exec_start ^ row.vlag as u64 ^ self.pelt_se[se].last_update_time
    }

    /// The same of a queue's rows, and of its group's.
    #[inline]
    fn queue_words(&self, queue: CfsRqId) -> u64 {
        let row = &self.cfs_rqs[queue];
        let group = row.tg.map_or(0, |tg| self.groups[tg].load_avg);
        let order = match self.profile.pick.is_eevdf() {
            true => row.avg_load ^ row.deadlines.first().map_or(0, |row| row.vruntime.0),
            false => row.h_load,
        };
        let stands_still = self.bandwidth.touch(queue);
        group ^ order ^ row.tg_load_avg_contrib ^ self.pelt_cfs[queue].last_update_time ^ row.load.weight() ^ stands_still
    }
}
