//! Operating points and governors, for one machine in three; changes of governors in mid-run.

use crate::dice::Dice;
use fairground_machine::Machine;
use fairground_model::{Change, FreqPolicy, Governor, GovernorKind, Opp, TaskSet, TimedChange, Tunable, TunableUnit};
use fairground_stdx::{CpuId, CpuMask, Instant, Ns};

pub(crate) fn frequencies(dice: &mut Dice, duration: Ns, machine: &mut Machine, tasks: &mut TaskSet) {
    if !dice.once_in(3) || !machine.policies.is_empty() {
        return;
    }
    let width = dice.pick(&[1, 2, 4, machine.cpus.len()]);
    for cpu in machine.cpus.ids() {
        machine.cpus[cpu].freq_domain = cpu.get() / width as u32;
    }
    let domains: Vec<CpuMask> = machine.groups(|cpu| cpu.freq_domain).into_values().collect();
    machine.policies = domains.into_iter().map(|cpus| policy(dice, cpus)).collect();
    machine.freq_invariant = !dice.once_in(4);
    // Whoever sets a frequency finds no governor that has its own mind.
    tasks.changes.retain(|timed| !matches!(timed.change, Change::FreqCapacity { .. }));
    for _ in 0..dice.between(0, 3) {
        let cpu = CpuId::new(dice.index(machine.cpus.len()) as u32);
        let at = Instant::from_ns(dice.between(0, duration.0 - 1));
        let governor = Governor::of(kind(dice));
        tasks.changes.push(TimedChange { at, change: Change::Governor { cpu, governor } });
    }
    tasks.changes.sort_by_key(|timed| timed.at);
}

/// Points of each policy, and governors of which schedutil is the only one that looks.
pub(super) fn some_schedutil(dice: &mut Dice, duration: Ns, machine: &mut Machine, tasks: &mut TaskSet) {
    while machine.policies.is_empty() {
        frequencies(dice, duration, machine, tasks);
    }
    let looks_otherwise = |kind: GovernorKind| matches!(kind, GovernorKind::Ondemand | GovernorKind::Conservative);
    for policy in machine.policies.iter_mut() {
        if looks_otherwise(policy.governor.kind) || dice.once_in(2) {
            policy.governor = Governor::of(GovernorKind::Schedutil);
        }
        as_a_kernel_counts(policy);
        // A choice by energy is none of these systems.
        policy.opps.iter_mut().for_each(|opp| opp.power_mw = None);
    }
    for timed in tasks.changes.iter_mut() {
        if let Change::Governor { governor, .. } = &mut timed.change
            && looks_otherwise(governor.kind)
        {
            *governor = Governor::of(GovernorKind::Schedutil);
        }
    }
}

/// A kernel counts delays and rate limits in whole microseconds.
pub(super) fn as_a_kernel_counts(policy: &mut FreqPolicy) {
    let whole_us = |ns: u64| (ns / 1000).max(1) * 1000;
    policy.transition_delay = policy.transition_delay.map(|delay| Ns(whole_us(delay.0)));
    let limit = policy.governor.said(Tunable::RateLimit).map(whole_us);
    policy.governor.set(Tunable::RateLimit, limit);
}

/// CPUs that are set to other shares of their highest frequency, some to the highest again.
pub(super) fn some_shares(dice: &mut Dice, cpus: usize, duration: Ns, set: &mut TaskSet) {
    for _ in 0..dice.between(1, 8) {
        let at = Instant::from_ns(dice.between(0, duration.0 - 1));
        let cpu = CpuId::new(dice.index(cpus) as u32);
        let freq_capacity = if dice.once_in(3) { 1024 } else { dice.between(1, 1024) as u32 };
        set.changes.push(TimedChange { at, change: Change::FreqCapacity { cpu, freq_capacity } });
    }
    set.changes.sort_by_key(|timed| timed.at);
}

fn policy(dice: &mut Dice, cpus: CpuMask) -> FreqPolicy {
    let mut khz: Vec<u32> = (0..dice.between(1, 5)).map(|_| dice.between(1, 40) as u32 * 100_000).collect();
    khz.sort_unstable();
    khz.dedup();
    FreqPolicy {
        cpus,
        governor: governor(dice, &khz),
        opps: khz.into_iter().map(|khz| Opp { khz, power_mw: None }).collect(),
        transition_latency: Ns(dice.pick(&[0, 1, 50_000, 500_000, 3_000_000])),
        transition_delay: dice.once_in(4).then(|| Ns(dice.between(1, 2_000_000))),
        fast_switch: dice.once_in(2),
    }
}

/// A governor with some of its tunables set, none of which contradict each other.
fn governor(dice: &mut Dice, khz: &[u32]) -> Governor {
    let mut governor = Governor::of(kind(dice));
    for tunable in governor.kind.tunables() {
        if dice.once_in(3) {
            let row = tunable.row();
            let value = match row.unit {
                TunableUnit::Khz => u64::from(dice.pick(khz)),
                TunableUnit::Time => dice.between(row.low, row.high.min(5_000_000)),
                TunableUnit::Number => dice.time(row.low, row.high),
            };
            governor.set(tunable, Some(value));
        }
    }
    while let Some((low, high, _)) = governor.contradiction() {
        governor.set(low, None);
        governor.set(high, None);
    }
    governor
}

fn kind(dice: &mut Dice) -> GovernorKind {
    if dice.once_in(3) { GovernorKind::Schedutil } else { dice.pick(GovernorKind::ALL) }
}
