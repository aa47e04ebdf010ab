//! The two readings side by side.

use super::{Cpus, Domain, Era, Flags, capacities, chain_of};
use fairground_machine::Machine;
use fairground_sched::Profile;
use fairground_sched::topology::{SchedDomain, SchedGroup, SdFlags, Topology};
use fairground_stdx::{CpuId, CpuMask, Id};
use std::collections::BTreeSet;

/// Builds the domains of a machine both ways; what differs first.
pub fn compare(machine: &Machine, profile: &Profile) -> Result<(), String> {
    let era = Era { base: profile.base };
    let topology = Topology::build(profile, &machine.view());
    let chains = chain_of(machine, era);
    let capacity = capacities(machine, era);
    for (row, chain) in chains.iter().enumerate() {
        let cpu = CpuId::from_index(row);
        let built: Vec<&SchedDomain> = topology.domains_of(cpu).map(|sd| &topology.domains[sd]).collect();
        let spans: Vec<Cpus> = built.iter().map(|domain| cpus(&domain.span)).collect();
        let expected: Vec<Cpus> = chain.iter().map(|domain| domain.span.clone()).collect();
        same(&format!("spans of CPU {cpu}"), &spans, &expected)?;
        for (level, (built, expected)) in built.iter().zip(chain).enumerate() {
            let place = format!("domain {level} of CPU {cpu}");
            compare_domain(&place, built, expected, era)?;
            let groups: Vec<&SchedGroup> = topology
                .domains_of(cpu)
                .nth(level)
                .map(|sd| topology.groups_of(sd).map(|sg| &topology.groups[sg]).collect())
                .unwrap_or_default();
            compare_groups(&place, &groups, expected, (machine, era, &capacity))?;
        }
        compare_cached(&topology, cpu, chain, era)?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, built: &T, expected: &T) -> Result<(), String> {
    if built == expected { Ok(()) } else { Err(format!("{what}: the core has {built:?}, the rules say {expected:?}")) }
}

fn cpus(mask: &CpuMask) -> Cpus {
    mask.iter().map(|cpu| cpu.index()).collect()
}

fn flags(set: SdFlags) -> Flags {
    SdFlags::ALL.iter().filter(|row| set.has(row.1)).map(|row| row.0).collect()
}

fn compare_domain(place: &str, built: &SchedDomain, expected: &Domain, era: Era) -> Result<(), String> {
    let weight = expected.span.len() as u32;
    same(&format!("flags of {place}"), &flags(built.flags), &expected.flags)?;
    let numbers = |domain: &SchedDomain| {
        (domain.span_weight, domain.min_interval, domain.max_interval, domain.balance_interval, domain.busy_factor)
    };
    same(&format!("intervals of {place}"), &numbers(built), &(weight, weight, 2 * weight, weight, expected.busy_factor))?;
    same(
        &format!("imbalance_pct, cache_nice_tries of {place}"),
        &(built.imbalance_pct, built.cache_nice_tries),
        &(expected.imbalance_pct, expected.cache_nice_tries),
    )?;
    if !era.since(5, 3) {
        same(
            &format!("busy_idx, idle_idx of {place}"),
            &(built.busy_idx, built.idle_idx),
            &(expected.busy_idx, expected.idle_idx),
        )?;
    }
    if era.allows_numa_imbalance() {
        same(&format!("imb_numa_nr of {place}"), &built.imb_numa_nr, &expected.imb_numa_nr)?;
    }
    Ok(())
}

fn compare_groups(place: &str, built: &[&SchedGroup], expected: &Domain, at: (&Machine, Era, &[u64])) -> Result<(), String> {
    let (machine, era, capacity) = at;
    // That of the CPU itself comes first; the order of the others is not compared.
    let order = |mut spans: Vec<Cpus>| {
        if let Some((_, rest)) = spans.split_first_mut() {
            rest.sort();
        }
        spans
    };
    let spans = order(built.iter().map(|group| cpus(&group.span)).collect());
    same(&format!("groups of {place}"), &spans, &order(expected.groups.iter().map(|group| group.span.clone()).collect()))?;
    for expected in &expected.groups {
        let Some(built) = built.iter().find(|group| cpus(&group.span) == expected.span) else { continue };
        let place = format!("group {:?} of {place}", expected.span);
        same(&format!("balance mask of {place}"), &cpus(&built.balance_mask), &expected.balance_mask)?;
        let each = || expected.span.iter().map(|&cpu| capacity[cpu]);
        let sums = (each().sum::<u64>(), each().min().unwrap_or(0), each().max().unwrap_or(0));
        same(&format!("capacity of {place}"), &(built.capacity, built.min_capacity, built.max_capacity), &sums)?;
        if era.groups_count_cores() {
            let cores: BTreeSet<u32> = expected.span.iter().map(|&cpu| machine.cpus.as_slice()[cpu].core).collect();
            same(&format!("cores of {place}"), &built.cores, &(cores.len() as u32))?;
        }
    }
    Ok(())
}

fn compare_cached(topology: &Topology, cpu: CpuId, chain: &[Domain], era: Era) -> Result<(), String> {
    let cached = &topology.cpus[cpu];
    let span = |sd: Option<fairground_stdx::SdId>| sd.map(|sd| cpus(&topology.domains[sd].span));
    let highest = |flag: &str| chain.iter().rfind(|domain| domain.flags.contains(flag)).map(|domain| domain.span.clone());
    let lowest = |flag: &str| chain.iter().find(|domain| domain.flags.contains(flag)).map(|domain| domain.span.clone());
    let llc = highest("SD_SHARE_LLC");
    same(&format!("sd_llc of CPU {cpu}"), &span(cached.sd_llc), &llc)?;
    let llc = llc.unwrap_or_else(|| vec![cpu.index()]);
    let (size, id) = (cached.llc_size as usize, cached.llc_id.index());
    same(&format!("llc_size and llc_id of CPU {cpu}"), &(size, id), &(llc.len(), llc[0]))?;
    same(&format!("sd_numa of CPU {cpu}"), &span(cached.sd_numa), &lowest("SD_NUMA"))?;
    if era.marks_clusters() {
        let first = lowest("SD_CLUSTER").map_or(llc[0], |span| span[0]);
        same(&format!("share_id of CPU {cpu}"), &cached.share_id.index(), &first)?;
    }
    if era.knows_full_asymmetry() {
        same(
            &format!("sd_asym_cpucapacity of CPU {cpu}"),
            &span(cached.sd_asym_cpucapacity),
            &lowest("SD_ASYM_CPUCAPACITY_FULL"),
        )?;
    }
    Ok(())
}
