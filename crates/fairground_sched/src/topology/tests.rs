//! Worked examples of domains: levels, groups, capacities and intervals of known machines.

use super::{SchedDomain, SdFlags, Topology};
use crate::fair::balance::loads::{capacity_greater, fits_capacity};
use crate::{Profile, Sched};
use fairground_machine::regular::default_distances;
use fairground_machine::{Machine, Numbering, Regular};
use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask, IndexVec, Ns, SdId};
use proptest::prelude::*;

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

/// Model: 05 T01
#[test]
fn a_cpu_of_two_sockets_has_domains_of_2_112_and_224_cpus() {
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

/// Model: 05 T01b
#[test]
fn a_cpu_of_one_socket_has_no_numa_domain() {
    let topology = build("v5.19", &preset_hz1000("llc112"));
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [2, 112]);
    assert_eq!(chain(&topology, 3, |sd| sd.span.to_string())[0], "3,59");
    let llc = sd(&topology, 0, 1);
    assert_eq!(topology.get_sd_balance_interval(llc, false), 112);
    assert_eq!(topology.get_sd_balance_interval(llc, true), 1791);
    assert!(topology.domains.iter().all(|sd| !sd.flags.has(SdFlags::NUMA)));
}

/// Model: 05 T02
#[test]
fn threads_share_the_capacity_of_a_core_in_v4_12() {
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

/// Model: 05 T03
#[test]
fn groups_of_a_cache_domain_are_cores_and_begin_with_the_owners() {
    let topology = build("v4.12", &preset("fb-16c32t"));
    let mc = sd(&topology, 5, 1);
    assert!(topology.domains[mc].flags.has(SdFlags::PREFER_SIBLING));
    let ring = ring(&topology, mc);
    assert_eq!((ring.len(), ring[0].as_str(), ring[1].as_str(), ring[15].as_str()), (16, "5,21", "6,22", "4,20"));
    let capacities: Vec<u64> = topology.groups_of(mc).map(|group| topology.groups[group].capacity).collect();
    assert_eq!(capacities, [1178; 16]);
    assert_eq!(capacities.iter().sum::<u64>(), 18_848);
}

/// Model: 05 T04
#[test]
fn two_clusters_make_domains_of_four_and_eight() {
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

/// Model: 05 T05
#[test]
fn an_epyc_of_two_sockets_has_24_caches() {
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

/// Nodes of one core with two threads: the domains between thread and node are removed. Between nodes each CPU has groups of its own,
/// and only its own node's is marked as a core by that; the other one keeps the flags of what was removed.
#[test]
fn another_node_of_one_core_is_no_group_of_threads() {
    let shape = Regular { sockets: 2, nodes: 1, llcs: 1, clusters: None, cores: 1, threads: 2, ..Regular::default() };
    let mut machine = Machine::new("two cores", shape.cpus(), Vec::new());
    machine.distances = vec![vec![10, 20], vec![20, 10]];
    for (kernel, local) in [("v6.1", None), ("v6.12", Some(true)), ("v7.2", Some(true))] {
        let topology = build(kernel, &machine.view());
        let between = sd(&topology, 0, 1);
        let domain = &topology.domains[between];
        let is_core = |flags: SdFlags| flags.has(SdFlags::SHARE_CPUCAPACITY);
        assert_eq!(domain.local_flags.map(is_core), local, "{kernel}");
        for group in topology.groups_of(between) {
            let flags = topology.groups[group].flags;
            assert!(!is_core(flags) && flags.has(SdFlags::PREFER_SIBLING), "{kernel}: {flags:?}");
        }
    }
}

/// Three nodes of two, two and one CPU, each CPU as far from those of other nodes. By the masks of nodes one that leaves still
/// counts, but from v5.18 on not if its node goes with it.
#[test]
fn a_node_that_goes_off_line_no_longer_counts_in_intervals_from_v5_18_on() {
    let shape = Regular { sockets: 3, nodes: 1, llcs: 1, clusters: None, cores: 2, threads: 1, ..Regular::default() };
    let mut machine = Machine::new("three nodes", shape.cpus(), Vec::new());
    machine.distances = vec![vec![10, 20, 20], vec![20, 10, 20], vec![20, 20, 10]];
    let mut view = machine.view();
    view.online.remove(cpu(5));
    for (kernel, without_node, without_cpu) in [("v5.10", 5, 5), ("v5.19", 4, 5), ("v6.12", 4, 5)] {
        let interval = |leaving: u32| {
            let mut view = view.clone();
            view.online.remove(cpu(leaving));
            let topology = Topology::default().rebuild(&profile(kernel), &view, Some(cpu(leaving)));
            chain(&topology, 0, |domain| domain.min_interval).last().copied()
        };
        assert_eq!((interval(4), interval(3)), (Some(without_node), Some(without_cpu)), "{kernel}");
    }
}

/// Model: 05 T06
#[test]
fn the_numa_allowance_is_28_tasks_in_v5_19_and_14_in_v6_14() {
    let view = preset("spr-2x56");
    let allowance = |name| chain(&build(name, &view), 0, |sd| sd.imb_numa_nr)[2];
    assert_eq!(allowance("v5.19"), 28);
    assert_eq!(allowance("v6.14"), 14);
}

/// Model: 05 T07
#[test]
fn cpus_without_a_common_cache_share_none() {
    let topology = build("v5.19", &preset("vm8-nollc"));
    assert!(topology.cpus.iter().all(|cpu| cpu.llc_size == 1));
    assert!(!topology.cpus_share_cache(cpu(0), cpu(1)));
    assert_eq!(chain(&topology, 0, |sd| sd.span_weight), [8]);
}

/// Weight; at HZ 1000 and then 250: idle, busy up to v5.9, busy from v5.10.
const INTERVALS: [(u32, [u64; 6]); 7] = [
    (2, [2, 64, 31, 1, 16, 7]),
    (16, [16, 512, 255, 4, 128, 63]),
    (32, [32, 1024, 511, 8, 256, 127]),
    (112, [112, 3584, 1791, 28, 896, 447]),
    (192, [192, 6144, 3071, 48, 1536, 767]),
    (224, [224, 7168, 3583, 56, 1792, 895]),
    (384, [384, 12_288, 6143, 96, 3072, 1535]),
];

/// Model: 05 T08
#[test]
fn intervals_follow_the_weight_of_a_domain_and_the_tick_rate() {
    for (weight, expected) in INTERVALS {
        let interval = |name: &str, tick: Ns, busy: bool| {
            // So many CPUs that the bound on all intervals does not matter.
            let mut view = MachineView::flat(1024, tick);
            let llc = CpuMask::first_n(weight as usize);
            (0..weight).for_each(|number| view.cpus[cpu(number)].llc = llc);
            let topology = build(name, &view);
            assert_eq!(topology.domains[sd(&topology, 0, 0)].span_weight, weight);
            topology.get_sd_balance_interval(sd(&topology, 0, 0), busy)
        };
        let of_hz = |tick: Ns| [interval("v4.12", tick, false), interval("v4.12", tick, true), interval("v5.19", tick, true)];
        assert_eq!([of_hz(Ns::from_ms(1)), of_hz(Ns::from_ms(4))].concat(), expected, "weight {weight}");
        assert_eq!(interval("v4.20", Ns::from_ms(1), true), expected[1]);
        assert_eq!(interval("v6.14", Ns::from_ms(1), true), expected[2]);
    }
    // The CPU that came last did not count yet.
    for (cpus, most) in [(1, 100), (2, 100), (8, 700), (12, 1100), (32, 3100), (224, 22_300), (384, 38_300)] {
        assert_eq!(build("v5.19", &MachineView::flat(cpus, Ns::from_ms(1))).max_load_balance_interval, most);
    }
}

/// Model: 05 T09
#[test]
fn a_cpu_that_lost_more_than_imbalance_pct_is_noticed() {
    let mut sched = Sched::new(profile("v5.19"), &preset("vm8"));
    let mc = sd(&sched.topology, 0, 0);
    assert_eq!(sched.topology.domains[mc].imbalance_pct, 117);
    for (capacity, lost) in [(875, true), (876, false)] {
        sched.rqs[cpu(0)].lb.cpu_capacity = capacity;
        assert_eq!(sched.check_cpu_capacity(cpu(0), mc), lost, "{capacity}");
    }
}

/// Model: 05 T10
#[test]
fn fits_capacity_and_capacity_greater_keep_their_margins() {
    assert!(fits_capacity(819, 1024) && !fits_capacity(820, 1024));
    assert!(!capacity_greater(1078, 1024) && capacity_greater(1079, 1024));
}

/// Model: 05 T11
#[test]
fn one_cpu_has_no_domain_and_two_cpus_have_one() {
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

/// Two nodes of one CPU each, of 512 and 1024, and whether domains count as asymmetric: as the kernel boots, and after domains were
/// built once. Up to v5.14 levels of nodes show the masks of the level built last, at first each CPU's own node.
#[test]
fn up_to_v5_14_nodes_of_other_capacity_are_not_seen_until_domains_are_built_anew() {
    let shape = Regular { sockets: 2, nodes: 1, llcs: 1, clusters: None, cores: 1, threads: 1, ..Regular::default() };
    let mut machine = Machine::new("two nodes", shape.cpus(), Vec::new());
    machine.distances = vec![vec![10, 20], vec![20, 10]];
    let mut view = machine.view();
    view.cpus[cpu(0)].capacity = 512;
    for (kernel, at_boot) in [("v5.10", false), ("v5.19", true)] {
        let booted = build(kernel, &view);
        let again = booted.rebuild(&profile(kernel), &view, None);
        let marked = |topology: &Topology| chain(topology, 0, |sd| sd.flags.has(SdFlags::ASYM_CPUCAPACITY));
        assert_eq!((marked(&booted), booted.asym_cpucap_active), (vec![at_boot], at_boot), "{kernel}");
        assert_eq!((marked(&again), again.asym_cpucap_active), (vec![true], true), "{kernel}");
    }
}

/// Two small CPUs and a big one share a cache, a big one has its own. Who has no domain of the level that shows all capacities has one
/// that is marked from v5.10 on, and before that none.
#[test]
fn a_big_cpu_alone_in_its_cache_has_a_domain_of_all_capacities_from_v5_10_on() {
    let mut view = MachineView::flat(4, Ns::from_ms(4));
    for number in 0..4 {
        view.cpus[cpu(number)].llc = CpuMask::parse_list(if number < 3 { "0-2" } else { "3" }).unwrap();
        view.cpus[cpu(number)].capacity = if number < 2 { 446 } else { 1024 };
    }
    for (kernel, found) in [("v5.1", None), ("v5.10", Some(4)), ("v5.19", Some(4))] {
        let topology = build(kernel, &view);
        let domain = topology.cpus[cpu(3)].sd_asym_cpucapacity;
        assert_eq!(domain.map(|sd| topology.domains[sd].span_weight), found, "{kernel}");
    }
}

/// Nodes in a row, each ten farther than the last.
fn row_of_nodes(nodes: u32) -> Vec<Vec<u32>> {
    (0..nodes).map(|from: u32| (0..nodes).map(|to| 10 + 10 * from.abs_diff(to)).collect()).collect()
}

fn machines() -> impl Strategy<Value = MachineView> {
    let shape = (1..4u32, 1..4u32, 1..3u32, proptest::option::of(1..3u32), 1..4u32, 1..3u32);
    (shape, any::<bool>(), any::<bool>(), any::<[bool; 8]>()).prop_map(|(shape, adjacent, in_a_row, offline)| {
        let (sockets, nodes, llcs, clusters, cores, threads) = shape;
        let numbering = if adjacent { Numbering::Adjacent } else { Numbering::ThreadMajor };
        let shape = Regular { sockets, nodes, llcs, clusters, cores, threads, numbering, ..Regular::default() };
        let count = shape.total_nodes();
        let distances = if in_a_row { row_of_nodes(count as u32) } else { default_distances(count) };
        let mut view = Machine::new("random", shape.cpus(), distances).view();
        // CPU 0 stays.
        for (number, _) in offline.iter().enumerate().skip(1).filter(|row| *row.1) {
            view.online.remove(cpu(number as u32));
        }
        view
    })
}

const KERNELS: [&str; 10] = ["v4.12", "v4.20", "v5.1", "v5.10", "v5.19", "v6.1", "v6.6", "v6.12", "v6.14", "v6.18"];

proptest! {
    /// Model: 05 T12
    #[test]
    fn groups_part_the_domains_of_any_machine_without_rest(view in machines(), kernel in 0..KERNELS.len()) {
        let topology = build(KERNELS[kernel], &view);
        let capacity: &IndexVec<CpuId, u32> = &topology.capacity_orig;
        for owner in view.cpus.ids() {
            let mut below = CpuMask::only(owner);
            let mut count = 0;
            for id in topology.domains_of(owner) {
                let sd = &topology.domains[id];
                prop_assert!(sd.cpu == owner && sd.span.contains(owner) && sd.span.is_subset(&view.online));
                prop_assert!(below.is_subset(&sd.span) && sd.span.weight() as u32 == sd.span_weight && sd.span_weight > 1);
                let groups: Vec<_> = topology.groups_of(id).map(|group| &topology.groups[group]).collect();
                prop_assert!(groups[0].span.contains(owner));
                prop_assert!(groups.iter().all(|group| group.balance_mask.first().is_some()));
                let union = groups.iter().fold(CpuMask::EMPTY, |all, group| all.or(&group.span));
                prop_assert!(sd.span.is_subset(&union));
                let apart = groups.iter().map(|group| group.span.weight()).sum::<usize>() == union.weight();
                prop_assert!(apart || sd.flags.has(SdFlags::NUMA), "only groups of nodes overlap");
                if apart {
                    let sum: u64 = groups.iter().map(|group| group.capacity).sum();
                    let own: u64 = sd.span.iter().map(|cpu| u64::from(capacity[cpu])).sum();
                    prop_assert!(union != sd.span || sum == own);
                }
                below = sd.span;
                count += 1;
            }
            prop_assert!(count == 0 || below == view.online || !view.online.contains(owner));
            prop_assert!(view.online.contains(owner) || count == 0);
            prop_assert!(topology.cpus[owner].llc_size as usize <= view.cpus[owner].llc.weight().max(1));
        }
    }
}

/// The example in the kernel's own comment: a ring of four nodes, of one CPU each here.
#[test]
fn groups_of_a_ring_of_nodes_overlap() {
    let mut view = MachineView::flat(4, Ns::from_ms(4));
    view.distances = vec![vec![10, 20, 30, 20], vec![20, 10, 20, 30], vec![30, 20, 10, 20], vec![20, 30, 20, 10]];
    for number in 0..4 {
        let home = &mut view.cpus[cpu(number)];
        (home.node, home.package, home.llc) = (number, number, CpuMask::only(cpu(number)));
    }
    let topology = build("v6.1", &view);
    assert_eq!(chain(&topology, 0, |sd| sd.span.to_string()), ["0-1,3", "0-3"]);
    assert_eq!(ring(&topology, sd(&topology, 0, 0)), ["0", "1", "3"]);
    assert_eq!(ring(&topology, sd(&topology, 0, 1)), ["0-1,3", "1-3"]);
    assert_eq!(ring(&topology, sd(&topology, 1, 1)), ["0-2", "0,2-3"]);
    let masks: Vec<String> =
        topology.groups_of(sd(&topology, 0, 1)).map(|group| topology.groups[group].balance_mask.to_string()).collect();
    assert_eq!(masks, ["0", "2"], "only those whose own domain below the group is");
}

/// Four nodes in a row: what would reach out of a domain is taken from a level farther down.
#[test]
fn groups_of_a_row_of_nodes_stay_within() {
    let mut view = MachineView::flat(4, Ns::from_ms(4));
    view.distances = row_of_nodes(4);
    for number in 0..4 {
        let home = &mut view.cpus[cpu(number)];
        (home.node, home.package, home.llc) = (number, number, CpuMask::only(cpu(number)));
    }
    let second = |name| ring(&build(name, &view), sd(&build(name, &view), 0, 1));
    assert_eq!(second("v5.10"), ["0-1", "1-3"]);
    assert_eq!(second("v5.19"), ["0-1", "2"]);
}

/// What the domains of all capacities share in 7.2: one record where caches have several CPUs. A CPU alone in its cache takes its own
/// record for that cache, so the next one does not find it, and each CPU has one of its own.
#[test]
fn capacities_share_a_record_unless_each_cpu_has_its_cache() {
    for (cpus_of_llc, expected) in [(2, [0, 0, 0, 0]), (1, [0, 1, 2, 3])] {
        let mut view = MachineView::flat(4, Ns::from_ms(4));
        for number in 0..4 {
            let first = number / cpus_of_llc * cpus_of_llc;
            view.cpus[cpu(number)].llc = (first..first + cpus_of_llc).map(cpu).collect();
            view.cpus[cpu(number)].capacity = if number < 2 { 446 } else { 1024 };
        }
        let topology = build("v7.2", &view);
        let record = |number: u32| {
            let capacities = topology.cpus[cpu(number)].sd_asym_cpucapacity.unwrap();
            assert_eq!(topology.domains[capacities].span.weight(), 4);
            let shared = topology.domains[capacities].shared.unwrap();
            assert_eq!(topology.cpus[cpu(number)].idle_cores_shared, Some(shared));
            shared
        };
        let first_with = |number| (0..4).find(|&other| record(other) == record(number)).unwrap();
        assert_eq!([0, 1, 2, 3].map(first_with), expected, "{cpus_of_llc}");
        let older = build("v6.18", &view);
        assert!((0..4).all(|number| older.domains[older.cpus[cpu(number)].sd_asym_cpucapacity.unwrap()].shared.is_none()));
    }
}
