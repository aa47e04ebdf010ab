//! The stopper: the thread of the highest class that each CPU has. It runs as soon as a reschedule is served, on behalf of
//! another CPU that cannot take a running task away by itself.

use crate::core::{Leaving, Switch};
use crate::ctx::Ctx;
use crate::seam::{IdleTimeEnd, StopperWakeup};
use crate::{BalanceStep, Sched};
use fairground_model::features::Feat;
use fairground_stdx::CpuId;

impl Sched {
    /// The stopper of `cpu` is woken: whatever runs there gives way. As any wake-up this reads the clock of the CPU, and asks the
    /// schedule() that follows not to read it again; an idle time ends. It is one runnable task more. One that runs goes on with the next
    /// work by itself.
    ///
    /// Kernel: stop_machine.c stop_one_cpu_nowait(), core.c ttwu_do_activate(), v4.12–
    pub(crate) fn wake_stopper(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.rqs[cpu].stopper_queued {
            return;
        }
        self.add_counted(cpu, |rq| rq.stopper_queued = true);
        self.stopper_preempts(cx, cpu);
    }

    /// A stopper is woken to move the task that runs on `cpu`, which is off the queue as soon as it calls schedule(). The stopper is the
    /// second task there, so the CPU tells the others that somebody waits, although nobody will.
    ///
    /// Kernel: stop_machine.c stop_one_cpu(), sched.h add_nr_running(), v4.12–
    pub(super) fn stopper_comes_for_curr(&mut self, cpu: CpuId) {
        let queued = self.rqs[cpu].stopper_queued;
        self.add_counted(cpu, |rq| rq.stopper_queued = true);
        self.rqs[cpu].stopper_queued = queued;
        self.note_idleness(cpu);
    }

    /// What any wake-up of a stopper does to its CPU.
    ///
    /// Kernel: core.c ttwu_queue(), ttwu_do_activate(), v4.12–
    pub(super) fn stopper_preempts(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.update_rq_clock(cx, cpu);
        self.resched_curr(cx, cpu);
        self.skip_clock_if_due(cpu);
        if self.profile.idle_time_end == IdleTimeEnd::WakeUp {
            self.update_avg_idle(cx, cpu);
        }
    }

    /// The stopper of another CPU is wanted there: the CPU is told, or gets it on its wake list.
    ///
    /// Kernel: stop_machine.c stop_one_cpu_nowait(), core.c ttwu_queue(), v4.12–
    pub(crate) fn ask_for_stopper(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let lists = self.profile.stopper_wakeup == StopperWakeup::WakeList && self.profile.feats.has(Feat::TTWU_QUEUE);
        if !lists || self.topology.cpus_share_cache(cx.cpu, cpu) {
            return self.wake_stopper(cx, cpu);
        }
        self.put_on_wake_list(cx, cpu, |rq| rq.stopper_on_list = true);
    }

    /// The watchdog's timer has run out on `cx.cpu`, which is on line: its stopper shall show that it still gets the CPU.
    ///
    /// Kernel: watchdog.c watchdog_timer_fn(), softlockup_fn(), v4.20– (a real-time thread before)
    pub fn wake_watchdog(&mut self, cx: &mut Ctx<'_, '_>) {
        self.rqs[cx.cpu].idle_stop_work = true;
        self.wake_stopper(cx, cx.cpu);
    }

    /// `target` goes off line, so who waits for a stopper to be moved there stays, whether it may run where it is or not: the stopper
    /// finds that out.
    ///
    /// Kernel: core.c __migrate_task(), v4.12–
    pub(super) fn moves_to_fail(&mut self, target: CpuId) {
        for task in self.tasks.ids() {
            if self.tasks[task].migration_pending == Some(target) {
                let cpu = self.tasks[task].cpu;
                self.tasks[task].migration_pending = None;
                self.rqs[cpu].idle_stop_work = true;
                self.add_counted(cpu, |rq| rq.stopper_queued = true);
            }
        }
    }

    /// Whether the stopper of `cpu` has something to do: to push a task, or to please the watchdog.
    #[inline]
    pub fn stop_work_due(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.idle_stop_work || rq.takedown_due || rq.push_off.is_some() || (rq.lb.push_cpu.is_some() && !rq.stopper_on_list)
    }

    /// The stopper of `cx.cpu` runs, one phase of it. The task that ran there is put down by then.
    ///
    /// Kernel: stop_machine.c cpu_stopper_thread(), v4.12–
    pub fn run_stopper(&mut self, cx: &mut Ctx<'_, '_>) -> BalanceStep {
        self.rqs[cx.cpu].idle_stop_work = false;
        if std::mem::take(&mut self.rqs[cx.cpu].takedown_due) {
            self.take_down_with_all(cx);
            return BalanceStep::Done;
        }
        if let Some(task) = self.rqs[cx.cpu].push_off.take() {
            self.leave_forbidden_cpu(cx, task);
            return BalanceStep::Done;
        }
        self.active_load_balance_cpu_stop(cx)
    }

    /// schedule() on `cx.cpu` whose stopper is due, from its first part on. An error: the last fair task has left, and the CPU balances
    /// before the stopper is picked. That ends where it would look at others, since the stopper waits.
    ///
    /// Kernel: core.c prev_balance(), fair.c balance_fair(), v6.12–v7.1
    pub fn schedule_to_stopper(&mut self, cx: &mut Ctx<'_, '_>) -> Result<Switch, Leaving> {
        let leaving = self.leave_cpu(cx);
        let leaving = self.balances_before_pick(cx.cpu, leaving);
        match leaving.balances_first {
            true => Err(leaving),
            false => Ok(self.schedule_stopper(cx, Some(leaving))),
        }
    }

    /// schedule() on `cx.cpu` whose stopper is due: the current task is put down, and the fair class is not asked. With
    /// `leaving` its first part is over already. The stopper runs until the next [`Sched::schedule_finish`].
    ///
    /// Kernel: core.c __schedule() with stop_task.c pick_next_task_stop(), v4.12–
    pub fn schedule_stopper(&mut self, cx: &mut Ctx<'_, '_>, leaving: Option<Leaving>) -> Switch {
        let leaving = leaving.unwrap_or_else(|| self.leave_cpu(cx));
        if leaving.is_from_idle() {
            self.dl_server_update_idle(cx, cx.cpu);
        }
        self.dl_server_sees_stopper(cx.cpu);
        let rq = &mut self.rqs[cx.cpu];
        (rq.stop_running, rq.stopper_queued, rq.lb.newidle_found) = (true, true, false);
        self.note_idleness(cx.cpu);
        self.switch_to(cx, leaving, None)
    }
}
