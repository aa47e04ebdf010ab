//! Tasks that need a bigger CPU than the one that they run on.

use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::{Misfit, MisfitAtPick};
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// Whether the kernel looks for tasks that are too big for their CPU.
    #[inline]
    pub(super) fn knows_misfits(&self) -> bool {
        self.profile.misfit != Misfit::Ignored
    }

    /// `cpu` runs `task` from now on, or still does at the tick, or it is about to look for tasks: notes the load of a task that does
    /// not fit, for balance. Nothing where all CPUs are alike.
    ///
    /// Kernel: fair.c update_misfit_status(), v4.20–
    #[inline]
    pub(crate) fn update_misfit_status(&mut self, cx: &Ctx<'_, '_>, cpu: CpuId, task: Option<TaskId>) {
        if self.topology.asym_cpucap_active && self.knows_misfits() {
            self.rqs[cpu].lb.misfit_task_load = match task {
                Some(task) if self.is_misfit(cx, cpu, task) => self.task_h_load(cx, task).max(1),
                _ => 0,
            };
        }
    }

    /// schedule() has put `next` on the calling CPU, after `prev`; its averages were aged by that. A task of a higher class leaves
    /// what is noted.
    ///
    /// Kernel: fair.c set_next_task_fair() from v6.12, pick_next_task_fair() before, v4.20–
    #[inline]
    pub(crate) fn misfit_at_pick(&mut self, cx: &Ctx<'_, '_>, prev: Option<TaskId>, next: Option<TaskId>) {
        let always = self.profile.misfit_at_pick == MisfitAtPick::Always;
        if next.is_some_and(|next| (always || prev != Some(next)) && self.is_fair(next)) {
            self.update_misfit_status(cx, cx.cpu, next);
        }
    }

    fn is_misfit(&self, cx: &Ctx<'_, '_>, cpu: CpuId, task: TaskId) -> bool {
        let allowed = &self.tasks[task].cpus_allowed;
        let could_move = match self.profile.misfit {
            Misfit::Ignored => false,
            Misfit::Running => true,
            Misfit::Movable => allowed.weight() > 1,
            Misfit::BiggerCpu => allowed.iter().any(|other| cx.machine.cpus[other].capacity > cx.machine.cpus[cpu].capacity),
        };
        could_move && !self.task_fits_cpu(task, cpu)
    }
}
