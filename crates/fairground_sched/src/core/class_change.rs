//! sched_setscheduler() where the real-time or the deadline class is left, entered, or changed within.
//!
//! ```text
//! dequeue, put (old class) ── policy, weight ── enqueue, set (new class) ── switched_from, switched_to
//! ```

use crate::Sched;
use crate::ctx::Ctx;
use crate::deadline::Refused;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::sched::load_weight;
use crate::task::TaskState;
use fairground_model::Policy;
use fairground_stdx::TaskId;

impl Sched {
    /// Changes the policy of a task that is, or becomes, one of another class than the fair one.
    ///
    /// Kernel: core.c __sched_setscheduler(), check_class_changed(), v4.12–
    pub(super) fn change_class(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, policy: Policy) -> Result<(), Refused> {
        if self.tasks[task].state == TaskState::Dead {
            return Ok(());
        }
        self.end_migration(cx, task);
        let (old, old_prio, cpu) = (self.tasks[task].policy, self.tasks[task].prio(), self.tasks[task].cpu);
        if self.tasks[task].state == TaskState::New {
            // Its share is granted when it asks for that.
            self.note_policy(policy);
            let row = &mut self.tasks[task];
            (row.policy, row.asks_for) = (policy.at_birth(), Some(policy).filter(|policy| policy.deadline().is_some()));
            self.reweight_task(task);
            return Ok(());
        }
        self.dl_overflow(cx, task, policy)?;
        self.update_rq_clock(cx, cpu);
        if self.tasks[task].state == TaskState::Delayed {
            self.leave_after_delay(cx, task);
        }
        let queued = self.sched_change(cx, task, DequeueFlags::SAVE.with(DequeueFlags::MOVE), |sched, cx| {
            sched.set_policy(cx, task, policy);
            let less_urgent = old_prio < sched.tasks[task].prio();
            if less_urgent { EnqueueFlags::HEAD } else { EnqueueFlags::empty() }
        });
        self.check_class_changed(cx, task, old, old_prio, queued);
        self.start_fair_servers(cx);
        Ok(())
    }

    /// Kernel: core.c check_class_changed(), v4.12–
    fn check_class_changed(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, old: Policy, old_prio: i32, queued: bool) {
        let new = self.tasks[task].policy;
        match (old, new) {
            (Policy::Deadline(_), Policy::Deadline(_)) => return self.prio_changed_dl(cx, task, queued),
            _ if old.is_rt() && new.is_rt() => return self.prio_changed_rt(cx, task, queued, old_prio),
            (Policy::Deadline(_), _) => self.switched_from_dl(cx, task, queued),
            _ if old.is_fair() => self.switched_from_fair(cx, task, queued),
            _ => {}
        }
        match new {
            Policy::Deadline(_) => self.switched_to_dl(cx, task, queued),
            _ if new.is_rt() => self.switched_to_rt(cx, task, queued),
            _ => self.switched_to_fair(cx, task, queued),
        }
        // What is pulled then comes when the change is complete.
        match old {
            Policy::Deadline(_) => self.pull_after_dl(cx, task, queued),
            _ if old.is_rt() => self.switched_from_rt(cx, task, queued),
            _ => {}
        }
    }

    /// A task that is on no queue gets another policy, and the weight that goes with it.
    ///
    /// Kernel: core.c __setscheduler_params(), set_load_weight(), v4.12–
    fn set_policy(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, policy: Policy) {
        self.note_policy(policy);
        let attached = self.is_fair(task);
        if let Some(params) = policy.deadline() {
            self.uncount_dl(cx, task);
            self.set_dl_params(task, &params);
        }
        self.tasks[task].policy = policy;
        match attached {
            true => self.reweight_task(task),
            false => self.ses[self.tasks[task].se].load = load_weight(policy, self.tasks[task].nice),
        }
        if !policy.is_fair() && self.tasks[task].state == TaskState::Limbo {
            // Its new class knows no quota.
            let runs = self.rqs[self.tasks[task].cpu].curr == Some(task);
            self.tasks[task].state = if runs { TaskState::Running } else { TaskState::Queued };
        }
    }
}
