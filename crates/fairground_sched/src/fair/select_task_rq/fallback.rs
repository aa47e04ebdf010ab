//! Where a task goes whose CPU is not allowed or off line.

use crate::Sched;
use crate::ctx::Ctx;
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl Sched {
    /// The first allowed CPU of the node of `cpu`, else the first allowed one; if none is on line the task may run
    /// anywhere from now on.
    ///
    /// Kernel: core.c select_fallback_rq(), v4.12–
    pub(crate) fn select_fallback_rq(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId, task: TaskId) -> CpuId {
        if let Some(found) = self.allowed_cpu_near(cx, cpu, task) {
            return found;
        }
        self.tasks[task].cpus_allowed = CpuMask::first_n(self.rqs.len());
        cx.decide(Reason::AffinityWidened, Some(task), cpu.get());
        self.allowed_cpu_near(cx, cpu, task).expect("invariant: one CPU is always on line")
    }

    fn allowed_cpu_near(&self, cx: &Ctx<'_, '_>, cpu: CpuId, task: TaskId) -> Option<CpuId> {
        let node = cx.machine.cpus[cpu].node;
        let allowed = &self.tasks[task].cpus_allowed;
        let online =
            || allowed.iter().take_while(|cpu| (cpu.get() as usize) < self.rqs.len()).filter(|&cpu| self.rqs[cpu].online);
        online().find(|&cpu| cx.machine.cpus[cpu].node == node).or_else(|| online().next())
    }
}
