//! Counters of wake-ups, and the snapshot of all counters.

use crate::Sched;
use crate::topology::{Level, SchedDomain};
use fairground_model::{CpuStat, DomainStat, SchedStat};
use fairground_stdx::CpuId;

impl Level {
    /// The name of the level (`sd->name`).
    ///
    /// Kernel: topology.c default_topology[], v4.12– (PKG was DIE up to v6.6)
    pub fn name(self) -> &'static str {
        match self {
            Level::Smt => "SMT",
            Level::Cluster => "CLS",
            Level::Mc => "MC",
            Level::Die => "PKG",
            Level::Node => "NODE",
            Level::Numa(_) => "NUMA",
        }
    }
}

impl Sched {
    /// `waker` has woken a task onto `target`. A remote wake-up is counted in the waker's smallest domain that holds both.
    ///
    /// Kernel: core.c ttwu_stat(), v4.12–
    #[inline]
    pub(crate) fn ttwu_stat(&mut self, waker: CpuId, target: CpuId) {
        let stats = &mut self.rqs[waker].stats;
        stats.ttwu_count += 1;
        if waker == target {
            stats.ttwu_local += 1;
            return;
        }
        let common = self.topology.domains_of(waker).find(|&sd| self.topology.domains[sd].span.contains(target));
        if let Some(sd) = common {
            self.topology.domains[sd].stats.ttwu_wake_remote += 1;
        }
    }

    /// All counters of the CPUs that are on line, at this count of ticks.
    ///
    /// Kernel: stats.c show_schedstat(), v4.12–
    pub fn schedstat(&self, jiffies: u64) -> SchedStat {
        let online = self.rqs.iter_enumerated().filter(|(_, rq)| rq.online);
        let cpus = online.map(|(cpu, rq)| {
            let domains = self.topology.domains_of(cpu).map(|sd| domain_stat(&self.topology.domains[sd])).collect();
            CpuStat { cpu, stats: rq.stats, legacy: 0, added: Vec::new(), domains }
        });
        SchedStat { timestamp: jiffies, nr_cpu_ids: self.rqs.len() as u32, cpus: cpus.collect() }
    }
}

fn domain_stat(sd: &SchedDomain) -> DomainStat {
    DomainStat { name: Some(sd.level.name().to_string()), span: sd.span, stats: sd.stats, unused: [0; 6] }
}
