//! The tests of file 05 of the specification, under its numbers.

use super::{SchedDomain, SdFlags, Topology};
use crate::Profile;
use fairground_machine::Machine;
use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask, Ns, SdId};

fn profile(name: &str) -> Profile {
    Profile::parse(name).unwrap()
}

fn cpu(number: u32) -> CpuId {
    CpuId::new(number)
}

fn preset(name: &str) -> MachineView {
    Machine::preset(name).unwrap().view()
}

/// A preset whose tick is 1 ms.
fn preset_hz1000(name: &str) -> MachineView {
    MachineView { tick: Ns::from_ms(1), ..preset(name) }
}

fn build(name: &str, view: &MachineView) -> Topology {
    Topology::build(&profile(name), view)
}

/// What `read` says of each domain of a CPU, smallest first.
fn chain<T>(topology: &Topology, number: u32, read: impl Fn(&SchedDomain) -> T) -> Vec<T> {
    topology.domains_of(cpu(number)).map(|sd| read(&topology.domains[sd])).collect()
}

fn sd(topology: &Topology, number: u32, place: usize) -> SdId {
    topology.domains_of(cpu(number)).nth(place).unwrap()
}

/// The spans of the groups of a domain in the order of its ring.
fn ring(topology: &Topology, sd: SdId) -> Vec<String> {
    topology.groups_of(sd).map(|group| topology.groups[group].span.to_string()).collect()
}

#[test]
fn spec_05_t01_two_sockets() {
    let topology = build("v5.19", &preset("spr-2x56"));
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [2, 112, 224]);
    assert_eq!(chain(&topology, 0, |sd| sd.imbalance_pct), [110, 117, 117]);
    assert_eq!(chain(&topology, 0, |sd| sd.cache_nice_tries), [0, 1, 2]);
    assert_eq!(topology.cpus[cpu(0)].sd_llc, Some(sd(&topology, 0, 1)));
    assert_eq!(topology.cpus[cpu(0)].llc_size, 112);
    let llc_id = |number| topology.cpus[cpu(number)].llc_id.get();
    assert_eq!([0, 167, 56, 223].map(llc_id), [0, 0, 56, 56]);
    assert_eq!(topology.domains[sd(&topology, 0, 0)].span.to_string(), "0,112");
}

#[test]
fn spec_05_t01b_one_socket() {
    let topology = build("v5.19", &preset_hz1000("llc112"));
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [2, 112]);
    assert_eq!(chain(&topology, 3, |sd| sd.span.to_string())[0], "3,59");
    let llc = sd(&topology, 0, 1);
    assert_eq!(topology.get_sd_balance_interval(llc, false), 112);
    assert_eq!(topology.get_sd_balance_interval(llc, true), 1791);
    assert!(topology.domains.iter().all(|sd| !sd.flags.has(SdFlags::NUMA)));
}

#[test]
fn spec_05_t02_capacities_of_threads() {
    let view = preset("spr-2x56");
    let topology = build("v4.12", &view);
    assert_eq!(chain(&topology, 0, |sd| sd.imbalance_pct), [110, 117, 125]);
    assert_eq!(chain(&topology, 0, |sd| sd.busy_idx), [0, 2, 3]);
    assert_eq!(chain(&topology, 0, |sd| sd.idle_idx), [0, 0, 2]);
    assert_eq!(chain(&topology, 0, |sd| sd.busy_factor), [32, 32, 32]);
    assert!(topology.capacity_orig.iter().all(|&capacity| capacity == 589));
    let node = |topology: &Topology| topology.groups[topology.domains[sd(topology, 0, 2)].first_group].capacity;
    assert_eq!(node(&topology), 65_968);
    assert_eq!(node(&build("v5.19", &view)), 114_688);
}

#[test]
fn spec_05_t03_groups_of_cores() {
    let topology = build("v4.12", &preset("fb-16c32t"));
    let mc = sd(&topology, 5, 1);
    assert!(topology.domains[mc].flags.has(SdFlags::PREFER_SIBLING));
    let ring = ring(&topology, mc);
    assert_eq!((ring.len(), ring[0].as_str(), ring[1].as_str(), ring[15].as_str()), (16, "5,21", "6,22", "4,20"));
    let capacities: Vec<u64> = topology.groups_of(mc).map(|group| topology.groups[group].capacity).collect();
    assert_eq!(capacities, [1178; 16]);
    assert_eq!(capacities.iter().sum::<u64>(), 18_848);
}

#[test]
fn spec_05_t04_two_clusters() {
    let topology = build("v4.12", &preset("hikey"));
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [4, 8]);
    let die = sd(&topology, 0, 1);
    assert_eq!(ring(&topology, die), ["0-3", "4-7"]);
    assert!(topology.groups_of(die).all(|group| topology.groups[group].capacity == 4096));
    assert!(topology.domains.iter().all(|sd| !sd.flags.has(SdFlags::SHARE_CPUCAPACITY)));
    let intervals = |busy| topology.domains_of(cpu(0)).map(|sd| topology.get_sd_balance_interval(sd, busy)).collect::<Vec<_>>();
    assert_eq!(intervals(false), [1, 2]);
    assert_eq!(intervals(true), [32, 64]);
}

#[test]
fn spec_05_t05_many_caches() {
    let view = preset("epyc-9654-2s");
    let topology = build("v6.14", &view);
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [2, 16, 192, 384]);
    let mut llcs: Vec<CpuId> = topology.cpus.iter().map(|cpu| cpu.llc_id).collect();
    llcs.sort_unstable();
    llcs.dedup();
    assert_eq!(llcs.len(), 24);
    assert_eq!(chain(&topology, 0, |sd| sd.imb_numa_nr), [0, 0, 12, 12]);
    let eager = SdFlags::WAKE_AFFINE.with(SdFlags::BALANCE_FORK).with(SdFlags::BALANCE_EXEC);
    assert!(topology.domains[sd(&topology, 0, 3)].flags.has(eager));
    let far = MachineView { distances: vec![vec![10, 33], vec![33, 10]], ..view };
    let topology = build("v6.14", &far);
    assert!(!topology.domains[sd(&topology, 0, 3)].flags.intersects(eager));
}

#[test]
fn spec_05_t06_numa_allowance() {
    let view = preset("spr-2x56");
    let allowance = |name| chain(&build(name, &view), 0, |sd| sd.imb_numa_nr)[2];
    assert_eq!(allowance("v5.19"), 28);
    assert_eq!(allowance("v6.14"), 14);
}

#[test]
fn spec_05_t07_caches_of_one_cpu() {
    let topology = build("v5.19", &preset("vm8-nollc"));
    assert!(topology.cpus.iter().all(|cpu| cpu.llc_size == 1));
    assert!(!topology.cpus_share_cache(cpu(0), cpu(1)));
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [8]);
}

#[test]
fn spec_05_t11_small_machines() {
    for name in ["v4.12", "v5.19", "v6.14", "v6.18"] {
        assert!(build(name, &MachineView::flat(1, Ns::from_ms(4))).domains.is_empty());
        let topology = build(name, &MachineView::flat(2, Ns::from_ms(4)));
        assert_eq!(chain(&topology, 0, |sd| (sd.level, sd.span_weight)), [(super::Level::Mc, 2)]);
    }
    let mut view = MachineView::flat(8, Ns::from_ms(4));
    for number in 0..8 {
        view.cpus[cpu(number)].llc = CpuMask::parse_list(if number < 4 { "0-3" } else { "4-7" }).unwrap();
        view.cpus[cpu(number)].capacity = if number < 4 { 446 } else { 1024 };
    }
    for name in ["v5.19", "v6.14"] {
        let topology = build(name, &view);
        let flags = chain(&topology, 0, |sd| sd.flags);
        assert_eq!(flags.len(), 2);
        assert!(!flags[0].has(SdFlags::PREFER_SIBLING));
        assert!(flags[1].has(SdFlags::ASYM_CPUCAPACITY_FULL));
    }
}
