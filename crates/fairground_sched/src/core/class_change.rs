//! sched_setscheduler() where the real-time class is left, entered, or changed within.
//!
//! ```text
//! dequeue, put (old class) ── policy, weight ── enqueue, set (new class) ── switched_from, switched_to
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::sched::load_weight;
use crate::task::TaskState;
use fairground_model::Policy;
use fairground_stdx::TaskId;

impl Sched {
    /// Changes the policy of a task that is, or becomes, a real-time task.
    ///
    /// Kernel: core.c __sched_setscheduler(), check_class_changed(), v4.12–
    pub(super) fn change_rt_policy(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, policy: Policy) {
        self.end_migration(cx, task);
        let (was_rt, old_prio, cpu) = (self.is_rt(task), self.tasks[task].prio(), self.tasks[task].cpu);
        match self.tasks[task].state {
            TaskState::Dead => return,
            TaskState::New => {
                self.note_policy(policy);
                self.tasks[task].policy = policy;
                return self.reweight_task(task);
            }
            _ => {}
        }
        self.update_rq_clock(cx, cpu);
        if self.tasks[task].state == TaskState::Delayed {
            self.leave_after_delay(cx, task);
        }
        let queued = self.tasks[task].state.is_on_rq();
        let running = self.rqs[cpu].curr == Some(task);
        if queued {
            self.dequeue_task(cx, task, DequeueFlags::SAVE.with(DequeueFlags::MOVE));
        }
        if running {
            self.put_prev_task(cx, task);
        }
        self.set_policy(task, policy);
        if queued {
            let less_urgent = old_prio < self.tasks[task].prio();
            let head = if less_urgent { EnqueueFlags::HEAD } else { EnqueueFlags::empty() };
            self.enqueue_task(cx, task, EnqueueFlags::RESTORE.with(head));
        }
        if running {
            self.set_next_task(cx, task);
        }
        match (was_rt, self.is_rt(task)) {
            (false, _) => {
                self.switched_from_fair(cx, task, queued);
                self.switched_to_rt(cx, task, queued);
            }
            (true, false) => {
                self.switched_to_fair(cx, task, queued);
                self.switched_from_rt(cx, task, queued);
            }
            (true, true) => self.prio_changed_rt(cx, task, queued, old_prio),
        }
    }

    /// A task that is on no queue gets another policy, and the weight that goes with it.
    ///
    /// Kernel: core.c __setscheduler_params(), set_load_weight(), v4.12–
    fn set_policy(&mut self, task: TaskId, policy: Policy) {
        self.note_policy(policy);
        let attached = !self.is_rt(task);
        self.tasks[task].policy = policy;
        match attached {
            true => self.reweight_task(task),
            false => self.ses[self.tasks[task].se].load = load_weight(policy, self.tasks[task].nice),
        }
    }
}
