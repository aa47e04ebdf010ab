//! Idle states: which one a CPU enters, and what leaving it costs.

use crate::simulation::Simulation;
use fairground_model::Op;
use fairground_stdx::{CpuId, Instant, Ns};

/// How many idle times the governor remembers.
///
/// Kernel: governors/menu.c INTERVALS, v4.12–
const INTERVALS: usize = 8;

/// What a CPU's governor remembers, and the state that the CPU is in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdleDevice {
    /// The state's place in the machine's table.
    state: Option<usize>,
    since: Instant,
    /// Up to when the CPU was leaving its state when it last did.
    leaves_until: Instant,
    /// The last idle times; once all are known the oldest is overwritten.
    intervals: [Ns; INTERVALS],
    known: usize,
}

impl IdleDevice {
    /// How long this idle time will be: up to the next timer, but no longer than the last ones were on the average.
    fn predict(&self, until_timer: Option<Ns>) -> Ns {
        let count = self.known.min(INTERVALS);
        let sum: u64 = self.intervals[..count].iter().map(|interval| interval.0).sum();
        let mean = sum.checked_div(count as u64).map(Ns);
        until_timer.into_iter().chain(mean).min().unwrap_or(Ns(u64::MAX))
    }

    /// The CPU idles in the shallowest state instead of a deeper one. False: it did already, or does not idle.
    pub(crate) fn leave_deep_state(&mut self) -> bool {
        let deep = self.state.is_some_and(|state| state > 0);
        self.state = self.state.map(|_| 0);
        deep
    }

    fn remember(&mut self, interval: Ns) {
        self.intervals[self.known % INTERVALS] = interval;
        self.known += 1;
    }
}

impl Simulation {
    /// `cpu` begins to idle: its governor chooses a state. Machines without a table of states have no governor.
    ///
    /// Kernel: idle.c cpuidle_idle_call(), v4.12–
    pub(crate) fn enter_idle_state(&mut self, cpu: CpuId) {
        self.sched.cpufreq_idle_enter(cpu, self.now);
        if self.machine.idle_states.is_empty() {
            return;
        }
        let until_timer = self.queue.first_timer(cpu).map(|(_, _, hard)| hard.saturating_since(self.now));
        let device = &mut self.cpus[cpu].idle;
        device.since = self.now;
        device.state = self.machine.idle_governor.select(&self.machine.idle_states, device.predict(until_timer));
        if let Some(state) = device.state.map(|state| &self.machine.idle_states[state]) {
            self.sched.sched_idle_set_state(cpu, state.exit_latency, state.polling);
        }
    }

    /// An interrupt, or a flag that it polls, ends the idle time of `cpu`: what that costs is counted.
    pub(crate) fn leave_idle_state(&mut self, cpu: CpuId) {
        self.sched.cpufreq_idle_exit(cpu, self.now);
        let row = &mut self.cpus[cpu];
        let Some(state) = row.idle.state.take().map(|state| &self.machine.idle_states[state]) else {
            row.idle.leaves_until = self.now + Ns(row.meter.price_ps(Op::IdleExit) / 1000);
            row.meter.count(Op::IdleExit);
            return;
        };
        row.idle.leaves_until = self.now + state.exit_time;
        row.meter.count_at(Op::IdleExit, state.exit_time);
        row.idle.remember(self.now.since(row.idle.since));
        self.sched.sched_idle_clear_state(cpu);
    }

    /// Up to when `cpu` was leaving its idle state when it last did. That is part of the section of the kernel that began
    /// then.
    pub fn leaves_idle_until(&self, cpu: CpuId) -> Instant {
        self.cpus[cpu].idle.leaves_until
    }

    /// Whether `cpu` idles in a state in which it watches its reschedule flag.
    pub(crate) fn polls(&self, cpu: CpuId) -> bool {
        self.cpus[cpu].idle.state.is_some_and(|state| self.machine.idle_states[state].polling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_next_timer_or_the_mean_of_the_last_eight() {
        let mut device = IdleDevice::default();
        assert_eq!(device.predict(None), Ns(u64::MAX));
        assert_eq!(device.predict(Some(Ns(700))), Ns(700));
        (1..=4).for_each(|n| device.remember(Ns(100 * n)));
        assert_eq!(device.predict(Some(Ns(700))), Ns(250));
        assert_eq!(device.predict(Some(Ns(30))), Ns(30));
        (0..8).for_each(|_| device.remember(Ns(1_000)));
        assert_eq!(device.predict(None), Ns(1_000));
        device.remember(Ns(9_000));
        assert_eq!(device.predict(None), Ns(2_000));
    }
}
