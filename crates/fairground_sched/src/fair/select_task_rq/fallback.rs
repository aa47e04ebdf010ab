//! Where a task goes whose CPU is not allowed or off line.

use crate::Sched;
use crate::ctx::Ctx;
use crate::fair::{DequeueFlags, EnqueueFlags};
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl Sched {
    /// The first allowed CPU of the node of `cpu`, else the first allowed one; if none is on line the task may run
    /// anywhere from now on, and goes to the first CPU of all.
    ///
    /// Kernel: core.c select_fallback_rq(), do_set_cpus_allowed(), v4.12–
    pub(crate) fn select_fallback_rq(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, task: TaskId) -> CpuId {
        if let Some(found) = self.allowed_cpu_near(cx, cpu, task) {
            return found;
        }
        let all = self.shared_mask(CpuMask::first_n(self.rqs.len()));
        match self.tasks[task].state.is_on_rq() {
            true => {
                // As any change, it takes the task off its queue and puts it back.
                self.update_clock_of(cx, task);
                self.sched_change(cx, task, DequeueFlags::SAVE, |sched, _| {
                    sched.tasks[task].cpus_allowed = all;
                    EnqueueFlags::empty()
                });
            }
            false => self.tasks[task].cpus_allowed = all,
        }
        cx.decide(Reason::AffinityWidened, Some(task), cpu.get());
        // The near ones have been looked at.
        self.rqs.ids().find(|&cpu| self.rqs[cpu].online).expect("invariant: one CPU is always on line")
    }

    fn allowed_cpu_near(&self, cx: &Ctx<'_, '_>, cpu: CpuId, task: TaskId) -> Option<CpuId> {
        let node = cx.machine.cpus[cpu].node;
        let allowed = &self.tasks[task].cpus_allowed;
        let online =
            || allowed.iter().take_while(|cpu| (cpu.get() as usize) < self.rqs.len()).filter(|&cpu| self.rqs[cpu].online);
        online().find(|&cpu| cx.machine.cpus[cpu].node == node).or_else(|| online().next())
    }
}
