//! Time that nobody asked for: interrupts of devices, and a host that runs something else on the physical CPU.
//!
//! Both come at instants of their own, by timers that no task has set. An interrupt takes its time in interrupt context. What is stolen
//! takes the whole CPU: nothing happens there before it is given back, and interrupts wait. An idle CPU does not notice, unless it is
//! woken meanwhile: it begins late. While interrupts are off nothing begins.

use crate::cpu::{Doing, Then};
use crate::kernel::Next;
use crate::queue::Slot;
use crate::simulation::Simulation;
use crate::timers::Timer;
use fairground_machine::Machine;
use fairground_model::{Gap, Mistakes, NoiseKind, NoiseSpec, Recorder, Section};
use fairground_stdx::{CpuId, CpuMask, Ns, RngStream, StreamKind};

/// One source of disturbances on one CPU.
#[derive(Clone, Debug)]
pub(crate) struct Noise {
    spec: NoiseSpec,
    /// The CPU that it disturbs; interrupts go elsewhere while that is off line.
    home: CpuId,
    rng: RngStream,
}

impl Noise {
    pub(crate) fn kind(&self) -> NoiseKind {
        self.spec.kind
    }
    fn gap(&mut self) -> Ns {
        match self.spec.gap {
            Gap::Between(low, high) => Ns(self.rng.between(low.0, high.0)),
            Gap::Exponential(mean) => Ns(self.rng.exponential(mean.0).max(1)),
        }
    }
    fn length(&mut self) -> Ns {
        let (low, high) = self.spec.length;
        Ns(self.rng.between(low.0, high.0))
    }
}

/// Each source on each of its CPUs, with a random stream of its own.
pub(crate) fn sources(specs: &[NoiseSpec], machine: &Machine, seed: u64) -> Vec<Noise> {
    let nr_cpus = machine.cpus.len() as u32;
    let mut all = Vec::new();
    for (spec, row) in specs.iter().zip(0..) {
        let on = |cpu: &CpuId| spec.cpus.is_none_or(|cpus| cpus.contains(*cpu));
        let new = |cpu: CpuId| Noise {
            spec: *spec,
            home: cpu,
            rng: RngStream::new(seed, StreamKind::Noise, row * nr_cpus + cpu.get()),
        };
        all.extend(machine.cpus.ids().filter(on).map(new));
    }
    all
}

/// Finds disturbances that cannot be.
pub(crate) fn check_noise(specs: &[NoiseSpec], online: &CpuMask, mistakes: &mut Mistakes) {
    for spec in specs {
        if spec.cpus.is_some_and(|cpus| !cpus.intersects(online)) {
            mistakes.whole(
                format!("a source of noise disturbs CPUs {} only", spec.cpus.unwrap_or(CpuMask::EMPTY)),
                format!("The machine has CPUs {online}."),
            );
        }
        if spec.length.0 > spec.length.1 || spec.length.1 >= spec.gap.mean() {
            mistakes.whole(
                format!("noise of up to {} each {} leaves nothing of a CPU", spec.length.1, spec.gap.mean()),
                "Make it shorter than the time from one to the next.",
            );
        }
    }
}

impl Simulation {
    /// Every source waits for its first time.
    pub(crate) fn arm_noise(&mut self) {
        for row in 0..self.noise.len() {
            let first = self.noise[row].spec.start + self.noise[row].gap();
            self.queue.arm_timer(self.noise[row].home, self.timer_id(Timer::Noise(row)), first, first);
        }
    }

    /// A source's time has come on `cpu`: when is it the next time?
    fn arm_next_noise(&mut self, row: usize) {
        let at = self.now + self.noise[row].gap();
        let base = self.nearest_online(self.noise[row].home);
        self.queue.arm_timer(base, self.timer_id(Timer::Noise(row)), at, at);
    }

    /// A source's time has come while `cpu` runs something: an interrupt, or the CPU is taken away.
    pub(crate) fn disturb(&mut self, rec: &mut Recorder<'_>, cpu: CpuId, row: usize) -> Next {
        self.arm_next_noise(row);
        let length = self.noise[row].length();
        match self.noise[row].spec.kind {
            NoiseKind::Interrupt => {
                self.cpus[cpu].carry_ps += length.0 * 1000;
                self.pay(cpu, Section::DeviceInterrupt, Then::ExpireTimers)
            }
            // A CPU that is off line is the host's anyway.
            NoiseKind::Stolen { .. } if self.noise[row].home != cpu => self.go_on(cpu, Then::ExpireTimers),
            NoiseKind::Stolen { told } => {
                let state = &mut self.cpus[cpu];
                state.book(Section::Stolen, self.now, length);
                (state.doing, state.then) = (Doing::Kernel, Then::GivenBack { took: length, told });
                self.show_section(rec, cpu, Section::Stolen, length);
                self.queue.busy(cpu, self.now + length);
                Next::Left
            }
        }
    }

    /// The host gives `cpu` back: what it took is no time of the interrupt in which it came.
    ///
    /// Kernel: core.c paravirt_steal_clock() in update_rq_clock_task(), v4.12–
    pub(crate) fn given_back(&mut self, cpu: CpuId, took: Ns, told: bool) -> Next {
        if told {
            self.sched.steal_time(cpu, took);
        }
        if let Some(irq) = &mut self.cpus[cpu].interrupted {
            irq.since += took;
        }
        self.go_on(cpu, Then::ExpireTimers)
    }

    /// Whether nothing but a theft comes to an idle CPU: then it idles on, and whoever wakes it waits for its end.
    pub(crate) fn steals_idle(&mut self, cpu: CpuId) -> bool {
        if self.cpus[cpu].doing != Doing::Idle || self.queue.get(cpu, Slot::Ipi).is_some_and(|at| at <= self.now) {
            return false;
        }
        let due = self.queue.first_timer(cpu).filter(|timer| timer.2 <= self.now);
        let Some((timer, row)) = due.and_then(|(timer, ..)| match self.timer_of(timer) {
            Timer::Noise(row) => Some((timer, row)),
            _ => None,
        }) else {
            return false;
        };
        let NoiseKind::Stolen { told } = self.noise[row].spec.kind else { return false };
        self.queue.cancel_timer(timer);
        self.arm_next_noise(row);
        let length = self.noise[row].length();
        if self.noise[row].home == cpu {
            self.cpus[cpu].stolen = Some((self.now + length, told));
            self.queue.hold_irqs(cpu, self.now + length);
        }
        true
    }

    /// An interrupt ends an idle time: for how long did the host keep it back?
    pub(crate) fn end_idle_theft(&mut self, cpu: CpuId) {
        let Some((until, told)) = self.cpus[cpu].stolen.take() else { return };
        let due = [self.queue.get(cpu, Slot::Ipi), self.queue.get(cpu, Slot::Tick), self.queue.first_timer(cpu).map(|row| row.2)];
        let waited = due.into_iter().flatten().min().map_or(Ns::ZERO, |due| self.now.saturating_since(due));
        if told && until == self.now {
            self.sched.steal_time(cpu, waited);
        }
    }
}
