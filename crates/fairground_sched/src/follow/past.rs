//! What lies before a record and is told by nothing but what it shows later: the place of a task in virtual time.

use crate::Sched;
use crate::task::TaskState;
use fairground_stdx::{SeId, TaskId};

/// How far a wakee was before the running task, and how far it had to be to preempt, in virtual ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeupLead {
    /// Its lead; negative: it was behind.
    pub lead: i64,
    /// The lead that preempts must be larger than this.
    pub granularity: u64,
}

impl Sched {
    /// Moves a task whose place was never told so far in virtual time, with its deadline and its protection.
    pub fn follow_vruntime(&mut self, task: TaskId, by: i64) {
        let id = self.se_of(task);
        let waits = self.ses[id].on_rq && self.cfs_rqs[self.ses[id].cfs_rq].curr != Some(id);
        let mut level = self.level(id);
        if waits {
            level.dequeue_from_order();
        }
        let se = &mut *level.se;
        for place in [&mut se.vruntime, &mut se.deadline, &mut se.vprot] {
            *place = place.plus(by as u64);
        }
        if waits {
            level.enqueue_in_order();
        }
    }

    /// The lead of `wakee` over the running task `curr`, if both stand on one queue and this kernel decides by it.
    pub fn wakeup_lead(&mut self, curr: TaskId, wakee: TaskId) -> Option<WakeupLead> {
        let pair = (self.se_of(curr), self.se_of(wakee));
        if self.profile.pick.is_eevdf() || self.ses[pair.0].cfs_rq != self.ses[pair.1].cfs_rq {
            return None;
        }
        let lead = self.ses[pair.0].vruntime.since(self.ses[pair.1].vruntime);
        Some(WakeupLead { lead, granularity: self.wakeup_gran(pair.1) })
    }

    /// A wake-up preempted by the record, or did not: the wakee is preferred at the next pick, or is not.
    ///
    /// Kernel: fair.c check_preempt_wakeup() with set_next_buddy(), v4.12–v6.5
    pub fn follow_wakeup_preemption(&mut self, wakee: TaskId, did: bool) {
        let se: SeId = self.se_of(wakee);
        if self.profile.pick.is_eevdf() || !self.ses[se].on_rq {
            return;
        }
        match did {
            true => self.set_next_buddy(se),
            false => self.clear_buddies(self.ses[se].cfs_rq, se),
        }
    }
    /// A task that was taken off its queue for another class has slept there, and is a fair one again.
    ///
    /// Kernel: fair.c switched_to_fair(), v4.12–
    pub fn follow_rest(&mut self, task: TaskId) {
        let (se, cpu) = (self.se_of(task), self.tasks[task].cpu);
        self.tasks[task].state = TaskState::Asleep;
        if !self.profile.place.keeps_lag() {
            let floor = self.cfs_rq(cpu).min_vruntime.0;
            self.ses[se].vruntime = self.ses[se].vruntime.plus(floor);
        }
    }
}
