//! The `[[policy]]` tables: which CPUs change frequency together, and between which operating points.

use super::explicit::tables;
use super::fields::Fields;
use super::governor;
use crate::machine::Machine;
use fairground_model::freq::dynamic_power_mw;
use fairground_model::{FreqPolicy, Mistakes, Opp};
use fairground_stdx::{CpuMask, Ns};
use std::ops::Range;
use toml_edit::Item;

const KEYS: [&str; 9] = [
    "cpus",
    "khz",
    "power_mw",
    "millivolt",
    "dynamic_power_coefficient",
    "transition_latency",
    "transition_delay",
    "fast_switch",
    "governor",
];

/// The policies in the order of the file, if it has any. What their numbers come to is checked with the machine.
pub(super) fn policies(fields: &Fields, mistakes: &mut Mistakes) -> Option<Vec<FreqPolicy>> {
    let item = fields.item("policy")?;
    let Some(tables) = tables(item) else {
        fields.wrong("policy", item, "one `[[policy]]` table per set of CPUs that change frequency together", mistakes);
        return None;
    };
    let read = |(table, span): (_, Option<Range<usize>>)| {
        policy(&Fields::new(table, span.unwrap_or(fields.span_of("policy"))), mistakes)
    };
    let policies: Vec<Option<FreqPolicy>> = tables.into_iter().map(read).collect();
    policies.into_iter().collect()
}

fn policy(fields: &Fields, mistakes: &mut Mistakes) -> Option<FreqPolicy> {
    fields.refuse_unknown(&KEYS, mistakes);
    let before = mistakes.0.len();
    for key in ["cpus", "khz"].into_iter().filter(|key| !fields.has(key)) {
        let hint = "Write cpus = \"0-3\" and khz = [600000, 1200000].";
        mistakes.at(fields.span(), format!("a policy without `{key}`"), hint);
    }
    let cpus = fields.text("cpus", mistakes).and_then(|text| {
        let mask = CpuMask::parse_list(text);
        if mask.is_none() {
            let hint = "Write a list of CPUs, as in \"0-3\" or \"0,2,4\".";
            mistakes.at(fields.span_of("cpus"), format!("`cpus` is \"{}\"", crate::suggest::clip(text)), hint);
        }
        mask
    });
    let khz = list(fields, "khz", None, mistakes);
    let power = power(fields, khz.as_deref().unwrap_or(&[]), mistakes);
    let transition_latency = fields.length("transition_latency", mistakes).unwrap_or(Ns::ZERO);
    let transition_delay = fields.length("transition_delay", mistakes);
    let fast_switch = fields.boolean("fast_switch", mistakes).unwrap_or(false);
    let governor = governor::governor(fields, mistakes).unwrap_or_default();
    let (cpus, khz) = (cpus?, khz?);
    let power_of = |row: usize| power.as_ref().and_then(|power| power.get(row).copied());
    let opps = khz.iter().enumerate().map(|(row, &khz)| Opp { khz, power_mw: power_of(row) }).collect();
    (mistakes.0.len() == before).then_some(FreqPolicy { cpus, opps, transition_latency, transition_delay, fast_switch, governor })
}

/// A list of numbers, one for each operating point where their number is known.
fn list(fields: &Fields, key: &str, length: Option<usize>, mistakes: &mut Mistakes) -> Option<Vec<u32>> {
    let item = fields.item(key)?;
    let nr = item.as_array().map(toml_edit::Array::len);
    if let (Some(nr), Some(length)) = (nr, length.filter(|&length| nr != Some(length))) {
        let hint = format!("There are {length} operating points: one number for each.");
        mistakes.at(fields.span_of(key), format!("`{key}` lists {nr} numbers"), hint);
        return None;
    }
    if nr.is_none() {
        fields.wrong(key, item, "a list of numbers, one for each operating point", mistakes);
    }
    fields.integers(key, nr?, mistakes)
}

/// What one busy CPU draws at each point: as it is written, or from the voltages and the coefficient.
fn power(fields: &Fields, khz: &[u32], mistakes: &mut Mistakes) -> Option<Vec<u32>> {
    let derived = fields.has("millivolt") || fields.has("dynamic_power_coefficient");
    if fields.has("power_mw") {
        if derived {
            let hint = "Write the power of each point, or the voltages and the coefficient from which it follows.";
            mistakes.at(fields.span_of("power_mw"), "`power_mw` beside what it follows from", hint);
        }
        return list(fields, "power_mw", Some(khz.len()), mistakes);
    }
    if !derived {
        return None;
    }
    for key in ["millivolt", "dynamic_power_coefficient"].into_iter().filter(|key| !fields.has(key)) {
        let hint = "Power = dynamic_power_coefficient · MHz · millivolt² / 10⁹ mW: both are needed, or neither.";
        mistakes.at(fields.span(), format!("a policy without `{key}`"), hint);
    }
    let coefficient = fields.integer("dynamic_power_coefficient", 1..=1_000_000, mistakes)?;
    let millivolt = list(fields, "millivolt", Some(khz.len()), mistakes)?;
    let power: Option<Vec<u32>> = khz.iter().zip(&millivolt).map(|(&khz, &mv)| dynamic_power_mw(coefficient, khz, mv)).collect();
    if power.is_none() {
        let hint = "Power = dynamic_power_coefficient · MHz · millivolt² / 10⁹ mW.";
        mistakes.at(fields.span_of("millivolt"), "a CPU that draws more than 4000 kW", hint);
    }
    power
}

/// Where the policy of that row says `key`, or else where it is described.
pub(super) fn span_of(fields: &Fields, row: usize, key: &str) -> Option<Range<usize>> {
    let (table, span) = tables(fields.item("policy")?)?.get(row)?.clone();
    Some(Fields::new(table, span?).span_of(key))
}

/// Policies say which CPUs change frequency together, where nothing else has said so.
pub(super) fn set_freq_domains(fields: &Fields, machine: &mut Machine) {
    let by_cpu = fields.item("cpu").and_then(tables).unwrap_or_default();
    let said = fields.has("freq_domains") || by_cpu.iter().any(|(table, _)| table.get("freq_domain").is_some_and(is_number));
    if said {
        return;
    }
    for cpu in machine.cpus.ids() {
        if let Some(row) = machine.policies.iter().position(|policy| policy.cpus.contains(cpu)) {
            machine.cpus[cpu].freq_domain = row as u32;
        }
    }
}

fn is_number(item: &Item) -> bool {
    item.is_integer()
}
