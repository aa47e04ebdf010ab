//! Machines in which every part has the same shape: so many packages of so many cores and so on.

use crate::machine::{CpuSpec, LOCAL_DISTANCE, REMOTE_DISTANCE};
use crate::validate::MAX_CPUS;
use fairground_stdx::{CpuId, IndexVec};

/// In which order Linux numbers the threads of the cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Numbering {
    /// All first threads, then all second threads in the same order: x86 servers.
    #[default]
    ThreadMajor,
    /// The threads of a core one after the other.
    Adjacent,
}

impl Numbering {
    /// All ways with their names.
    pub const NAMES: [(&'static str, Numbering); 2] =
        [("thread-major", Numbering::ThreadMajor), ("adjacent", Numbering::Adjacent)];
}

/// A part of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Level {
    /// One hardware thread.
    Cpu,
    /// The threads of a core.
    #[default]
    Core,
    /// The CPUs of a last-level cache.
    Llc,
    /// The CPUs of a package.
    Package,
    /// All CPUs.
    Machine,
}

impl Level {
    /// All levels with their names.
    pub const NAMES: [(&'static str, Level); 5] = [
        ("cpu", Level::Cpu),
        ("core", Level::Core),
        ("llc", Level::Llc),
        ("package", Level::Package),
        ("machine", Level::Machine),
    ];
}

/// The shape of a regular machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Regular {
    /// Packages in the machine.
    pub sockets: u32,
    /// NUMA nodes in a package.
    pub nodes: u32,
    /// Last-level caches in a node.
    pub llcs: u32,
    /// Clusters in a last-level cache; none = there is no such level.
    pub clusters: Option<u32>,
    /// Cores in a cluster, or in a last-level cache if there are no clusters.
    pub cores: u32,
    /// Threads in a core.
    pub threads: u32,
    /// How the threads are numbered.
    pub numbering: Numbering,
    /// Which CPUs change frequency together.
    pub freq_domains: Level,
}

impl Default for Regular {
    fn default() -> Regular {
        Regular {
            sockets: 1,
            nodes: 1,
            llcs: 1,
            clusters: None,
            cores: 1,
            threads: 1,
            numbering: Numbering::default(),
            freq_domains: Level::default(),
        }
    }
}

impl Regular {
    /// Number of cores in the machine, exact below 2^32 and never too small above.
    fn total_cores(&self) -> u64 {
        [self.sockets, self.nodes, self.llcs, self.clusters.unwrap_or(1), self.cores]
            .iter()
            .fold(1, |product: u64, &n| product.saturating_mul(u64::from(n)))
    }
    /// Number of CPUs in the machine.
    pub fn total(&self) -> u64 {
        self.total_cores().saturating_mul(u64::from(self.threads))
    }
    /// The CPUs, all of full capacity; none at all if there would be more than [`MAX_CPUS`].
    pub fn cpus(&self) -> IndexVec<CpuId, CpuSpec> {
        let total = self.total();
        if total > MAX_CPUS as u64 {
            return IndexVec::new();
        }
        let cores = self.total_cores();
        let place = |cpu: u64| match self.numbering {
            Numbering::ThreadMajor => cpu % cores,
            Numbering::Adjacent => cpu / u64::from(self.threads),
        };
        (0..total).map(|cpu| self.cpu(cpu as u32, place(cpu) as u32)).collect()
    }
    /// CPU number `cpu` on core number `core`.
    fn cpu(&self, cpu: u32, core: u32) -> CpuSpec {
        let cluster = core / self.cores;
        let llc = cluster / self.clusters.unwrap_or(1);
        let node = llc / self.llcs;
        let package = node / self.nodes;
        let freq_domain = match self.freq_domains {
            Level::Cpu => cpu,
            Level::Core => core,
            Level::Llc => llc,
            Level::Package => package,
            Level::Machine => 0,
        };
        let cluster = self.clusters.map(|_| cluster);
        CpuSpec { cluster, llc, package, node, freq_domain, ..CpuSpec::alone(core) }
    }
    /// Number of NUMA nodes.
    pub fn total_nodes(&self) -> usize {
        (self.sockets as usize).saturating_mul(self.nodes as usize)
    }
}

/// The distances where the firmware says nothing: 10 within a node, 20 to every other.
pub fn default_distances(nodes: usize) -> Vec<Vec<u32>> {
    let row = |from| (0..nodes).map(|to| if from == to { LOCAL_DISTANCE } else { REMOTE_DISTANCE }).collect();
    (0..nodes).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_as_asked() {
        let shape = Regular { sockets: 2, cores: 2, threads: 2, ..Regular::default() };
        let cores = |shape: &Regular| shape.cpus().iter().map(|cpu| cpu.core).collect::<Vec<_>>();
        assert_eq!(cores(&shape), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(cores(&Regular { numbering: Numbering::Adjacent, ..shape }), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn every_level_counts() {
        let shape = Regular { sockets: 2, nodes: 2, llcs: 2, clusters: Some(2), cores: 2, ..Regular::default() };
        let last = shape.cpus().iter().last().cloned().unwrap();
        assert_eq!(shape.total(), 32);
        assert_eq!((last.core, last.cluster, last.llc, last.node, last.package), (31, Some(15), 7, 3, 1));
        assert_eq!(default_distances(2), [[10, 20], [20, 10]]);
    }

    #[test]
    fn too_large_a_shape_makes_no_cpus() {
        let shape = Regular { sockets: u32::MAX, nodes: u32::MAX, llcs: u32::MAX, ..Regular::default() };
        assert_eq!((shape.total(), shape.cpus().len()), (u64::MAX, 0));
    }
}
