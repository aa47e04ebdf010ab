//! CPUs that differ in capacity, and the power of their points, by which wake-ups then go.

use super::frequencies::as_a_kernel_counts;
use super::programs::{hog, sleeper};
use crate::dice::Dice;
use fairground_machine::machine::LOCAL_DISTANCE;
use fairground_machine::{Machine, Regular};
use fairground_model::{Change, FreqPolicy, Governor, GovernorKind, Opp, TaskSet, TimedChange};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};
use std::collections::BTreeMap;

/// Governors beside schedutil that a core can be told of.
const OTHERS: [GovernorKind; 3] = [GovernorKind::Performance, GovernorKind::Powersave, GovernorKind::Userspace];

/// Some of the capacities that CPUs have beside the biggest. The smallest have hardly any.
const SMALLER: [u32; 7] = [871, 768, 512, 446, 250, 100, 20];

/// Makes some machines such as phones have: CPUs that differ in capacity. Whether it did.
pub(crate) fn is_phone(dice: &mut Dice, machine: &mut Machine) -> bool {
    if !dice.once_in(10) {
        return false;
    }
    let skewed = machine.tick_offset == machine.skewed_tick_offset();
    (machine.cpus, machine.distances) = (phone(dice).cpus(), vec![vec![LOCAL_DISTANCE]]);
    if skewed {
        machine.tick_offset = machine.skewed_tick_offset();
    }
    differing(dice, machine);
    true
}

/// Gives such a machine points with their power. In half of them nobody takes a CPU for ever: wake-ups go by energy only as long as no CPU is
/// overutilized.
pub(crate) fn saves_energy(dice: &mut Dice, duration: Ns, machine: &mut Machine, set: &mut TaskSet) {
    some_energy(dice, duration, machine, set);
    if dice.once_in(2) {
        for program in set.programs.iter_mut().filter(|program| *program.code == *hog()) {
            program.code = sleeper(dice).into();
        }
    }
}

/// A machine as phones have it: a few kinds of CPUs, no siblings, one or several caches.
pub(super) fn phone(dice: &mut Dice) -> Regular {
    let llcs = dice.between(1, 3) as u32;
    let clusters = (llcs == 1 && dice.once_in(2)).then(|| dice.between(2, 3) as u32);
    let cores = dice.between(1, 4) as u32;
    Regular { llcs, clusters, cores: if llcs == 1 && clusters.is_none() { cores + 1 } else { cores }, ..Regular::default() }
}

/// Lets capacities differ by cache, by core, or at random; the biggest CPU has 1024, and siblings are alike.
pub(super) fn differing(dice: &mut Dice, machine: &mut Machine) {
    let kind = dice.index(3);
    let mut drawn: BTreeMap<u32, u32> = BTreeMap::new();
    for cpu in machine.cpus.iter_mut() {
        let key = match kind {
            0 => cpu.llc,
            1 => cpu.core / 2,
            _ => cpu.core,
        };
        let next = if dice.once_in(3) { 1024 } else { dice.pick(&SMALLER) };
        cpu.capacity = *drawn.entry(key).or_insert(next);
    }
    let biggest = machine.cpus.iter().map(|cpu| cpu.capacity).max().unwrap_or(1024);
    for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.capacity == biggest) {
        cpu.capacity = 1024;
    }
}

/// Points with their power, and schedutil everywhere, or nearly; some change their governor and back.
pub(super) fn some_energy(dice: &mut Dice, duration: Ns, machine: &mut Machine, set: &mut TaskSet) {
    let alone = dice.once_in(4);
    let (mut domain, mut last) = (0, None);
    for cpu in machine.cpus.iter_mut() {
        let kind = (cpu.capacity, cpu.llc);
        if last.is_some_and(|last| alone || last != kind) {
            domain += 1;
        }
        (cpu.freq_domain, last) = (domain, Some(kind));
    }
    let domains: Vec<CpuMask> = machine.groups(|cpu| cpu.freq_domain).into_values().collect();
    machine.policies = domains.into_iter().map(|cpus| policy(dice, cpus)).collect();
    machine.freq_invariant = !dice.once_in(8);
    if dice.once_in(8) {
        let row = dice.index(machine.policies.len());
        machine.policies[row].governor = Governor::of(dice.pick(&OTHERS));
    }
    set.changes.retain(|timed| !matches!(timed.change, Change::FreqCapacity { .. } | Change::Governor { .. }));
    if dice.once_in(4) {
        let cpu = CpuId::new(dice.index(machine.cpus.len()) as u32);
        let at = dice.between(0, duration.0 - 1);
        let mut add = |at: u64, kind| {
            set.changes
                .push(TimedChange { at: Instant::from_ns(at), change: Change::Governor { cpu, governor: Governor::of(kind) } });
        };
        add(at, dice.pick(&OTHERS));
        add(dice.between(at, duration.0 - 1), GovernorKind::Schedutil);
    }
    set.changes.sort_by_key(|timed| timed.at);
}

/// One that the tree's own governor looks at. Power grows with the frequency, most often faster than it.
fn policy(dice: &mut Dice, cpus: CpuMask) -> FreqPolicy {
    let mut khz: Vec<u32> = (0..dice.between(1, 5)).map(|_| dice.between(2, 30) as u32 * 100_000).collect();
    khz.sort_unstable();
    khz.dedup();
    let mut mw = dice.between(1, 60) as u32;
    let points = khz.into_iter().map(|khz| {
        mw += dice.between(1, 400) as u32;
        Opp { khz, power_mw: Some(mw) }
    });
    let mut policy = FreqPolicy {
        cpus,
        governor: Governor::of(GovernorKind::Schedutil),
        opps: points.collect(),
        transition_latency: Ns(dice.pick(&[0, 50_000, 500_000, 3_000_000])),
        transition_delay: dice.once_in(4).then(|| Ns(dice.between(1, 2_000_000))),
        fast_switch: dice.once_in(2),
    };
    as_a_kernel_counts(&mut policy);
    policy
}
