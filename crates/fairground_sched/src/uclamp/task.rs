//! What a task asks for, and what it gets.

use super::{ClampId, Clamps, TaskClamps};
use crate::Sched;
use crate::ctx::Ctx;
use crate::seam::Uclamp;
use fairground_model::UtilClamp;
use fairground_stdx::{CpuId, TaskId};

impl Sched {
    /// A new task asks for that.
    pub(crate) fn add_task_clamps(&mut self, req: UtilClamp) {
        self.uclamps.used |= req != UtilClamp::NONE;
        self.uclamps.tasks.push(TaskClamps { req, counted: None, joined: 0 });
    }

    /// A child asks for what its parent does, unless it says otherwise.
    ///
    /// Kernel: core.c uclamp_fork(), v5.3–
    pub(crate) fn inherit_clamps(&mut self, parent: Option<TaskId>, child: TaskId) {
        if let Some(parent) = parent {
            let req = self.uclamps.tasks[parent].req.with(self.uclamps.tasks[child].req);
            self.uclamps.tasks[child].req = req;
        }
    }

    /// A task asks for clamps; those left open stay. From the first of such requests on tasks that become runnable count. False: it may not have them (EINVAL), and nothing changes.
    ///
    /// Kernel: core.c uclamp_validate(), __setscheduler_uclamp(), v5.3–
    pub fn set_clamp(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, clamp: UtilClamp) -> bool {
        let wanted = self.uclamps.tasks[task].req.with(clamp);
        if !self.profile.uclamp.has_tasks() || !wanted.is_valid() {
            return false;
        }
        self.uclamps.used = true;
        self.change_off_queue(cx, task, |sched| sched.uclamps.tasks[task].req = wanted);
        true
    }

    /// What a task asks for; a real-time task that says nothing asks for all that there is.
    ///
    /// Kernel: core.c uclamp_update_util_min_rt_default(), v5.9– (__setscheduler_uclamp() before)
    fn request(&self, task: TaskId, id: ClampId) -> u32 {
        let unset = match id {
            ClampId::Min if self.is_rt(task) => self.uclamps.rt_default,
            _ => id.none(),
        };
        id.of(self.uclamps.tasks[task].req).unwrap_or(unset)
    }

    /// A task's request within what its group allows. The root group allows everything.
    ///
    /// Kernel: core.c uclamp_tg_restrict(), v5.4–
    fn uclamp_tg_restrict(&self, task: TaskId, id: ClampId) -> u32 {
        let request = self.request(task, id);
        let Some(group) = self.tasks[task].group else { return request };
        let group = self.uclamps.groups[group].effective;
        match self.profile.uclamp {
            Uclamp::None | Uclamp::Tasks => request,
            Uclamp::GroupCeiling => {
                let says_nothing = id.of(self.uclamps.tasks[task].req).is_none();
                if says_nothing || request > group.get(id) { group.get(id) } else { request }
            }
            // The least of a group is never above its most.
            Uclamp::GroupRange => request.clamp(group.min, group.max),
        }
    }

    /// What a task would count with now.
    ///
    /// Kernel: core.c uclamp_eff_get(), v5.3–
    pub(super) fn uclamp_eff_get(&self, task: TaskId) -> Clamps {
        let value = |id| self.uclamp_tg_restrict(task, id).min(self.uclamps.system.get(id));
        Clamps { min: value(ClampId::Min), max: value(ClampId::Max) }
    }

    /// What a task counts with, or would count with.
    ///
    /// Kernel: core.c uclamp_eff_value(), v5.3–
    #[inline]
    pub(crate) fn uclamp_eff_value(&self, task: TaskId) -> Clamps {
        if !self.uclamps.used {
            return Clamps::NONE;
        }
        self.uclamps.tasks[task].counted.unwrap_or_else(|| self.uclamp_eff_get(task))
    }

    /// Whether anybody has asked for clamps: as long as nobody has, nothing is counted.
    pub fn uses_clamps(&self) -> bool {
        self.uclamps.used
    }

    /// What a task asks for.
    pub fn requested_clamp(&self, task: TaskId) -> UtilClamp {
        self.uclamps.tasks[task].req
    }

    /// The least and the most of a CPU, as its runnable tasks make them.
    pub fn cpu_clamps(&self, cpu: CpuId) -> (u32, u32) {
        let Clamps { min, max } = self.uclamp_rq_get(cpu);
        (min, max)
    }

    /// The least and the most that a task counts with: what /proc/PID/sched shows as effective uclamp.min and uclamp.max.
    pub fn effective_clamp(&self, task: TaskId) -> (u32, u32) {
        let Clamps { min, max } = self.uclamp_eff_value(task);
        (min, max)
    }
}
