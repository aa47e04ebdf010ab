//! Seam `select_task_rq`: on which CPU a woken or new task is queued.
//!
//! Contract: the answer is one of the task's allowed CPUs that the machine has; the reason is recorded.
//! The one variant so far is `nearest-idle`, which no kernel uses: docs/limits.md says what it leaves out.

mod nearest_idle;

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::Reason;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Kernel: core.c select_task_rq(), v4.12–
    pub(crate) fn select_task_rq(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, fork: bool) -> CpuId {
        let allowed = &self.tasks[task].cpus_allowed;
        let prev = self.tasks[task].cpu;
        let first = allowed.first().expect("invariant: a task has at least one allowed CPU of the machine");
        let (cpu, reason) = if allowed.next_from(first.get() + 1).is_none() {
            (first, Reason::SelectOnlyAllowed)
        } else if fork {
            (self.fewest_tasks(cx, prev, allowed), Reason::SelectFewest)
        } else {
            self.nearest_idle(cx, prev, allowed)
        };
        cx.decide(reason, Some(task), cpu.get());
        cpu
    }
}
