//! What is written in cpu.uclamp.min and cpu.uclamp.max of groups.

use super::{ClampId, Clamps, GroupClamps};
use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::UtilClamp;
use fairground_stdx::{TaskId, TgId};

impl Sched {
    /// A new group, which is the last row, has that written in its files.
    pub(crate) fn add_group_clamps(&mut self, clamp: UtilClamp) {
        self.uclamps.used |= clamp != UtilClamp::NONE;
        let req = Clamps { min: clamp.min.unwrap_or(Clamps::NONE.min), max: clamp.max.unwrap_or(Clamps::NONE.max) };
        let group = self.uclamps.groups.push(GroupClamps { req, effective: req });
        self.uclamps.groups[group].effective = self.restricted(group);
    }

    /// Writes the files of a group; what is left open stays. Its runnable tasks, and those of groups below it, count with the new
    /// values at once.
    ///
    /// Kernel: core.c cpu_uclamp_write(), cpu_util_update_eff(), v5.4–
    pub fn cpu_uclamp_write(&mut self, cx: &mut Ctx<'_, '_>, group: TgId, clamp: UtilClamp) {
        self.uclamps.used = true;
        let req = &mut self.uclamps.groups[group].req;
        for id in ClampId::ALL {
            if let Some(value) = id.of(clamp) {
                req.set(id, value);
            }
        }
        self.cpu_util_update_eff(cx, group);
    }

    /// A task has been born in its group, or has moved there: the group goes through its tasks in that order.
    ///
    /// Kernel: cgroup.c css_set_move_task(), v4.12–
    pub(crate) fn joins_group(&mut self, task: TaskId) {
        self.uclamps.joins += 1;
        self.uclamps.tasks[task].joined = self.uclamps.joins;
    }

    /// What a group has is at most what the group above has, and its least at most its most.
    ///
    /// Kernel: core.c cpu_util_update_eff(), v5.4–
    fn restricted(&self, group: TgId) -> Clamps {
        let above = self.groups[group].parent.map_or(self.uclamps.system, |parent| self.uclamps.groups[parent].effective);
        let req = self.uclamps.groups[group].req;
        let (min, max) = (req.min.min(above.min), req.max.min(above.max));
        Clamps { min: min.min(max), max }
    }

    /// Takes the values of a group anew, and those of the groups below if that has changed anything.
    fn cpu_util_update_eff(&mut self, cx: &mut Ctx<'_, '_>, group: TgId) {
        let effective = self.restricted(group);
        if std::mem::replace(&mut self.uclamps.groups[group].effective, effective) == effective {
            return;
        }
        let mut inside: Vec<TaskId> = self.tasks.ids().filter(|&task| self.tasks[task].group == Some(group)).collect();
        inside.sort_by_key(|&task| self.uclamps.tasks[task].joined);
        for task in inside {
            self.count_rq_lock(cx, self.tasks[task].cpu);
            self.uclamp_update_active(task);
        }
        for child in self.groups[group].children.clone() {
            self.cpu_util_update_eff(cx, child);
        }
    }
}
