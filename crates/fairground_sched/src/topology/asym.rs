//! Domains whose CPUs differ in capacity.

use super::chain::Chain;
use super::levels::LevelRow;
use super::{SchedDomain, SdFlags};
use crate::seam::{AsymCapacity, AsymSpread};
use fairground_model::MachineView;
use fairground_stdx::{CpuId, CpuMask};

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
    /// Those that span two of so many capacities, or all.
    Classified(usize),
}

impl Asymmetry {
    pub(super) fn of(rule: AsymCapacity, machine: &MachineView, levels: &[LevelRow]) -> Asymmetry {
        let all = capacities(machine, &machine.online).len();
        match rule {
            _ if all < 2 => Asymmetry::None,
            AsymCapacity::LowestLevel => Asymmetry::Level(lowest_level(machine, levels)),
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
            Asymmetry::Level(_) => SdFlags::EMPTY,
            Asymmetry::Classified(all) => match capacities(machine, span).len() {
                0 | 1 => SdFlags::EMPTY,
                some if some < all => SdFlags::ASYM_CPUCAPACITY,
                _ => SdFlags::ASYM_CPUCAPACITY.with(SdFlags::ASYM_CPUCAPACITY_FULL),
            },
        }
    }
}

/// The lowest level at which every CPU sees the biggest capacity that any level shows it.
///
/// Kernel: topology.c asym_cpu_capacity_level(), v4.20–v5.14
fn lowest_level(machine: &MachineView, levels: &[LevelRow]) -> usize {
    let biggest = |row: &LevelRow, cpu: CpuId| {
        let seen = row.mask(machine, cpu).and(&machine.online);
        seen.iter().map(|cpu| machine.cpus[cpu].capacity).max()
    };
    let lowest = |cpu: CpuId| {
        let top = levels.iter().filter_map(|row| biggest(row, cpu)).max();
        levels.iter().position(|row| biggest(row, cpu) == top)
    };
    machine.online.iter().filter_map(lowest).max().unwrap_or(0)
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
