//! Domains whose CPUs differ in capacity.

use super::chain::Chain;
use super::levels::{LOCAL_DISTANCE, LevelRow};
use super::{Level, SchedDomain, SdFlags};
use crate::seam::{AsymCapacity, AsymSpread};
use fairground_model::MachineView;
use fairground_stdx::CpuMask;

/// The capacities that CPUs of `machine` have, ascending, each once.
fn capacities(machine: &MachineView, cpus: &CpuMask) -> Vec<u32> {
    let mut found: Vec<u32> = cpus.iter().map(|cpu| machine.cpus[cpu].capacity).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What says of each domain whether it is asymmetric.
pub(super) enum Asymmetry {
    /// No domain is.
    None,
    /// Those of the level at this place are.
    Level(usize),
    /// Those of the level at this place and all above are.
    From(usize),
    /// Those that span two of so many capacities, or all.
    Classified(usize),
}

impl Asymmetry {
    /// `shown` is the level of nodes that was built last.
    pub(super) fn of(rule: AsymCapacity, machine: &MachineView, levels: &[LevelRow], shown: u8) -> Asymmetry {
        let all = capacities(machine, &machine.online).len();
        match rule {
            _ if all < 2 => Asymmetry::None,
            AsymCapacity::LowestLevel => lowest_level(machine, levels, shown).map_or(Asymmetry::None, Asymmetry::Level),
            AsymCapacity::FromLevel => lowest_level(machine, levels, shown).map_or(Asymmetry::None, Asymmetry::From),
            AsymCapacity::Classified => Asymmetry::Classified(all),
        }
    }

    /// The flags of a domain of the level at `index`.
    ///
    /// Kernel: topology.c asym_cpu_capacity_classify(), v5.15–
    pub(super) fn flags(&self, machine: &MachineView, index: usize, span: &CpuMask) -> SdFlags {
        match *self {
            Asymmetry::None => SdFlags::EMPTY,
            Asymmetry::Level(level) if level == index => SdFlags::ASYM_CPUCAPACITY,
            Asymmetry::From(level) if level <= index => SdFlags::ASYM_CPUCAPACITY,
            Asymmetry::Level(_) | Asymmetry::From(_) => SdFlags::EMPTY,
            Asymmetry::Classified(all) => match capacities(machine, span).len() {
                0 | 1 => SdFlags::EMPTY,
                some if some < all => SdFlags::ASYM_CPUCAPACITY,
                _ => SdFlags::ASYM_CPUCAPACITY.with(SdFlags::ASYM_CPUCAPACITY_FULL),
            },
        }
    }
}

/// The lowest level at which every CPU sees the biggest capacity that any level shows it; none if no level shows anybody a bigger CPU.
///
/// All levels of nodes have the masks of the level that is being built, by a variable that lies still here: it is that of the level built
/// last (`shown`). When a kernel boots it is 0, and each CPU sees its own node only.
///
/// Kernel: topology.c asym_cpu_capacity_level(), sd_numa_mask(), v4.20–v5.14
fn lowest_level(machine: &MachineView, levels: &[LevelRow], shown: u8) -> Option<usize> {
    let distance = levels.iter().find(|row| row.level == Level::Numa(shown)).map_or(LOCAL_DISTANCE, |row| row.distance);
    let rows: Vec<LevelRow> = levels.iter().map(|&row| LevelRow { distance, ..row }).collect();
    let mut found = None;
    for cpu in machine.online.iter() {
        let mut biggest = machine.cpus[cpu].capacity;
        for (index, row) in rows.iter().enumerate().skip(found.unwrap_or(0)) {
            let seen = row.mask(machine, cpu).and(&machine.online);
            let most = seen.iter().map(|other| machine.cpus[other].capacity).max();
            if let Some(most) = most.filter(|&most| most > biggest) {
                (biggest, found) = (most, Some(index));
            }
        }
    }
    found
}

/// What the asymmetry of the topmost domain of `chain` does to it and those below.
///
/// Kernel: topology.c sd_init(), v4.12–
pub(super) fn spread(rule: AsymSpread, chain: &mut Chain) {
    let Some((top, below)) = chain.split_last_mut() else { return };
    if !top.flags.has(SdFlags::ASYM_CPUCAPACITY) {
        return;
    }
    if rule != AsymSpread::NoSpread {
        let wake = |sd: &mut SchedDomain| sd.flags = sd.flags.with(SdFlags::BALANCE_WAKE);
        wake(top);
        below.iter_mut().for_each(wake);
    }
    if rule != AsymSpread::WakeBalance
        && let Some(child) = below.last_mut()
    {
        child.flags = child.flags.without(SdFlags::PREFER_SIBLING);
    }
}
