//! Whether some CPU has more to do than it can.

use crate::Sched;
use crate::fair::balance::LbEnv;
use crate::fair::balance::loads::fits_capacity;
use crate::seam::{EnergyOverload, TaskFit};
use crate::uclamp::{Demand, Fit};
use fairground_stdx::CpuId;

impl Sched {
    /// Kernel: fair.c cpu_overutilized(), v4.20–
    fn cpu_overutilized(&self, cpu: CpuId) -> bool {
        let util = self.cpu_util(cpu);
        match self.profile.task_fit {
            TaskFit::Utilisation | TaskFit::Clamped => !fits_capacity(util, self.capacity_of(cpu)),
            TaskFit::Graded => self.fit_of(Demand { util, clamps: self.uclamp_rq_get(cpu) }, cpu) == Fit::No,
        }
    }

    /// Something has changed on a CPU that may make it the first with too much to do.
    ///
    /// Kernel: fair.c update_overutilized_status(), check_update_overutilized_status() from v6.10, v4.20–
    #[inline]
    pub(crate) fn update_overutilized_status(&mut self, cpu: CpuId) {
        if self.places_by_energy() && self.cpu_overutilized(cpu) {
            self.energy.overutilized = true;
        }
    }

    /// Whether balance leaves tasks where they are, since wake-ups go by energy. `misfit`: the busiest group has a task that does not fit.
    ///
    /// Kernel: fair.c find_busiest_group(), sched_balance_find_src_group() from v6.10, v5.0–
    pub(crate) fn energy_comes_first(&self, misfit: bool) -> bool {
        self.places_by_energy() && !(misfit && self.profile.energy_aware.goes_by_fit())
    }

    /// Whether a group may count as overloaded only if a CPU of it has more to do than it can.
    ///
    /// Kernel: fair.c group_is_overloaded(), v7.2–
    #[inline]
    pub(crate) fn overload_needs_overutilized(&self) -> bool {
        self.profile.energy_overload == EnergyOverload::Overutilized && self.sched_energy_enabled()
    }

    /// Whether one of these CPUs has more to do than it can.
    pub(crate) fn is_any_overutilized(&self, mut cpus: impl Iterator<Item = CpuId>) -> bool {
        cpus.any(|cpu| self.cpu_overutilized(cpu))
    }

    /// A balance has looked at the CPUs of a domain: the highest domain has seen all of them, a lower one finds only that one has too
    /// much.
    ///
    /// Kernel: fair.c update_sd_lb_stats(), v4.20–
    pub(crate) fn note_overutilized(&mut self, env: &LbEnv) {
        if !self.sched_energy_enabled() {
            return;
        }
        let domain = &self.topology.domains[env.sd];
        let any = domain.span.and(&env.cpus).iter().any(|cpu| self.cpu_overutilized(cpu));
        if domain.parent.is_none() {
            self.energy.overutilized = any;
        } else {
            self.energy.overutilized |= any;
        }
    }
}
