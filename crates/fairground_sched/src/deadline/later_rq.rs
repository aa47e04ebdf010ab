//! Where a deadline task may run: a CPU without deadline tasks, else that of the latest deadline.

use super::DlRq;
use crate::Sched;
use crate::core::PushPull;
use crate::ctx::Ctx;
use crate::fair::select_task_rq::Wake;
use crate::seam::DlAdmission;
use fairground_model::Reason;
use fairground_stdx::{CpuId, CpuMask, TaskId};

impl Sched {
    /// Whether a CPU is fast enough for a task to have its runtime by its deadline, if nobody else runs.
    ///
    /// Kernel: sched.h dl_task_fits_capacity(), v5.9–
    fn dl_task_fits_capacity(&self, cx: &Ctx<'_, '_>, task: TaskId, cpu: CpuId) -> bool {
        let entity = &self.tasks[task].dl;
        let done = (u128::from(entity.dl_deadline) * u128::from(cx.machine.cpus[cpu].capacity)) >> 10;
        done >= u128::from(entity.dl_runtime)
    }

    /// The CPUs without deadline entities that a task may use, those that are fast enough if there are any, else the fastest; if
    /// there is none, the CPU with the latest deadline, if that is later than its own. Of CPUs of the same deadline the one of the
    /// lowest number, where a kernel has its heap's order.
    ///
    /// Kernel: cpudeadline.c cpudl_find(), v4.12–
    pub(super) fn cpudl_find(&self, cx: &Ctx<'_, '_>, task: TaskId) -> Option<CpuMask> {
        let allowed = self.tasks[task].cpus_allowed.and(&cx.machine.online);
        let mut free = CpuMask::EMPTY;
        let mut latest: Option<(u64, CpuId)> = None;
        for cpu in cx.machine.online.iter().filter(|&cpu| self.rqs[cpu].online) {
            match DlRq::first(&self.rqs[cpu]) {
                None if allowed.contains(cpu) => free.insert(cpu),
                Some(earliest) if latest.is_none_or(|found| earliest > found.0) => latest = Some((earliest, cpu)),
                _ => {}
            }
        }
        if free.is_empty() {
            let (deadline, cpu) = latest?;
            let later = allowed.contains(cpu) && self.tasks[task].dl.deadline < deadline;
            return later.then(|| CpuMask::only(cpu));
        }
        Some(self.fast_enough(cx, task, free))
    }

    fn fast_enough(&self, cx: &Ctx<'_, '_>, task: TaskId, free: CpuMask) -> CpuMask {
        if self.profile.dl_admission == DlAdmission::Cpus {
            return free;
        }
        let (mut fit, mut most, mut fastest) = (CpuMask::EMPTY, 0, None);
        for cpu in free.iter() {
            if self.dl_task_fits_capacity(cx, task, cpu) {
                fit.insert(cpu);
                continue;
            }
            let capacity = cx.machine.cpus[cpu].capacity;
            if capacity > most || (capacity == most && cpu == self.tasks[task].cpu) {
                (most, fastest) = (capacity, Some(cpu));
            }
        }
        match fastest {
            Some(cpu) if fit.is_empty() => CpuMask::only(cpu),
            _ => fit,
        }
    }

    /// Where a woken deadline task is queued: where it was, unless a deadline task runs there that does not give way to it, or cannot
    /// go elsewhere, or the CPU is too slow for it.
    ///
    /// Kernel: deadline.c select_task_rq_dl(), v4.12–
    #[cold]
    pub(crate) fn select_task_rq_dl(&mut self, cx: &mut Ctx<'_, '_>, task: TaskId, wake: Wake) -> (CpuId, Reason) {
        let prev = self.tasks[task].cpu;
        let stays = (prev, Reason::SelectDlPrev);
        if matches!(wake, Wake::Exec | Wake::Fork) {
            return stays;
        }
        let holds = self.rqs[prev].curr.is_some_and(|curr| DlRq::holds(self, curr, task));
        let slow = self.profile.dl_admission == DlAdmission::Capacity && !self.dl_task_fits_capacity(cx, task, prev);
        if !holds && !slow {
            return stays;
        }
        self.find_other_rq::<DlRq>(cx, task, self.tasks[task].dl.deadline).map_or(stays, |target| (target, Reason::SelectDlLater))
    }
}
