//! sched_setscheduler() where the real-time or the deadline class is left, entered, or changed within.
//!
//! ```text
//! dequeue, put (old class) ── policy, weight ── enqueue, set (new class) ── switched_from, switched_to
//! dequeue, put, switched_from ── policy, weight ── enqueue, set (new class) ── switched_to        v6.19 on
//! ```

use crate::Sched;
use crate::core::Arrival;
use crate::ctx::Ctx;
use crate::deadline::Refused;
use crate::fair::{DequeueFlags, EnqueueFlags};
use crate::sched::load_weight;
use crate::seam::{ClassChanged, ClassLeft};
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
            row.policy = policy.at_birth();
            row.asks_for = Some(policy).filter(|policy| policy.deadline().is_some()).map(Box::new);
            self.reweight_task(task);
            return Ok(());
        }
        self.dl_overflow(cx, task, policy)?;
        self.update_rq_clock(cx, cpu);
        if self.tasks[task].state == TaskState::Delayed {
            self.util_est_of_delayed(cx, task);
            self.leave_after_delay(cx, task);
        }
        let (queued, old_deadline) = (self.tasks[task].state.is_on_rq(), self.dl_deadline(cx, task));
        // Who goes from one real-time policy to another with the same priority keeps its place.
        let keeps_place = old_prio == policy.prio(self.tasks[task].nice);
        let flags = if keeps_place { DequeueFlags::SAVE } else { DequeueFlags::SAVE.with(DequeueFlags::MOVE) };
        self.sched_change(cx, task, flags, |sched, cx| {
            if sched.profile.class_left == ClassLeft::First {
                sched.leave_class(cx, task, old, policy, queued);
            }
            sched.set_policy(cx, task, policy);
            let less_urgent = old_prio < sched.tasks[task].prio();
            if less_urgent { EnqueueFlags::HEAD } else { EnqueueFlags::empty() }
        });
        if self.profile.class_left == ClassLeft::Last {
            self.leave_class(cx, task, old, policy, queued);
        }
        match (old, policy) {
            (Policy::Deadline(_), Policy::Deadline(_)) => self.prio_changed_dl(cx, task, queued, old_deadline),
            _ if old.is_rt() && policy.is_rt() => self.prio_changed_rt(cx, task, queued, old_prio),
            _ => self.come_to_class(cx, task, old, queued),
        }
        self.start_fair_servers(cx);
        Ok(())
    }

    /// Kernel: core.c check_class_changed() up to v6.18, sched_change_begin() from v6.19, v4.12–
    fn leave_class(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, old: Policy, new: Policy, queued: bool) {
        match (old, new) {
            (Policy::Deadline(_), Policy::Deadline(_)) => {}
            (Policy::Deadline(_), _) => self.switched_from_dl(cx, task, queued),
            _ if old.is_fair() => self.switched_from_fair(cx, task, queued),
            _ => {}
        }
    }

    /// Kernel: core.c check_class_changed() up to v6.18, sched_change_end() from v6.19, v4.12–
    fn come_to_class(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, old: Policy, queued: bool) {
        let new = self.tasks[task].policy;
        match new {
            Policy::Deadline(_) => self.switched_to_dl(cx, task, queued),
            _ if new.is_rt() => self.switched_to_rt(cx, task, queued),
            _ => self.switched_to_fair(cx, task, queued),
        }
        if queued && self.profile.class_changed == ClassChanged::Always {
            self.choose_after_class_change(cx, task, old);
        }
        // What is pulled then comes when the change is complete.
        match old {
            Policy::Deadline(_) => self.pull_after_dl(cx, task, queued),
            _ if old.is_rt() => self.switched_from_rt(cx, task, queued),
            _ => {}
        }
    }

    /// A waiting task may preempt as one that was woken. A running one gives way: one that rose preempts what it was itself, and its
    /// CPU need not read the clock again then; one that fell is asked last.
    ///
    /// Kernel: core.c sched_change_end(), wakeup_preempt(), v7.2–
    fn choose_after_class_change(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, old: Policy) {
        let cpu = self.tasks[task].cpu;
        if self.rqs[cpu].curr != Some(task) {
            return self.check_preempt_curr(cx, cpu, task, Arrival::Plain);
        }
        let rank = |policy: Policy| (policy.deadline().is_some(), policy.is_rt());
        if rank(old) < rank(self.tasks[task].policy) {
            self.resched_curr(cx, cpu);
        }
        self.skip_clock_if_due(cpu);
        self.resched_curr(cx, cpu);
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
