//! From the machine to its domains.

use super::asym::{self, Asymmetry};
use super::chain::{Chain, Chains};
use super::groups::Groups;
use super::levels::{LevelRow, built_last, levels};
use super::{CpuDomains, SchedDomain, SchedDomainShared, SdFlags, Threads, Topology, cached, capacity, degenerate, domain};
use crate::profile::Profile;
use crate::seam::{AsymCapacity, FreshScan, GroupFlags, IdleCapacity, IntervalWeight, NumaMasks};
use fairground_model::MachineView;
use fairground_model::features::Feat;
use fairground_stdx::{CpuId, CpuMask, IndexVec, SdId, SdSharedId, SgId};
use std::collections::BTreeMap;

impl Topology {
    /// The domains of the CPUs of `machine` that are on line.
    ///
    /// Kernel: topology.c build_sched_domains(), v4.12–
    pub fn build(profile: &Profile, machine: &MachineView) -> Topology {
        Topology::default().rebuild(profile, machine, None)
    }

    /// The domains after these. A CPU that is `leaving` is in none, but the hardware's masks, by which intervals go, have it still.
    pub(crate) fn rebuild(&self, profile: &Profile, machine: &MachineView, leaving: Option<CpuId>) -> Topology {
        let mut rows = levels(profile.domain_levels, machine);
        if profile.feats.has(Feat::FORCE_SD_OVERLAP) {
            rows.iter_mut().for_each(|row| row.flags = row.flags.with(SdFlags::OVERLAP));
        }
        let asymmetry = Asymmetry::of(profile.asym_capacity, machine, &rows, self.numa_level);
        let mut chains = chains(profile, machine, &rows, &asymmetry, leaving);
        let mut topology = Topology { numa_level: built_last(machine, &rows), ..Topology::empty(profile, machine) };
        let mut groups = Groups::new(machine, profile.overlap_groups);
        for cpu in machine.online.iter() {
            capacity::numa_imbalance(profile.numa_allowance, &mut chains[cpu]);
            for level in 0..chains[cpu].len() {
                groups.attach(&mut topology, &mut chains, cpu, level);
            }
        }
        if profile.group_flags == GroupFlags::None {
            topology.groups.iter_mut().for_each(|group| group.flags = SdFlags::EMPTY);
        }
        capacity::init_group_capacity(&mut topology);
        topology.attach(profile, chains);
        topology
    }

    /// What is known before any domain is.
    fn empty(profile: &Profile, machine: &MachineView) -> Topology {
        let capacity_orig: IndexVec<CpuId, u32> =
            machine.cpus.ids().map(|cpu| capacity::capacity_orig(profile, machine, cpu)).collect();
        let online = || machine.online.iter();
        let hz = machine.hz();
        Topology {
            cpus: machine.cpus.ids().map(CpuDomains::alone).collect(),
            hz,
            short_intervals: profile.lb_interval.busy_is_one_less(),
            // The CPU that came last did not count as on line yet when the kernel worked that out.
            max_load_balance_interval: longest_interval(hz, machine.online.weight() as u64 - 1),
            max_cpu_capacity: online().map(|cpu| capacity_orig[cpu]).max().unwrap_or(0),
            smt_active: online().any(|cpu| machine.cpus[cpu].smt.and(&machine.online).weight() > 1),
            threads: Threads::new(machine, machine.online),
            capacity_orig,
            ..Topology::default()
        }
    }

    /// Removes what is of no use from each chain and puts the rest into the tables.
    fn attach(&mut self, profile: &Profile, mut chains: Chains) {
        let mut shared: BTreeMap<(u32, CpuId), SdSharedId> = BTreeMap::new();
        let asym = match profile.asym_capacity {
            AsymCapacity::LowestLevel | AsymCapacity::FromLevel => SdFlags::ASYM_CPUCAPACITY,
            AsymCapacity::Classified => SdFlags::ASYM_CPUCAPACITY_FULL,
        };
        let mut claims = Claims::of(chains.len());
        for cpu in chains.ids() {
            let chain = std::mem::take(&mut chains[cpu]);
            let of_capacities = claims.claim(&chain, asym);
            self.asym_cpucap_active |= chain.iter().any(|sd| sd.flags.has(SdFlags::ASYM_CPUCAPACITY));
            let mut child: Option<SdId> = None;
            let mut base = None;
            let mut spans_all = false;
            for mut sd in degenerate::prune(profile, self, chain) {
                // The lowest domain of all capacities has one too, unless it is one of nodes.
                let first_of_all = !spans_all && sd.flags.has(asym);
                spans_all |= first_of_all;
                let by_capacity = first_of_all && profile.idle_capacity == IdleCapacity::Ranked && !sd.flags.has(SdFlags::NUMA);
                if sd.flags.has(SdFlags::SHARE_LLC) || by_capacity {
                    let key = match by_capacity {
                        true => (u32::MAX, of_capacities.unwrap_or(cpu)),
                        false => (sd.level_index, sd.span.first().unwrap_or(cpu)),
                    };
                    sd.shared = Some(*shared.entry(key).or_insert_with(|| self.shared.push(SchedDomainShared::of(profile, &sd))));
                }
                self.cluster_active |= sd.flags.has(SdFlags::CLUSTER);
                sd.child = child;
                let id = self.domains.push(sd);
                match child {
                    Some(below) => self.domains[below].parent = Some(id),
                    None => base = Some(id),
                }
                child = Some(id);
            }
            self.cpus[cpu] = cached::remember(self, cpu, base, asym);
        }
    }
}

/// Kernel: fair.c update_max_interval(), v4.12–
fn longest_interval(hz: u64, online: u64) -> u64 {
    hz * online.max(1) / 10
}

impl Topology {
    /// So many CPUs count as on line now.
    ///
    /// Kernel: fair.c update_max_interval(), v4.12–
    pub(crate) fn update_max_interval(&mut self, online: u64) {
        self.max_load_balance_interval = longest_interval(self.hz, online);
    }

    /// Domains are born at `jiffies`.
    pub(crate) fn set_birth(&mut self, jiffies: u64, clock: u64) {
        for sd in self.domains.iter_mut() {
            sd.newidle.stamp = clock;
            (sd.last_balance, sd.last_decay_max_lb_cost) = (jiffies as i64, jiffies);
        }
    }

    /// Takes the place of these domains by `fresh` ones. With `keep` the old ones stay valid for who still holds one,
    /// though no CPU leads there any more.
    ///
    /// Kernel: topology.c cpu_attach_domain(), destroy_sched_domains() after a grace period, v4.12–
    pub(crate) fn replace(&mut self, mut fresh: Topology, keep: bool) {
        if keep {
            fresh.stand_behind(self);
        }
        *self = fresh;
    }

    /// Puts the rows of `old` before the own ones, which are renumbered for that.
    fn stand_behind(&mut self, old: &Topology) {
        let (domains, groups) = (old.domains.len() as u32, old.groups.len() as u32);
        let (rings, shared) = (old.rings.len() as u32, old.shared.len() as u32);
        let sd_id = |id: SdId| SdId::new(id.get() + domains);
        let sg_id = |id: SgId| SgId::new(id.get() + groups);
        let shared_id = |id: SdSharedId| SdSharedId::new(id.get() + shared);
        for sd in self.domains.iter_mut() {
            (sd.parent, sd.child) = (sd.parent.map(sd_id), sd.child.map(sd_id));
            (sd.first_group, sd.shared) = (sg_id(sd.first_group), sd.shared.map(shared_id));
            (sd.groups, sd.ring_start) = (sd.groups.start + rings..sd.groups.end + rings, sd.ring_start + rings);
        }
        for cpu in self.cpus.iter_mut() {
            for sd in [&mut cpu.base, &mut cpu.sd_llc, &mut cpu.sd_numa, &mut cpu.sd_asym_packing, &mut cpu.sd_asym_cpucapacity] {
                *sd = sd.map(sd_id);
            }
            cpu.sd_llc_shared = cpu.sd_llc_shared.map(shared_id);
            cpu.idle_cores_shared = cpu.idle_cores_shared.map(shared_id);
        }
        self.domains = old.domains.iter().chain(self.domains.iter()).cloned().collect();
        self.groups = old.groups.iter().chain(self.groups.iter()).cloned().collect();
        self.shared = old.shared.iter().chain(self.shared.iter()).copied().collect();
        self.rings = old.rings.iter().copied().chain(self.rings.iter().map(|&id| sg_id(id))).collect();
    }
}

impl Topology {
    /// The machine has been idle for long: the last balance of each cache domain found nothing in use, so searches may look
    /// at all of it.
    pub(crate) fn tell_that_all_is_idle(&mut self) {
        self.shared.iter_mut().for_each(|shared| shared.nr_idle_scan = shared.nr_busy_cpus);
    }
}

/// Who has the shared records while domains are built: each CPU brings one, and a domain takes the first of its CPUs whose record is free
/// or has been taken by one of its kind.
struct Claims(IndexVec<CpuId, Option<Kind>>);

/// What a shared record is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Capacities,
    Cache,
}

impl Claims {
    fn of(cpus: usize) -> Claims {
        Claims((0..cpus).map(|_| None).collect())
    }

    /// The domains of a CPU, nothing removed yet, take theirs. Whose record that of all capacities has. A CPU alone in its cache takes its
    /// own for that whoever has it, so the next CPU does not find it, and takes another one for the same capacities.
    ///
    /// Kernel: topology.c init_sched_domain_shared(), v7.2–
    fn claim(&mut self, chain: &Chain, asym: SdFlags) -> Option<CpuId> {
        let capacities = chain.iter().find(|sd| sd.flags.has(asym)).filter(|sd| !sd.flags.has(SdFlags::NUMA));
        let found = capacities.and_then(|sd| self.take(sd, Kind::Capacities));
        if let Some(cache) = chain.iter().take_while(|sd| sd.flags.has(SdFlags::SHARE_LLC)).last() {
            self.take(cache, Kind::Cache);
        }
        found
    }

    fn take(&mut self, sd: &SchedDomain, kind: Kind) -> Option<CpuId> {
        let usable = |cpu: &CpuId| self.0[*cpu].is_none_or(|of| of == kind || sd.span_weight == 1);
        let found = sd.span.iter().find(usable)?;
        self.0[found] = Some(kind);
        Some(found)
    }
}

/// The bit of the flag that CPUs of a domain share a cache.
///
/// Kernel: sd_flags.h SD_SHARE_LLC, v6.9–
const SD_SHARE_LLC: u32 = 1 << 9;

/// The bit of the flag that CPUs of a domain differ in capacity.
///
/// Kernel: sd_flags.h SD_ASYM_CPUCAPACITY, v6.9–
const SD_ASYM_CPUCAPACITY: u32 = 1 << 5;

impl SchedDomainShared {
    /// As in the kernel nothing is known of new domains: all their CPUs count as busy, and no search is allowed, or in v7.2 any.
    fn of(profile: &Profile, sd: &SchedDomain) -> SchedDomainShared {
        let nr_idle_scan = match profile.fresh_scan {
            FreshScan::None => 0,
            FreshScan::FlagBits if sd.flags.has(SdFlags::SHARE_LLC) => SD_SHARE_LLC,
            FreshScan::FlagBits => SD_ASYM_CPUCAPACITY,
        };
        SchedDomainShared { nr_busy_cpus: sd.span_weight, has_idle_cores: false, nr_idle_scan }
    }
}

/// The chains of all CPUs, nothing removed; CPUs off line have none.
fn chains(profile: &Profile, machine: &MachineView, rows: &[LevelRow], asymmetry: &Asymmetry, leaving: Option<CpuId>) -> Chains {
    let chain = |cpu| match machine.online.contains(cpu) {
        true => {
            let mut chain = chain(profile, machine, rows, asymmetry, cpu);
            chain.iter_mut().zip(rows).for_each(|(sd, row)| {
                let counts = leaving.is_some_and(|leaving| counts_while_leaving(profile, machine, row, cpu, leaving));
                sd.begin_interval(sd.span_weight + u32::from(counts));
            });
            chain
        }
        false => Chain::new(),
    };
    machine.cpus.ids().map(chain).collect()
}

/// Whether `row`'s mask of `cpu` has a CPU that is `leaving` still.
///
/// Kernel: topology.c sched_update_numa(), v5.18–
fn counts_while_leaving(profile: &Profile, machine: &MachineView, row: &LevelRow, cpu: CpuId, leaving: CpuId) -> bool {
    let node = machine.cpus[leaving].node;
    let ends_node = || !machine.online.iter().any(|other| machine.cpus[other].node == node);
    let gone = profile.numa_masks == NumaMasks::WithNode && row.flags.has(SdFlags::NUMA) && ends_node();
    profile.interval_weight == IntervalWeight::Mask && !gone && row.mask(machine, cpu).contains(leaving)
}

/// The domains of one CPU up to the first above the caches that spans everything. (The kernel stops at a cache
/// that spans everything too; what is built above one is removed again, and hands PREFER_SIBLING down before.)
fn chain(profile: &Profile, machine: &MachineView, rows: &[LevelRow], asymmetry: &Asymmetry, cpu: CpuId) -> Chain {
    let mut chain: Chain = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let below = chain.last().map(|sd| sd.span).unwrap_or(CpuMask::EMPTY);
        let span = row.mask(machine, cpu).and(&machine.online).or(&below);
        let mut sd = domain::sd_init(profile, row, index as u32, cpu, span, machine.reclaim_distance);
        sd.flags = sd.flags.with(asymmetry.flags(machine, index, &span));
        chain.push(sd);
        asym::spread(profile.asym_spread, &mut chain);
        if span == machine.online && !row.flags.has(SdFlags::SHARE_LLC) {
            break;
        }
    }
    chain
}
