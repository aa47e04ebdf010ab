//! What all importers share: from CPUs as somebody else numbers them to a [`Machine`].

use crate::machine::{CpuSpec, Machine};
use crate::regular::default_distances;
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;
use std::collections::{BTreeMap, BTreeSet};

/// A machine that was read from another program's description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The machine.
    pub machine: Machine,
    /// What was assumed or left out, one sentence each; to be shown to the user.
    pub notes: Vec<String>,
}

/// A CPU as found. All ids only tell apart; they need not be dense.
#[derive(Clone, Debug)]
pub(crate) struct FoundCpu {
    /// The number that Linux gives it.
    pub(crate) number: u32,
    pub(crate) core: u64,
    pub(crate) cluster: Option<u64>,
    pub(crate) llc: u64,
    pub(crate) package: u64,
    /// The number that Linux gives the node.
    pub(crate) node: u32,
    pub(crate) capacity: u32,
    pub(crate) freq_domain: u64,
}

/// Distances between nodes as found: row and column `i` belong to node `nodes[i]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundDistances {
    pub(crate) nodes: Vec<u32>,
    pub(crate) rows: Vec<Vec<u32>>,
}

/// Makes the machine: CPUs in the order of their numbers, all ids dense.
pub(crate) fn build(
    name: &str,
    mut found: Vec<FoundCpu>,
    distances: Option<FoundDistances>,
    mut notes: Vec<String>,
) -> Result<Imported, Mistakes> {
    check_numbers(&found)?;
    found.sort_by_key(|cpu| cpu.number);
    note_holes(&found, &mut notes);
    drop_needless_clusters(&mut found);
    let nodes: Vec<u32> = found.iter().map(|cpu| cpu.node).collect::<BTreeSet<_>>().into_iter().collect();
    note_node_holes(&nodes, &mut notes);
    let rows = rows_of(&nodes, distances, &mut notes);
    let (mut core, mut cluster, mut llc) = (Dense::default(), Dense::default(), Dense::default());
    let (mut package, mut freq_domain) = (Dense::default(), Dense::default());
    let cpus = found.iter().map(|cpu| CpuSpec {
        cluster: cpu.cluster.map(|id| cluster.id(id)),
        llc: llc.id(cpu.llc),
        package: package.id(cpu.package),
        node: nodes.partition_point(|&node| node < cpu.node) as u32,
        capacity: cpu.capacity,
        freq_domain: freq_domain.id(cpu.freq_domain),
        ..CpuSpec::alone(core.id(cpu.core))
    });
    let machine = Machine::new(name, cpus.collect(), rows);
    machine.validate()?;
    Ok(Imported { machine, notes })
}

/// Gives ids 0, 1, 2 … in the order in which keys are first seen.
#[derive(Default)]
struct Dense(BTreeMap<u64, u32>);

impl Dense {
    fn id(&mut self, key: u64) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(key).or_insert(next)
    }
}

fn check_numbers(found: &[FoundCpu]) -> Result<(), Mistakes> {
    let mut mistakes = Mistakes::default();
    if found.is_empty() || found.len() > MAX_CPUS {
        let hint = format!("A machine has 1 to {MAX_CPUS} CPUs.");
        return Err(Mistakes::one(format!("a machine of {} CPUs", found.len()), hint));
    }
    let mut seen = BTreeSet::new();
    for cpu in found.iter().filter(|cpu| !seen.insert(cpu.number)) {
        mistakes.whole(format!("CPU {} is there twice", cpu.number), "Each CPU number belongs to one hardware thread.");
    }
    mistakes.or(())
}

/// Says how CPUs are renumbered if some numbers are not there (offline CPUs).
fn note_holes(found: &[FoundCpu], notes: &mut Vec<String>) {
    if found.iter().zip(0..).any(|(cpu, place)| cpu.number != place) {
        let numbers = found.iter().map(|cpu| cpu.number);
        notes.push(format!(
            "CPU numbers have gaps (CPUs that are offline): CPUs 0 to {} of the machine are {} there",
            found.len() - 1,
            joined(numbers)
        ));
    }
}

/// Says how nodes are renumbered if some numbers are not there, or belong to nodes without CPUs.
fn note_node_holes(nodes: &[u32], notes: &mut Vec<String>) {
    if nodes.iter().zip(0..).any(|(&node, place)| node != place) {
        let last = nodes.len() - 1;
        notes.push(format!(
            "numbers of NUMA nodes have gaps: nodes 0 to {last} of the machine are {} there",
            joined(nodes.iter().copied())
        ));
    }
}

fn joined(numbers: impl Iterator<Item = u32>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// A cluster says something only if it is larger than a core and smaller than its last-level cache.
fn drop_needless_clusters(found: &mut [FoundCpu]) {
    let mut members: BTreeMap<u64, (BTreeSet<u64>, u64, usize)> = BTreeMap::new();
    let mut llc_sizes: BTreeMap<u64, usize> = BTreeMap::new();
    for cpu in found.iter() {
        *llc_sizes.entry(cpu.llc).or_default() += 1;
        if let Some(cluster) = cpu.cluster {
            let entry = members.entry(cluster).or_insert((BTreeSet::new(), cpu.llc, 0));
            entry.0.insert(cpu.core);
            entry.2 += 1;
        }
    }
    let says_something = |cluster: u64| {
        members
            .get(&cluster)
            .is_some_and(|(cores, llc, size)| cores.len() > 1 && llc_sizes.get(llc).is_some_and(|all| size < all))
    };
    for cpu in found.iter_mut() {
        cpu.cluster = cpu.cluster.filter(|&cluster| says_something(cluster));
    }
}

/// The distance rows of `nodes`; the kernel's default if they were not found.
fn rows_of(nodes: &[u32], found: Option<FoundDistances>, notes: &mut Vec<String>) -> Vec<Vec<u32>> {
    let Some(found) = found else {
        if nodes.len() > 1 {
            notes.push("the distances of the NUMA nodes are not known: 20 is assumed between different nodes".to_string());
        }
        return default_distances(nodes.len());
    };
    let place = |node: &u32| found.nodes.iter().position(|n| n == node);
    let distance = |from: &u32, to: &u32| found.rows.get(place(from)?)?.get(place(to)?).copied();
    let rows: Option<Vec<Vec<u32>>> = nodes.iter().map(|from| nodes.iter().map(|to| distance(from, to)).collect()).collect();
    if let Some(extra) = found.nodes.len().checked_sub(nodes.len()).filter(|extra| *extra > 0) {
        notes.push(format!("{extra} NUMA node(s) without CPUs are left out"));
    }
    rows.unwrap_or_else(|| {
        notes.push("the distance matrix does not cover all NUMA nodes: 20 is assumed between different nodes".to_string());
        default_distances(nodes.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_stdx::CpuId;

    fn cpu(number: u32) -> FoundCpu {
        FoundCpu {
            number,
            core: u64::from(number),
            cluster: None,
            llc: 7,
            package: 3,
            node: 0,
            capacity: 1024,
            freq_domain: u64::from(number),
        }
    }

    #[test]
    fn gaps_are_closed_and_said() {
        let imported = build("m", vec![cpu(4), cpu(0), cpu(9)], None, Vec::new()).unwrap();
        assert_eq!(imported.machine.cpus.len(), 3);
        assert_eq!(imported.machine.cpus[CpuId::new(2)].core, 2);
        assert!(imported.notes[0].contains("CPUs 0 to 2 of the machine are 0, 4, 9 there"), "{:?}", imported.notes);
    }

    #[test]
    fn doubles_and_crowds_are_refused() {
        assert!(build("m", vec![cpu(1), cpu(1)], None, Vec::new()).unwrap_err().to_string().contains("CPU 1 is there twice"));
        assert!(build("m", Vec::new(), None, Vec::new()).is_err());
        assert!(build("m", (0..5000).map(cpu).collect(), None, Vec::new()).is_err());
    }

    #[test]
    fn clusters_lie_between_core_and_cache() {
        let clusters = |sizes: &dyn Fn(u32) -> u64| {
            let found = (0..4).map(|n| FoundCpu { cluster: Some(sizes(n)), ..cpu(n) }).collect();
            let machine = build("m", found, None, Vec::new()).unwrap().machine;
            machine.cpus.iter().map(|cpu| cpu.cluster).collect::<Vec<_>>()
        };
        assert_eq!(clusters(&|n| u64::from(n)), [None; 4], "as large as a core");
        assert_eq!(clusters(&|_| 5), [None; 4], "as large as the cache");
        assert_eq!(clusters(&|n| u64::from(n / 2)), [Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn nodes_without_cpus_are_left_out() {
        let found = vec![cpu(0), FoundCpu { node: 4, llc: 8, package: 4, ..cpu(1) }];
        let distances = FoundDistances { nodes: vec![0, 2, 4], rows: vec![vec![10, 17, 21], vec![17, 10, 28], vec![21, 28, 10]] };
        let imported = build("m", found, Some(distances), Vec::new()).unwrap();
        assert_eq!(imported.machine.distances, [[10, 21], [21, 10]]);
        let renumbered = "numbers of NUMA nodes have gaps: nodes 0 to 1 of the machine are 0, 4 there";
        assert_eq!(imported.notes, [renumbered, "1 NUMA node(s) without CPUs are left out"]);
    }
}
