//! The stopper: the thread of the highest class that each CPU has. It runs as soon as a reschedule is served, on behalf of
//! another CPU that cannot take a running task away by itself.

use crate::core::{Leaving, Switch};
use crate::ctx::{Ctx, Request};
use crate::seam::StopperWakeup;
use crate::{BalanceStep, Sched};
use fairground_model::features::Feat;
use fairground_stdx::CpuId;

impl Sched {
    /// The stopper of `cpu` is woken: whatever runs there gives way.
    ///
    /// Kernel: stop_machine.c stop_one_cpu_nowait(), v4.12–
    pub fn wake_stopper(&mut self, cpu: CpuId) {
        let rq = &mut self.rqs[cpu];
        rq.need_resched = true;
        // It is one runnable task more: beside a single other one that is two, so that others look for tasks.
        self.topology.overload |= rq.nr_running == 1;
    }

    /// The stopper of another CPU is wanted there: the CPU is told, or gets it on its wake list.
    ///
    /// Kernel: stop_machine.c stop_one_cpu_nowait(), core.c ttwu_queue(), v4.12–
    pub(crate) fn ask_for_stopper(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let lists = self.profile.stopper_wakeup == StopperWakeup::WakeList && self.profile.feats.has(Feat::TTWU_QUEUE);
        if !lists || self.topology.cpus_share_cache(cx.cpu, cpu) {
            let at = cx.clock();
            cx.requests.push(Request::Stop { cpu, at });
            return;
        }
        self.put_on_wake_list(cx, cpu, |rq| rq.stopper_on_list = true);
    }

    /// The watchdog's timer has run out on `cpu`, which is on line: its stopper shall show that it still gets the CPU.
    ///
    /// Kernel: watchdog.c watchdog_timer_fn(), softlockup_fn(), v4.20– (a real-time thread before)
    pub fn wake_watchdog(&mut self, cpu: CpuId) {
        self.rqs[cpu].watchdog_due = true;
        self.wake_stopper(cpu);
    }

    /// Whether the stopper of `cpu` has something to do: to push a task, or to please the watchdog.
    #[inline]
    pub fn stop_work_due(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.watchdog_due || (rq.lb.push_cpu.is_some() && !rq.stopper_on_list)
    }

    /// The stopper of `cx.cpu` runs, one phase of it. The task that ran there is put down by then.
    ///
    /// Kernel: stop_machine.c cpu_stopper_thread(), v4.12–
    pub fn run_stopper(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        self.rqs[cx.cpu].watchdog_due = false;
        self.active_load_balance_cpu_stop(cx)
    }

    /// schedule() on `cx.cpu` whose stopper is due: the current task is put down, and the fair class is not asked. With
    /// `leaving` its first part is over already. The stopper runs until the next [`Sched::schedule_finish`].
    ///
    /// Kernel: core.c __schedule() with stop_task.c pick_next_task_stop(), v4.12–
    pub fn schedule_stopper(&mut self, cx: &mut Ctx<'_, '_>, leaving: Option<Leaving>) -> Switch {
        let leaving = leaving.unwrap_or_else(|| self.leave_cpu(cx));
        let rq = &mut self.rqs[cx.cpu];
        (rq.stop_running, rq.lb.newidle_found) = (true, false);
        self.note_idleness(cx.cpu);
        self.switch_to(cx, leaving, None)
    }
}
