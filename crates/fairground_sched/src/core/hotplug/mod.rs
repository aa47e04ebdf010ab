//! CPUs that go off line and come back.

use crate::Sched;
use crate::ctx::{Ctx, SCHED_CLOCK_AT_START};
use crate::fair::balance::BalanceWork;
use crate::seam::{HotplugPush, OfflineClock};
use fairground_stdx::{CpuId, TaskId};

/// The last CPU cannot go off line (EBUSY).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LastCpu(
    /// That CPU.
    pub CpuId,
);

impl std::fmt::Display for LastCpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CPU {} is the last one on line and cannot go off line", self.0)
    }
}

impl Sched {
    /// A CPU goes off line; `cx.machine` shows the machine without it. Nobody new comes there, and its tasks leave: each at its
    /// schedule() ([`HotplugPush::BalancePush`]), or all with the next one. Each goes to
    /// an allowed CPU of the same node, else to any allowed one; one that has none left may run anywhere.
    ///
    /// Kernel: core.c sched_cpu_deactivate(), migrate_tasks() up to v5.10, v4.12–
    pub fn set_cpu_offline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) -> Result<(), LastCpu> {
        if cx.machine.online.is_empty() {
            return Err(LastCpu(cpu));
        }
        if !self.rqs[cpu].online {
            return Ok(());
        }
        let at_once = self.profile.hotplug_push == HotplugPush::AtOnce;
        self.end_migrations_to(cx, cpu);
        self.moves_to_fail(cpu);
        self.nohz_balance_exit_idle(cpu);
        self.rqs[cpu].online = false;
        // The kernel scales its tunables while the CPU still counts.
        self.tunables = self.profile.tunables.at(cx.machine.online.weight() as u32 + 1);
        self.update_rq_clock(cx, cpu);
        self.read_clocks_of_domains(cx, cpu);
        self.rebuild_sched_domains(cx, Some(cpu));
        self.hotplug_releases_quota(cx, cpu);
        self.rq_offline_rt(cx, cpu);
        if at_once && self.rqs[cpu].curr.is_none() && !self.rqs[cpu].stop_running {
            let caller = std::mem::replace(&mut cx.cpu, cpu);
            self.take_down_with_all(cx);
            cx.cpu = caller;
            self.stopper_takes_down(cx, cpu);
        } else if at_once {
            self.rqs[cpu].takedown_due = true;
            self.wake_stopper(cx, cpu);
        } else if self.is_vacated(cpu) {
            self.stopper_takes_down(cx, cpu);
        } else {
            self.resched_curr(cx, cpu);
        }
        Ok(())
    }

    /// Whether nobody runs or waits on `cpu`, its stopper included.
    pub fn is_vacated(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu];
        rq.curr.is_none() && rq.nr_running == 0 && !rq.stop_running && !rq.ttwu_pending() && !self.stop_work_due(cpu)
    }

    /// Whether each schedule() on `cpu` pushes who was to run there.
    ///
    /// Kernel: core.c balance_push_set(), v5.11–
    pub(crate) fn pushes_off(&self, cpu: CpuId) -> bool {
        !self.rqs[cpu].online && self.profile.hotplug_push == HotplugPush::BalancePush && !self.is_led()
    }

    /// The end of a schedule() on a CPU that everybody leaves: the stopper puts `next` elsewhere, or takes the CPU down if nobody is left.
    ///
    /// Kernel: core.c balance_push(), balance_hotplug_wait(), v5.11–
    pub(super) fn balance_push(&mut self, cx: &mut Ctx<'_, '_>, next: Option<TaskId>) {
        if next.is_some() {
            self.rqs[cx.cpu].push_off = next;
            self.wake_stopper(cx, cx.cpu);
        } else if self.is_vacated(cx.cpu) {
            self.stopper_takes_down(cx, cx.cpu);
        }
    }

    /// Nobody is left on `cpu`. Its stopper, which is the last to run there, takes it down, and the CPU idles anew: all at one instant.
    ///
    /// Kernel: cpu.c takedown_cpu(), take_cpu_down(), v4.12–
    fn stopper_takes_down(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.update_rq_clock(cx, cpu);
        self.update_avg_idle(cx, cpu);
        self.rqs[cpu].lb.idle_stamp = self.rqs[cpu].clocks.clock;
        self.cpu_dies(cx, cpu);
    }

    /// Kernel: core.c sched_cpu_dying(), v4.12–
    fn cpu_dies(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.topology.threads.set_up(cx.machine, cpu, false);
        self.topology.update_max_interval(cx.machine.online.weight() as u64);
        self.hrtick_clear(cx, cpu);
        self.dl_server_off_line(cx, cpu);
    }

    /// The same where another core decides: it moves the tasks, and our tables follow.
    pub fn led_offline(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        let caller = std::mem::replace(&mut cx.cpu, cpu);
        self.led_wake_list(cx);
        cx.cpu = caller;
        self.rqs[cpu].online = false;
        self.topology.threads.set_up(cx.machine, cpu, false);
        self.rebuild_sched_domains(cx, Some(cpu));
    }

    /// A CPU comes back where another core decides.
    pub fn led_online(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        self.rqs[cpu].online = true;
        self.topology.threads.set_up(cx.machine, cpu, true);
        self.update_rq_clock(cx, cpu);
        self.rebuild_sched_domains(cx, None);
    }

    /// A CPU comes back, idle; `cx.machine` shows the machine with it. Tasks that may use it may do so again.
    ///
    /// Kernel: core.c sched_cpu_activate(), v4.12–
    pub fn set_cpu_online(&mut self, cx: &mut Ctx<'_, '_>, cpu: CpuId) {
        if self.rqs[cpu].online {
            return;
        }
        self.rqs[cpu].online = true;
        self.topology.threads.set_up(cx.machine, cpu, true);
        self.update_rq_clock(cx, cpu);
        self.tunables = self.profile.tunables.at(cx.machine.online.weight() as u32);
        self.read_clocks_of_domains(cx, cpu);
        self.rebuild_sched_domains(cx, None);
        self.topology.update_max_interval(cx.machine.online.weight() as u64 - 1);
        self.hotplug_releases_quota(cx, cpu);
        self.rq_online_rt(cpu);
    }

    /// The stopper of `cx.cpu` takes it down: tasks whose wake-up it was to finish are queued, and all leave in the order in which they
    /// would have run. Each is set to run and put down for that.
    ///
    /// Kernel: core.c sched_cpu_dying(), migrate_tasks(), v4.12–v5.10; smp.c flush_smp_call_function_queue(), v5.8–
    pub(super) fn take_down_with_all(&mut self, cx: &mut Ctx<'_, '_>) {
        let cpu = cx.cpu;
        self.sched_ttwu_pending(cx);
        self.update_rq_clock(cx, cpu);
        while let Some(task) = self.pick_task(cx) {
            if self.is_fair(task) {
                self.cfs_tasks_picked(cpu, task, true);
                self.set_first_task_fair(cx, task);
            } else {
                self.set_next_task(cx, task);
            }
            self.put_prev_task(cx, task);
            self.leave_forbidden_cpu(cx, task);
        }
        // Deadline tasks that wait for runtime stand on no queue. A kernel moves them when they have runtime again
        // (dl_task_offline_migration()).
        for task in self.tasks.ids() {
            let row = &self.tasks[task];
            if row.cpu == cpu && row.state.is_on_rq() {
                self.leave_forbidden_cpu(cx, task);
            }
        }
        self.cpu_dies(cx, cpu);
    }

    /// While domains are built anew every run queue goes off line for a moment, also those of the CPUs that stay. From v6.5 on that reads
    /// their clocks.
    ///
    /// Kernel: topology.c rq_attach_root(), core.c set_rq_offline(), v6.5–
    fn read_clocks_of_domains(&mut self, cx: &mut Ctx<'_, '_>, but: CpuId) {
        if self.profile.offline_clock == OfflineClock::Once {
            for other in cx.machine.online.iter().filter(|&other| other != but) {
                self.update_rq_clock(cx, other);
            }
        }
    }

    /// Builds the domains anew, with fresh state of balancing. Who balances or searches goes on in the old ones to the end. A CPU that
    /// is `leaving` still counts in intervals.
    ///
    /// Kernel: topology.c partition_sched_domains(), v4.12–
    fn rebuild_sched_domains(&mut self, cx: &Ctx<'_, '_>, leaving: Option<CpuId>) {
        let mut fresh = self.topology.rebuild(&self.profile, cx.machine, leaving);
        fresh.max_load_balance_interval = self.topology.max_load_balance_interval;
        fresh.threads = std::mem::take(&mut self.topology.threads);
        fresh.set_birth(cx.jiffies, SCHED_CLOCK_AT_START + cx.now.ns());
        let balancing = self.balance_works.iter().any(|work| !matches!(work, BalanceWork::None));
        let searching = self.searches.any();
        self.topology.replace(fresh, balancing || searching);
        self.group_stats.forget();
        self.cpupri_set_anew();
        // The new domains count all their CPUs as busy.
        self.rqs.iter_mut().for_each(|rq| rq.lb.counted_idle = false);
        for cpu in cx.machine.online.iter() {
            self.update_cpu_capacity(cpu);
        }
    }
}

#[cfg(test)]
impl Sched {
    /// The calls of schedule() on `cx.cpu` up to the last that its stopper asks for.
    pub(crate) fn schedule_with_stopper(&mut self, cx: &mut Ctx<'_, '_>) -> Option<TaskId> {
        loop {
            if self.stop_work_due(cx.cpu) {
                let switch = self.schedule_stopper(cx, None);
                switch.prev.into_iter().for_each(|prev| self.finish_task_switch(prev));
                while self.run_stopper(cx) == crate::BalanceStep::More {}
            }
            let next = self.schedule(cx).next;
            if !self.stop_work_due(cx.cpu) {
                return next;
            }
        }
    }
}

#[cfg(test)]
mod tests;
