//! What operating points cost, and the energy of a domain.

use super::PerfDomain;
use crate::seam::EnergyModel;
use fairground_model::{FreqPolicy, MachineView};

/// An operating point.
///
/// Kernel: energy_model.h struct em_perf_state (em_cap_state before v5.9), v5.0–
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State {
    /// Frequency in kHz; with `performance` the capacity at it.
    pub(super) speed: u64,
    /// Of a unit of utilisation.
    pub(super) cost: u64,
}

/// The domain of a policy, if the power of all its points is known.
///
/// ```text
/// cost = power * highest frequency / frequency        mW, or uW
/// cost = 10 * uW / capacity at the point              performance
/// ```
///
/// Kernel: energy_model.c em_create_perf_table(), em_compute_costs(), v5.0–
pub(super) fn perf_domain(rule: EnergyModel, policy: &FreqPolicy, machine: &MachineView) -> Option<PerfDomain> {
    let states = states(rule, policy, machine)?;
    Some(PerfDomain { cpus: policy.cpus, states: states.into_iter().map(|row| row.1).collect() })
}

/// The frequencies that are worth it, the lowest first: from v5.16 on those that cost less than any faster one. None if some power is
/// not known.
///
/// Kernel: energy_model.c em_cpufreq_update_efficiencies(), v5.16–
pub(crate) fn efficient_khz(rule: EnergyModel, policy: &FreqPolicy, machine: &MachineView) -> Option<Vec<u32>> {
    Some(states(rule, policy, machine)?.into_iter().map(|row| row.0).collect())
}

/// The points that the model knows, the slowest first, with their frequencies.
fn states(rule: EnergyModel, policy: &FreqPolicy, machine: &MachineView) -> Option<Vec<(u32, State)>> {
    let capacity = u64::from(machine.cpus[policy.cpus.first()?].capacity);
    let highest = u64::from(policy.max_khz());
    let state = |opp: &fairground_model::Opp| {
        let (khz, mw) = (u64::from(opp.khz), u64::from(opp.power_mw?));
        let state = match rule {
            EnergyModel::Milliwatt | EnergyModel::Efficient => State { speed: khz, cost: mw * highest / khz },
            EnergyModel::Microwatt => State { speed: khz, cost: 1000 * mw * highest / khz },
            EnergyModel::Performance => {
                let speed = (capacity * khz / highest).max(1);
                State { speed, cost: 10_000 * mw / speed }
            }
        };
        Some((opp.khz, state))
    };
    let all: Vec<(u32, State)> = policy.opps.iter().map(state).collect::<Option<_>>()?;
    let mut states: Vec<(u32, State)> = Vec::new();
    // From the fastest down: a slower point that costs no less is never worth it.
    for state in all.into_iter().rev() {
        if rule == EnergyModel::Milliwatt || states.last().is_none_or(|faster| state.1.cost < faster.1.cost) {
            states.push(state);
        }
    }
    states.reverse();
    Some(states)
}

impl PerfDomain {
    /// The energy of its CPUs, if the busiest asks for `max_util` and all have `sum_util` to do. `capacity`: of one of them, `allowed`: what
    /// pressure leaves of that; from v5.14 on nobody gets more (here from v5.16 on). A quarter more is asked for (`headroom`): of the
    /// highest frequency, and from v5.14 on of the use.
    ///
    /// Kernel: energy_model.h em_cpu_energy(), em_pd_energy() before v5.12, v5.0–; sched/cpufreq.h map_util_perf(), v5.14–
    pub(super) fn energy(
        &self,
        rule: EnergyModel,
        (max_util, sum_util): (u64, u64),
        (capacity, allowed): (u64, u64),
        headroom: bool,
    ) -> u64 {
        let (Some(last), capacity) = (self.states.last(), capacity.max(1)) else { return 0 };
        let more = |value: u64| if headroom { value + value / 4 } else { value };
        let wanted = match rule {
            EnergyModel::Milliwatt => more(last.speed) * max_util / capacity,
            EnergyModel::Efficient | EnergyModel::Microwatt => last.speed * more(max_util).min(allowed) / capacity,
            EnergyModel::Performance => more(max_util).min(allowed),
        };
        let state = self.states.iter().find(|state| state.speed >= wanted).unwrap_or(last);
        match rule {
            EnergyModel::Performance => state.cost * sum_util,
            EnergyModel::Milliwatt | EnergyModel::Efficient | EnergyModel::Microwatt => state.cost * sum_util / capacity,
        }
    }
}
