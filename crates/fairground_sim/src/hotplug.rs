//! CPUs that go off line and come back, as far as their hardware is concerned: timers, tick, interrupts.

use crate::cpu::Doing;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::timers::Timer;
use fairground_model::Recorder;
use fairground_stdx::CpuId;

impl Simulation {
    /// `cpu` has gone off line: its timers ring on `heir`, and what idles there ticks no more and is asked for nothing.
    /// A task that still runs there goes on to its next schedule(), which is asked for. Its hrtick timer stays until the CPU is taken down,
    /// as it acts on the CPU on which it rings.
    ///
    /// Kernel: hrtimer.c hrtimers_dead_cpu(), tick-sched.c tick_cancel_sched_timer(), v4.12–
    pub(crate) fn retire_cpu(&mut self, cpu: CpuId, heir: CpuId) {
        let hrtick = self.timer_id(Timer::Hrtick(cpu));
        while let Some((timer, soft, hard)) = self.queue.first_timer(cpu) {
            self.queue.cancel_timer(timer);
            if timer != hrtick {
                self.queue.arm_timer(heir, timer, soft, hard.max(self.now));
            }
        }
        self.move_hrtick_timer(cpu);
        self.cpus[cpu].nohz_kick = false;
        if self.cpus[cpu].doing == Doing::Idle {
            self.queue.idle(cpu);
            if self.sched.is_vacated(cpu) {
                self.queue.set(cpu, Slot::Ipi, None);
            }
            self.jiffies.stop(cpu);
        }
    }

    /// `cpu` is on line again, and idles unless it had not even left.
    ///
    /// Kernel: tick-sched.c tick_setup_sched_timer(), v4.12–
    pub(crate) fn revive_cpu(&mut self, rec: &mut Recorder<'_>, cpu: CpuId) {
        if self.cpus[cpu].doing != Doing::Idle {
            return;
        }
        match self.machine.nohz_idle {
            true => self.core_from_outside(rec, cpu, |sched, cx| sched.nohz_balance_enter_idle(cx)),
            false => self.start_tick(cpu),
        }
    }

    /// `cpu` if it is on line, else the first one that is: where a task that runs on `cpu` arms its timer, and who acts from outside acts.
    ///
    /// Kernel: hrtimer.c switch_hrtimer_base(), v4.12–
    pub(crate) fn nearest_online(&self, cpu: CpuId) -> CpuId {
        match self.view.online.contains(cpu) {
            true => cpu,
            false => self.view.online.first().unwrap_or(cpu),
        }
    }
}
