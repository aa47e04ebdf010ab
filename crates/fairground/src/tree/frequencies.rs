//! Frequencies: the points of the machine, and who chooses among them.

use super::TreeCore;
use fairground_kcore::{CallError, Governing, KernelCore, Points};
use fairground_model::{FreqPolicy, GovernorKind};
use fairground_sched::{Governed, Sched};
use fairground_stdx::CpuId;

/// The policy as the core gets it.
fn points(policy: &FreqPolicy) -> Points {
    Points {
        cpus: policy.cpus.iter().map(CpuId::get).collect(),
        khz: policy.opps.iter().map(|opp| opp.khz).collect(),
        milliwatt: policy.opps.iter().map(|opp| opp.power_mw).collect(),
        latency_ns: policy.transition_latency.0,
        fast_switch: policy.fast_switch,
    }
}

/// Its governor, and what a governor of ours asks for as it begins.
fn governing(now: Governed) -> Governing {
    Governing {
        schedutil: (now.kind == GovernorKind::Schedutil).into(),
        min_khz: now.limits.0,
        max_khz: now.limits.1,
        cur_khz: now.cur_khz,
        rate_limit_us: (now.rate_limit.0 / 1000) as u32,
        begin_khz: now.begin_khz.unwrap_or(0),
    }
}

impl TreeCore {
    /// The run is about to begin: the CPUs run at the frequencies of the machine, and governors begin.
    pub(super) fn begin_frequencies(&mut self, ours: &Sched) -> Result<(), String> {
        for (cpu, share) in self.shares.clone().into_iter().enumerate() {
            let answer = self.core.frequency(cpu as u32, self.begin_ns, share);
            self.said(answer)?;
        }
        for (row, policy) in self.policies.clone().iter().enumerate() {
            let made = self.core.policy_new(self.begin_ns, &points(policy));
            let number = self.said(made)?;
            if number as usize != row {
                return Err(format!("kernel `{}`: policy {row} has number {number}", self.name));
            }
            self.govern(ours, self.begin_ns, row)?;
        }
        Ok(())
    }

    /// The governor of a policy begins, as it is in our tables already.
    pub(super) fn govern(&mut self, ours: &Sched, now: u64, row: usize) -> Result<(), String> {
        let answer = govern(&mut self.core, ours, now, row, &self.policies[row]);
        self.said(answer)
    }
}

fn govern(core: &mut KernelCore, ours: &Sched, now: u64, row: usize, policy: &FreqPolicy) -> Result<(), CallError> {
    let first = policy.cpus.first().map_or(0, CpuId::get);
    core.govern(first, now, row as u32, &governing(ours.governed(row)))
}
