//! From the machine to its domains.

use super::{CpuDomains, Topology};
use crate::profile::Profile;
use fairground_model::MachineView;

impl Topology {
    /// The domains of the CPUs of `machine` that are on line.
    ///
    /// Kernel: topology.c build_sched_domains(), v4.12–
    pub fn build(_profile: &Profile, machine: &MachineView) -> Topology {
        let cpus = machine.cpus.ids().map(|cpu| CpuDomains {
            base: None,
            sd_llc: None,
            llc_size: 1,
            llc_id: cpu,
            share_id: cpu,
            sd_llc_shared: None,
            sd_numa: None,
            sd_asym_packing: None,
            sd_asym_cpucapacity: None,
        });
        Topology { cpus: cpus.collect(), ..Topology::default() }
    }
}
