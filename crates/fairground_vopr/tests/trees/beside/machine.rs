//! The machine, and frequencies, as the core gets them.

use super::{BEGIN_NS, BOOT_NS, Beside};
use fairground_kcore::{CallError, Governing, Hardware, Points};
use fairground_machine::Machine;
use fairground_model::{GovernorKind, Policy};
use fairground_sched::Sched;
use fairground_stdx::CpuId;

/// The machine as the core gets it. Numbers of cores, clusters and caches are unique in ours already.
pub(super) fn hardware(machine: &Machine, seed: u64) -> Hardware {
    let cpus = || machine.cpus.iter();
    let cluster = |cpu: &fairground_machine::CpuSpec| cpu.cluster.unwrap_or(1 << 20 | cpu.core);
    Hardware {
        core: cpus().map(|cpu| cpu.core).collect(),
        cluster: cpus().map(cluster).collect(),
        package: cpus().map(|cpu| cpu.llc).collect(),
        node: cpus().map(|cpu| cpu.node).collect(),
        capacity: cpus().map(|cpu| cpu.capacity).collect(),
        distance: machine.distances.iter().flatten().copied().collect(),
        invariant: machine.freq_invariant,
        nodes_in_package: machine.has_nodes_in_package(),
        seed,
        now_ns: BOOT_NS,
    }
}

/// At which share of its highest frequency each CPU runs when a run begins, in 1/1024.
pub(super) fn begin_shares(machine: &Machine) -> Vec<u32> {
    let share = |cpu: CpuId| {
        let policy = machine.policies.iter().find(|policy| policy.cpus.contains(cpu));
        let own = machine.cpus[cpu].freq_capacity;
        policy.map_or(own, |policy| policy.start_share(own))
    };
    machine.cpus.ids().map(share).collect()
}

impl Beside {
    /// The run is about to begin: CPUs run at the frequencies of the machine, and governors begin.
    pub(super) fn begin_frequencies(&mut self, sched: &Sched) -> Result<(), CallError> {
        for (cpu, &share) in self.shares.iter().enumerate() {
            self.core.frequency(cpu as u32, BEGIN_NS, share)?;
        }
        for (row, policy) in self.policies.clone().iter().enumerate() {
            let points = Points {
                cpus: policy.cpus.iter().map(CpuId::get).collect(),
                khz: policy.opps.iter().map(|opp| opp.khz).collect(),
                milliwatt: policy.opps.iter().map(|opp| opp.power_mw).collect(),
                latency_ns: policy.transition_latency.0,
                fast_switch: policy.fast_switch,
            };
            assert_eq!(self.core.policy_new(BEGIN_NS, &points)? as usize, row);
            self.govern(sched, BEGIN_NS, row)?;
        }
        Ok(())
    }

    /// The governor of a policy begins, as it is in ours already.
    pub(super) fn govern(&mut self, sched: &Sched, now: u64, row: usize) -> Result<(), CallError> {
        let governed = sched.governed(row);
        let how = Governing {
            schedutil: (governed.kind == GovernorKind::Schedutil).into(),
            min_khz: governed.limits.0,
            max_khz: governed.limits.1,
            cur_khz: self
                .core
                .frequency_of(row as u32)
                .map(|view| view.cur_khz)
                .filter(|&khz| khz > 0)
                .unwrap_or(governed.cur_khz),
            rate_limit_us: (governed.rate_limit.0 / 1000) as u32,
            begin_khz: governed.begin_khz.unwrap_or(0),
        };
        let first = self.policies[row].cpus.first().map_or(0, CpuId::get);
        self.core.govern(first, now, row as u32, &how)
    }
}

/// A policy as Linux numbers it, and its real-time priority.
pub(super) fn numbers(policy: Policy) -> (u32, u32) {
    let number = match policy {
        Policy::Normal => 0,
        Policy::Fifo(_) => 1,
        Policy::RoundRobin(_) => 2,
        Policy::Batch => 3,
        Policy::Idle => 5,
        Policy::Deadline(_) => 6,
    };
    (number, policy.rt_priority().map_or(0, |priority| priority.get().into()))
}
