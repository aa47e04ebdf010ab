//! Energy-aware placement (EAS): on CPUs that differ, a wakee goes where it adds least to the energy of the machine.
//!
//! ```text
//! performance domain   CPUs that change frequency together, and what each operating point costs
//! candidates           of each domain the CPU with most to spare that the task fits, and the previous CPU
//! energy               cost(lowest point that suffices) * sum of utilisations
//! ```
//!
//! It is active where CPUs differ in capacity, none has siblings, all have operating points of known power and schedutil to choose among
//! them; and only until some CPU has more to do than it can (overutilized): from then on the ordinary placement spreads tasks, and balance
//! is at work, which rests before. `model.rs`: what points cost; `util.rs`: utilisations as they would be; `find.rs`: the choice.

mod find;
mod model;
mod overutilized;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
mod util;

use crate::Sched;
use crate::profile::Profile;
use crate::seam::EnergyAware;
use fairground_model::{Governor, GovernorKind, MachineView};
use fairground_stdx::{CpuId, CpuMask};
use model::State;
pub(crate) use model::efficient_khz;

/// CPUs that change frequency together.
///
/// Kernel: sched.h struct perf_domain, energy_model.h struct em_perf_domain, v5.0–
#[derive(Clone, Debug)]
struct PerfDomain {
    cpus: CpuMask,
    /// Operating points, the slowest first.
    states: Vec<State>,
}

/// What is kept for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Energy {
    /// The domains in the order in which the kernel walks them; none = it cannot be active.
    ///
    /// Kernel: sched.h struct root_domain pd, v5.0–
    domains: Vec<PerfDomain>,
    /// All policies have schedutil.
    governed: bool,
    /// Some CPU has more to do than it can.
    ///
    /// Kernel: sched.h struct root_domain overutilized, v4.20–
    overutilized: bool,
}

impl Energy {
    /// That of a machine, if it may be active there. `switched_on`: the user wants it (sched_energy_aware).
    ///
    /// Kernel: topology.c build_perf_domains(), v5.0–
    pub(crate) fn new(profile: &Profile, switched_on: bool, machine: &MachineView) -> Energy {
        let siblings = machine.cpus.iter().any(|cpu| cpu.smt.weight() > 1);
        if profile.energy_aware == EnergyAware::None || !switched_on || siblings || !machine.freq_invariant {
            return Energy::default();
        }
        let domain = |policy| model::perf_domain(profile.energy_model, policy, machine);
        // Each is put before those that were built already.
        let domains: Option<Vec<PerfDomain>> = machine.policies.iter().rev().map(domain).collect();
        let governed = all_schedutil(machine.policies.iter().map(|policy| policy.governor));
        Energy { domains: domains.unwrap_or_default(), governed, overutilized: false }
    }
}

/// Whether schedutil chooses everywhere.
fn all_schedutil(mut governors: impl Iterator<Item = Governor>) -> bool {
    governors.all(|governor| governor.kind == GovernorKind::Schedutil)
}

impl Sched {
    /// Whether wakees go by energy, while no CPU has too much to do.
    ///
    /// Kernel: sched.h sched_energy_enabled(), v5.0–
    #[inline]
    pub(crate) fn sched_energy_enabled(&self) -> bool {
        self.energy.governed && !self.energy.domains.is_empty() && self.spans_all_capacities()
    }

    /// Whether some CPU has more to do than it can; none: wake-ups do not go by energy.
    pub(crate) fn overutilized(&self) -> Option<bool> {
        self.sched_energy_enabled().then_some(self.energy.overutilized)
    }

    /// A policy has another governor: that may switch energy-aware placement on or off.
    ///
    /// Kernel: cpufreq_schedutil.c sched_cpufreq_governor_change(), v5.0–
    pub(crate) fn sched_cpufreq_governor_change(&mut self) {
        self.energy.governed = all_schedutil(self.cpufreq.governors());
    }

    /// Some domain of the first CPU spans CPUs of all capacities.
    fn spans_all_capacities(&self) -> bool {
        let first = self.rqs.iter_enumerated().find(|row| row.1.online).map_or(CpuId::new(0), |row| row.0);
        self.topology.cpus[first].sd_asym_cpucapacity.is_some()
    }

    /// Whether wakees go by energy now.
    ///
    /// Kernel: fair.c is_rd_overutilized(), v6.10– (find_energy_efficient_cpu() before)
    #[inline]
    pub(crate) fn places_by_energy(&self) -> bool {
        !self.energy.overutilized && self.sched_energy_enabled()
    }
}
