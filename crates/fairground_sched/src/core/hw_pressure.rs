//! Capacity that a CPU loses to heat, or to a limit of its hardware, and its average.

use crate::Sched;
use crate::pelt::SCHED_CAPACITY_SHIFT;
use crate::seam::Pressure;
use fairground_model::MachineView;
use fairground_stdx::CpuId;

impl Sched {
    /// A CPU has lost a share of its capacity, in 1/1024; 0 = nothing any more. How fast it runs is another matter.
    ///
    /// Kernel: arch_topology.c topology_update_hw_pressure(), topology_update_thermal_pressure() up to v6.9, v5.7–
    pub fn set_hw_pressure(&mut self, machine: &MachineView, cpu: CpuId, lost: u32) {
        if self.profile.pressure == Pressure::None {
            return;
        }
        self.begin_pressure();
        // What is left is rounded down, so what is lost is rounded up.
        let capacity = machine.cpus[cpu].capacity;
        self.rqs[cpu].hw_pressure = capacity - ((capacity * (1024 - lost.min(1024))) >> SCHED_CAPACITY_SHIFT);
    }

    /// Up to now the averages of all CPUs stood at nothing, and were not looked after.
    fn begin_pressure(&mut self) {
        if !std::mem::replace(&mut self.has_pressure, true) {
            for rq in self.rqs.iter_mut() {
                self.profile.pelt.update_hw(rq.clocks.clock_task, &mut rq.avg_hw, 0);
            }
        }
    }

    /// The average of what a CPU has lost follows, at a tick and where blocked load is aged.
    ///
    /// Kernel: pelt.h update_hw_load_avg(), update_thermal_load_avg() up to v6.9, v5.7–
    #[inline]
    pub(crate) fn update_hw_load_avg(&mut self, cpu: CpuId) {
        if self.has_pressure {
            let rq = &mut self.rqs[cpu];
            self.profile.pelt.update_hw(rq.clocks.clock_task, &mut rq.avg_hw, rq.hw_pressure);
        }
    }

    /// What a CPU has lost on average, and what is left of it for fair tasks.
    pub fn hw_load_avg(&self, cpu: CpuId) -> (u64, u64) {
        (self.rqs[cpu].avg_hw.load_avg, self.capacity_of(cpu))
    }
}
