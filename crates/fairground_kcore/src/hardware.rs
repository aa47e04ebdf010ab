//! The machine, and its frequencies, as a core is told.

use crate::abi::MachineTables;

/// The machine that a core boots on: one row per CPU in each table, and a square of distances between nodes.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one row per CPU")]
pub struct Hardware {
    pub core: Vec<u32>,
    pub cluster: Vec<u32>,
    /// CPUs that share the last level of cache.
    pub package: Vec<u32>,
    pub node: Vec<u32>,
    /// 1024 = the largest CPU.
    pub capacity: Vec<u32>,
    pub distance: Vec<u32>,
    /// Whether the kernel knows at which frequency a CPU runs.
    pub invariant: bool,
    /// Whether a package holds several nodes: then no domain is one of a package.
    pub nodes_in_package: bool,
    /// Of the random numbers that the core draws.
    pub seed: u64,
    /// The time at boot: not 0, which load tracking takes for "never".
    pub now_ns: u64,
}

/// CPUs that change their frequency together, and between which points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Points {
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// The frequencies, the lowest first.
    pub khz: Vec<u32>,
    /// What one CPU takes at each; none: that is not known.
    pub milliwatt: Option<Vec<u32>>,
    /// How long the driver takes for a change.
    pub latency_ns: u64,
    /// The scheduler changes the frequency itself, at once; else a thread does.
    pub fast_switch: bool,
}

impl Hardware {
    /// `cpus` equal CPUs that share a cache, booted at `now_ns`.
    pub fn flat(cpus: u32, now_ns: u64) -> Hardware {
        let (each, same) = ((0..cpus).collect::<Vec<_>>(), vec![0; cpus as usize]);
        Hardware {
            core: each.clone(),
            cluster: each,
            package: same.clone(),
            node: same,
            capacity: vec![1024; cpus as usize],
            distance: vec![10],
            invariant: true,
            nodes_in_package: false,
            seed: 1,
            now_ns,
        }
    }

    /// The number of CPUs and of nodes, if the tables agree.
    pub(crate) fn sizes(&self) -> Option<(u32, u32)> {
        let cpus = self.core.len();
        let rows = [&self.cluster, &self.package, &self.node, &self.capacity];
        let nodes = self.node.iter().max()? + 1;
        let agree = rows.iter().all(|table| table.len() == cpus) && self.distance.len() as u64 == u64::from(nodes).pow(2);
        agree.then_some((u32::try_from(cpus).ok()?, nodes))
    }

    /// The tables as the interface has them. They point into this.
    pub(crate) fn tables(&self, cpus: u32, nodes: u32) -> MachineTables {
        MachineTables {
            cpus,
            nodes,
            seed: self.seed,
            now: self.now_ns,
            core: self.core.as_ptr(),
            cluster: self.cluster.as_ptr(),
            package: self.package.as_ptr(),
            node: self.node.as_ptr(),
            capacity: self.capacity.as_ptr(),
            distance: self.distance.as_ptr(),
            invariant: self.invariant.into(),
            nodes_in_package: self.nodes_in_package.into(),
        }
    }
}
