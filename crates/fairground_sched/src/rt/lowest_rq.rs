//! Where a real-time task may run: the CPUs of the lowest priority.

use super::RtRq;
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::fair::select_task_rq::Wake;
use crate::seam::{CpupriDeadline, RtFit};
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl Sched {
    /// The CPUs that a task may use whose highest queued priority is lowest, if that is lower than its own. One with fair tasks is as
    /// low as an idle one; one of which a deadline entity was written last is higher than all (CPUPRI_HIGHER). Where CPUs differ, only those count that have what
    /// the task asks for, if any has.
    ///
    /// Kernel: cpupri.c cpupri_find_fitness(), v5.6– (cpupri_find() before)
    pub(super) fn cpupri_find(&self, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask> {
        let fitting =
            self.rt_looks_for_capacity().then(|| self.lowest_cpus(cx, task, |cpu| self.rt_task_fits_capacity(task, cpu)));
        fitting.flatten().or_else(|| self.lowest_cpus(cx, task, |_| true))
    }

    /// Of the CPUs for which `fits` holds.
    fn lowest_cpus(&self, cx: &Ctx<'_, '_>, task: TaskId, fits: impl Fn(CpuId) -> bool) -> Option<CpuMask> {
        let allowed = self.tasks[task].cpus_allowed.and(&cx.machine.online);
        let (mut lowest, mut mask) = (self.rt_prio(task), CpuMask::EMPTY);
        let open = |&cpu: &CpuId| self.rqs[cpu].online && !self.rqs[cpu].rt.cpupri_higher && fits(cpu);
        for cpu in allowed.iter().filter(open) {
            let prio = self.rqs[cpu].rt.highest_prio();
            if prio > lowest {
                (lowest, mask) = (prio, CpuMask::EMPTY);
            }
            if prio == lowest && lowest > self.rt_prio(task) {
                mask.insert(cpu);
            }
        }
        (!mask.is_empty()).then_some(mask)
    }

    /// The first deadline entity has come to a CPU, or the last one has left it.
    ///
    /// Kernel: deadline.c inc_dl_deadline(), dec_dl_deadline() with cpupri_set(), v5.11–
    pub(crate) fn cpupri_set_by_dl(&mut self, cpu: CpuId) {
        let counts = self.profile.cpupri_deadline == CpupriDeadline::Higher;
        self.rqs[cpu].rt.cpupri_higher = counts && self.rqs[cpu].dl.is_runnable();
    }

    /// The highest priority of the real-time tasks of a CPU is another one than `before`: it is written over what a deadline entity has
    /// written. Off line nothing is written.
    ///
    /// Kernel: rt.c inc_rt_prio_smp(), dec_rt_prio_smp(), v4.12–
    pub(super) fn cpupri_set_by_rt(&mut self, cpu: CpuId, before: u8) {
        let rq = &mut self.rqs[cpu];
        if rq.online && rq.rt.highest_prio() != before {
            rq.rt.cpupri_higher = false;
        }
    }

    /// All CPUs come to new domains, which know of their real-time tasks only.
    ///
    /// Kernel: topology.c rq_attach_root(), rt.c rq_online_rt(), v4.12–
    pub(crate) fn cpupri_set_anew(&mut self) {
        self.rqs.iter_mut().for_each(|rq| rq.rt.cpupri_higher = false);
    }

    /// Where a woken or new real-time task is queued: where it was, unless a real-time or deadline task runs there that does not give way
    /// to it, or cannot go elsewhere, or the CPU has less than it asks for and another that is of lower priority has that.
    ///
    /// Kernel: rt.c select_task_rq_rt(), v4.12–
    #[cold]
    pub(crate) fn select_task_rq_rt(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wake: Wake) -> (CpuId, Reason) {
        let prev = self.tasks[task].cpu;
        let stays = (prev, Reason::SelectRtPrev);
        let held = self.rqs[prev].curr.is_some_and(|curr| RtRq::holds(self, curr, task));
        if wake == Wake::Exec || (!held && self.rt_task_fits_capacity(task, prev)) {
            return stays;
        }
        match self.find_other_rq::<RtRq>(cx, task, self.rt_prio(task)) {
            Some(target) if held || self.rt_task_fits_capacity(task, target) => (target, Reason::SelectRtLowest),
            _ => stays,
        }
    }

    /// Whether real-time tasks look for capacity: CPUs differ, and clamps are in use.
    fn rt_looks_for_capacity(&self) -> bool {
        self.profile.rt_fit == RtFit::Capacity && self.topology.asym_cpucap_active && self.uclamps.is_used()
    }

    /// Whether a CPU has what a task asks for; whoever asks for more than it may have asks for that.
    ///
    /// Kernel: rt.c rt_task_fits_capacity(), v5.6–
    fn rt_task_fits_capacity(&self, task: TaskId, cpu: CpuId) -> bool {
        let clamps = self.uclamp_eff_value(task);
        !self.rt_looks_for_capacity() || self.capacity_orig_of(cpu) >= u64::from(clamps.min.min(clamps.max))
    }
}
