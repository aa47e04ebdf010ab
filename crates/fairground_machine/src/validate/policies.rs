//! What makes the policies of a machine (who changes frequency together, between which points) possible ones.

use super::place::{Place, Problem};
use crate::machine::Machine;

use fairground_model::{FreqPolicy, Tunable, TunableUnit};
use fairground_stdx::{CpuMask, Ns};

/// The most operating points of a policy: more than any driver lists.
pub(crate) const MAX_OPPS: usize = 256;
/// The highest frequency, 100 GHz: what is above is a slip of the pen, such as Hz for kHz.
pub(crate) const MAX_KHZ: u32 = 100_000_000;
/// The longest transition: no driver has a longer one.
const MAX_TRANSITION: Ns = Ns::from_secs(1);

/// Everything that is wrong with the policies of `machine`.
pub(crate) fn problems(machine: &Machine, found: &mut Vec<Problem>) {
    if machine.policies.is_empty() {
        return;
    }
    let mut add = |row, key, message: String, hint: &str| {
        found.push(Problem { place: Place::Policy(row, key), message, hint: hint.to_string() });
    };
    for (row, policy) in machine.policies.iter().enumerate() {
        table(row, policy, &mut add);
    }
    covered(machine, &mut add);
}

fn table(row: usize, policy: &FreqPolicy, add: &mut impl FnMut(usize, &'static str, String, &str)) {
    let cpus = policy.cpus;
    if policy.opps.is_empty() || policy.opps.len() > MAX_OPPS {
        let message = format!("the policy of CPUs {cpus} has {} operating points", policy.opps.len());
        return add(row, "khz", message, "List its frequencies in kHz, 1 to 256 of them.");
    }
    if let Some(opp) = policy.opps.iter().find(|opp| !(1..=MAX_KHZ).contains(&opp.khz)) {
        let message = format!("the policy of CPUs {cpus} has an operating point at {} kHz", opp.khz);
        add(row, "khz", message, "A frequency lies in 1..=100000000 kHz.");
    }
    for pair in policy.opps.windows(2).filter(|pair| pair[0].khz >= pair[1].khz) {
        let (before, after) = (pair[0].khz, pair[1].khz);
        let message = match before == after {
            true => format!("the policy of CPUs {cpus} has {after} kHz twice"),
            false => format!("the policy of CPUs {cpus} has {after} kHz after {before} kHz"),
        };
        add(row, "khz", message, "List each frequency once, the slowest first.");
    }
    let known = policy.opps.iter().filter(|opp| opp.power_mw.is_some()).count();
    if known != 0 && known != policy.opps.len() {
        let message = format!("the policy of CPUs {cpus} has the power of {known} of {} points", policy.opps.len());
        add(row, "power_mw", message, "Give the power of every point, or of none.");
    }
    if policy.opps.iter().any(|opp| opp.power_mw == Some(0)) {
        let message = format!("the policy of CPUs {cpus} has a point that draws 0 mW");
        add(row, "power_mw", message, "A busy CPU draws at least 1 mW; leave the power out where it is not known.");
    }
    governor(row, policy, add);
    let lengths = [
        ("transition_latency", "a transition latency", Some(policy.transition_latency)),
        ("transition_delay", "a transition delay", policy.transition_delay),
    ];
    for (key, what, length) in lengths {
        if let Some(length) = length.filter(|&length| length > MAX_TRANSITION) {
            add(row, key, format!("the policy of CPUs {cpus} has {what} of {length}"), "It is at most 1s.");
        }
    }
}

/// The frequencies that a governor is given are of the table, and its limits leave one.
fn governor(row: usize, policy: &FreqPolicy, add: &mut impl FnMut(usize, &'static str, String, &str)) {
    let governor = &policy.governor;
    let cpus = policy.cpus;
    for tunable in Tunable::ALL.iter().copied().filter(|tunable| tunable.row().unit == TunableUnit::Khz) {
        if let Some(khz) = governor.khz(tunable).filter(|&khz| policy.opps.iter().all(|opp| opp.khz != khz)) {
            let message = format!("the governor of CPUs {cpus} has {} = {khz}", tunable.row().key);
            add(row, "governor", message, "It is one of the operating points of the policy.");
        }
    }
    if let Some((low, high, equal)) = governor.contradiction() {
        let said = |tunable: Tunable| format!("{} = {}", tunable.row().key, governor.number(tunable));
        let message = format!("the governor of CPUs {cpus} has {} and {}", said(low), said(high));
        let hint = format!("`{}` {} `{}`.", low.row().key, if equal { "is not above" } else { "is below" }, high.row().key);
        add(row, "governor", message, &hint);
    }
}

/// Each CPU is in one policy, and a policy is what changes frequency together.
fn covered(machine: &Machine, add: &mut impl FnMut(usize, &'static str, String, &str)) {
    let mut seen = CpuMask::EMPTY;
    let all = CpuMask::first_n(machine.cpus.len());
    for (row, policy) in machine.policies.iter().enumerate() {
        let cpus = policy.cpus;
        if cpus.is_empty() || !cpus.is_subset(&all) {
            let message = format!("a policy of CPUs \"{cpus}\" on a machine of CPUs {all}");
            add(row, "cpus", message, "A policy has one CPU or more, all of them of the machine.");
        }
        if let Some(cpu) = cpus.and(&seen).first() {
            add(row, "cpus", format!("CPU {cpu} is in two policies"), "Each CPU is in one policy.");
        }
        seen = seen.or(&cpus);
        let domain = |cpu| machine.cpus[cpu].freq_domain;
        let first = cpus.and(&all).first().map(domain);
        let together = all.iter().filter(|&cpu| Some(domain(cpu)) == first).fold(CpuMask::EMPTY, |mut mask, cpu| {
            mask.insert(cpu);
            mask
        });
        if cpus.is_subset(&all) && together != cpus {
            let message = format!("the policy of CPUs {cpus} beside a frequency domain of CPUs {together}");
            add(
                row,
                "cpus",
                message,
                "A policy is a frequency domain: leave `freq_domains` and `freq_domain` out, or let them agree.",
            );
        }
    }
    let missing = all.and_not(&seen);
    if !missing.is_empty() {
        let row = machine.policies.len() - 1;
        add(row, "cpus", format!("CPUs {missing} are in no policy"), "Either each CPU is in a policy or there are none.");
    }
}
