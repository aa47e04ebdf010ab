//! Read-only views of a run for explanations, and changes that no kernel can make, for the question what would be without
//! something. Nothing here is used by a run.

use crate::klocks::whom_it_waits_for;
use crate::simulation::Simulation;
use crate::task::GaveWay;
use crate::timers::Timer;
use fairground_model::{Mode, NoiseKind};
use fairground_stdx::{CpuId, CpuMask, Instant, LockId, Ns, TaskId};

impl Simulation {
    /// When the timer of a sleeping task is due, or was last.
    pub fn timer_due(&self, task: TaskId) -> Instant {
        self.tasks[task].timer_due
    }
    /// The lock for which a task waits, with those that it waits for: who holds the lock, or closes it.
    pub fn waits_for_lock(&self, task: TaskId) -> Option<(LockId, Vec<TaskId>)> {
        whom_it_waits_for(&self.klocks, task)
    }
    /// Where a task that could run on gave its CPU away in its present step; `None` if it did not, or has slept since.
    pub fn gave_way(&self, task: TaskId) -> Option<GaveWay> {
        self.tasks[task].gave_way
    }
    /// In which mode the current task of `cpu` computes; `None` if that idles.
    pub fn mode_of_current(&self, cpu: CpuId) -> Option<Mode> {
        let task = self.sched.rq(cpu).curr?;
        let mode = self.tasks[task].mode;
        Some(if mode == Mode::User && self.klocks.in_section(task) { Mode::Kernel } else { mode })
    }
    /// Up to when the host keeps `cpu` while it idles, if it does.
    pub fn stolen_until(&self, cpu: CpuId) -> Option<Instant> {
        self.cpus[cpu].stolen.map(|row| row.0)
    }
    /// The CPUs that are on line.
    pub fn online(&self) -> &CpuMask {
        &self.view.online
    }
    /// The CPUs of the machine that are off line.
    pub fn offline(&self) -> CpuMask {
        let mut off = CpuMask::EMPTY;
        self.machine.cpus.ids().filter(|&cpu| !self.view.online.contains(cpu)).for_each(|cpu| off.insert(cpu));
        off
    }

    /// From now on no source of noise disturbs a CPU: no interrupt of a device, or no theft by the host.
    pub fn silence(&mut self, stolen: bool) {
        for row in 0..self.noise.len() {
            if matches!(self.noise[row].kind(), NoiseKind::Stolen { .. }) == stolen {
                self.queue.cancel_timer(self.timer_id(Timer::Noise(row)));
            }
        }
    }
    /// From now on CPUs idle in their shallowest state.
    pub fn stay_shallow(&mut self) {
        self.machine.idle_states.truncate(1);
        for cpu in self.machine.cpus.ids() {
            if let Some((state, true)) = self.machine.idle_states.first().zip(Some(self.cpus[cpu].idle.leave_deep_state())) {
                self.sched.sched_idle_set_state(cpu, state.exit_latency, state.polling);
            }
        }
    }
    /// From now on a task's timers ring up to `slack` later than asked; one that is armed too.
    pub fn set_timer_slack(&mut self, task: TaskId, slack: Ns) {
        self.tasks[task].timer_slack = slack;
        if self.queue.cancel_timer(self.timer_id(Timer::Task(task))) {
            let due = self.tasks[task].timer_due.max(self.now);
            let hard = Instant::from_ns(due.ns().saturating_add(slack.0).min(Instant::MAX.ns()));
            self.queue.arm_timer(self.nearest_online(self.sched.task(task).cpu), self.timer_id(Timer::Task(task)), due, hard);
        }
    }
}
