//! The keys of a machine in which every part has the same shape.

use crate::fields::Fields;
use crate::keys::{self, Key, field};
use crate::machine::CpuSpec;
use crate::regular::{Level, Numbering, Regular};
use crate::validate::MAX_CPUS;
use fairground_model::Mistakes;
use fairground_stdx::{CpuId, IndexVec};

const MOST: u32 = MAX_CPUS as u32;

pub(super) static KEYS: &[Key<Regular>] = &[
    field!("sockets" always integer(1..=MOST), sockets, "Packages in the machine."),
    field!("nodes" always integer(1..=MOST), nodes, "NUMA nodes in a package."),
    field!("llcs" always integer(1..=MOST), llcs, "Last-level caches in a node."),
    field!("clusters" changed integer(1..=MOST), clusters, "Clusters in a last-level cache; left out: no such level."),
    field!("cores" always integer(1..=MOST), cores, "Cores in a cluster, or in a last-level cache."),
    field!("threads" always integer(1..=MOST), threads, "Threads in a core."),
    field!("numbering" always one_of(&Numbering::NAMES), numbering, "In which order Linux numbers the threads of the cores."),
    field!("freq_domains" always one_of(&Level::NAMES), freq_domains, "Which CPUs change frequency together."),
];

/// The CPUs of the shape and how many nodes they have.
pub(super) fn read(fields: &Fields, mistakes: &mut Mistakes) -> Option<(IndexVec<CpuId, CpuSpec>, usize)> {
    if !fields.has("cores") {
        let hint = "Write `preset = \"…\"`, `cores = N` with the rest of the shape, or one `[[cpu]]` table per CPU.";
        mistakes.at(fields.span(), "which CPUs does the machine have?", hint);
    }
    let before = mistakes.0.len();
    let mut shape = Regular::default();
    keys::read(KEYS, fields, &mut shape, mistakes);
    if !fields.has("cores") || mistakes.0.len() > before {
        return None;
    }
    if shape.total() > MAX_CPUS as u64 {
        let hint = format!("At most {MAX_CPUS} CPUs can be simulated.");
        mistakes.at(fields.span_of("cores"), format!("this shape has {} CPUs", shape.total()), hint);
        return None;
    }
    Some((shape.cpus(), shape.total_nodes()))
}

pub(super) fn write(shape: &Regular) -> String {
    keys::write(KEYS, shape, &Regular::default())
}

/// The regular shape whose CPUs these are, whatever their capacities, if there is one.
pub(super) fn of(cpus: &IndexVec<CpuId, CpuSpec>) -> Option<Regular> {
    let distinct = |key: fn(&CpuSpec) -> u32| {
        let mut ids: Vec<u32> = cpus.iter().map(key).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.len() as u32
    };
    let (sockets, nodes) = (distinct(|cpu| cpu.package), distinct(|cpu| cpu.node));
    let (llcs, cores) = (distinct(|cpu| cpu.llc), distinct(|cpu| cpu.core));
    let clustered = cpus.iter().all(|cpu| cpu.cluster.is_some());
    let clusters = clustered.then(|| distinct(|cpu| cpu.cluster.unwrap_or(0)));
    let total = cpus.len() as u32;
    let parts = |whole: u32, parts: u32| parts.checked_div(whole).filter(|n| *n > 0);
    let shape = Regular {
        sockets: parts(1, sockets)?,
        nodes: parts(sockets, nodes)?,
        llcs: parts(nodes, llcs)?,
        clusters: match clusters {
            Some(clusters) => Some(parts(llcs, clusters)?),
            None => None,
        },
        cores: parts(clusters.unwrap_or(llcs), cores)?,
        threads: parts(cores, total)?,
        ..Regular::default()
    };
    let variants = Numbering::NAMES.iter().flat_map(|(_, numbering)| {
        Level::NAMES.iter().map(|(_, freq_domains)| Regular {
            numbering: *numbering,
            freq_domains: *freq_domains,
            ..shape.clone()
        })
    });
    let same = |a: &CpuSpec, b: &CpuSpec| CpuSpec { capacity: b.capacity, freq_capacity: b.freq_capacity, ..a.clone() } == *b;
    variants.into_iter().find(|shape| {
        let regular = shape.cpus();
        regular.len() == cpus.len() && regular.iter().zip(cpus.iter()).all(|(a, b)| same(a, b))
    })
}
