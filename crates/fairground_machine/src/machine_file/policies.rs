//! The `[[policy]]` tables: which CPUs change frequency together, and between which operating points.

use super::governor;
use crate::fields::Fields;
use crate::keys::{self, Key, field, line, quoted};
use crate::machine::Machine;
use crate::suggest::clip;
use fairground_model::freq::dynamic_power_mw;
use fairground_model::{FreqPolicy, Governor, Mistakes, Opp};
use fairground_stdx::{CpuMask, Ns};
use std::ops::Range;
use toml_edit::Item;

pub(super) static KEYS: &[Key<FreqPolicy>] = &[
    Key::new(
        "cpus",
        "The CPUs that change frequency together, such as \"0-3\".",
        |fields, into, mistakes| into.cpus = cpus(fields, "cpus", mistakes).unwrap_or(into.cpus),
        |from, _| line("cpus", &quoted(&from.cpus.to_string())),
    ),
    Key::new(
        "khz",
        "The operating points, the slowest first.",
        |fields, into, mistakes| {
            let khz = list(fields, "khz", None, mistakes).unwrap_or_default();
            into.opps = khz.into_iter().map(|khz| Opp { khz, power_mw: None }).collect();
        },
        |from, _| line("khz", &format!("{:?}", from.opps.iter().map(|opp| opp.khz).collect::<Vec<u32>>())),
    ),
    Key::new("power_mw", "What one busy CPU draws at each point.", power, |from, _| {
        let power: Option<Vec<u32>> = from.opps.iter().map(|opp| opp.power_mw).collect();
        power.map_or_else(String::new, |power| line("power_mw", &format!("{power:?}")))
    }),
    Key::read_only("millivolt", "The voltage at each point: with the coefficient, instead of `power_mw`.", |_, _, _| ()),
    Key::read_only("dynamic_power_coefficient", "Power is this times MHz times millivolt², over 10⁹ mW.", |_, _, _| ()),
    field!("transition_latency" always length(), transition_latency, "How long a change takes."),
    field!("transition_delay" changed length(), transition_delay, "The least time between two changes that the driver asks for."),
    field!("fast_switch" always boolean(), fast_switch, "Whether the scheduler changes the frequency itself, at once; false if left out."),
    Key::<FreqPolicy>::new(
        "governor",
        "Who chooses among the points: a name, or a table with tunables.",
        |fields, into, mistakes| into.governor = governor::read(fields, mistakes).unwrap_or(into.governor),
        |from, without| governor::write(&from.governor, &without.governor),
    )
    .with(governor::keys),
];

fn empty() -> FreqPolicy {
    FreqPolicy {
        cpus: CpuMask::EMPTY,
        opps: Vec::new(),
        transition_latency: Ns::ZERO,
        transition_delay: None,
        fast_switch: false,
        governor: Governor::default(),
    }
}

/// The policies in the order of the file, if it has any. What their numbers come to is checked with the machine.
pub(super) fn policies(fields: &Fields, mistakes: &mut Mistakes) -> Option<Vec<FreqPolicy>> {
    let tables =
        fields.read_tables("policy", "one `[[policy]]` table per set of CPUs that change frequency together", mistakes)?;
    let policies: Vec<Option<FreqPolicy>> = tables.iter().map(|fields| policy(fields, mistakes)).collect();
    policies.into_iter().collect()
}

fn policy(fields: &Fields, mistakes: &mut Mistakes) -> Option<FreqPolicy> {
    fields.refuse_unknown(keys::names(KEYS), mistakes);
    let before = mistakes.0.len();
    for key in ["cpus", "khz"].into_iter().filter(|key| !fields.has(key)) {
        let hint = "Write cpus = \"0-3\" and khz = [600000, 1200000].";
        mistakes.at(fields.span(), format!("a policy without `{key}`"), hint);
    }
    let mut policy = empty();
    keys::read(KEYS, fields, &mut policy, mistakes);
    (mistakes.0.len() == before).then_some(policy)
}

/// A list of CPUs as text, or the number of one.
pub(super) fn cpus(fields: &Fields, key: &str, mistakes: &mut Mistakes) -> Option<CpuMask> {
    let number = fields.item(key).and_then(toml_edit::Item::as_integer).map(|number| number.to_string());
    let text = match &number {
        Some(number) => number.as_str(),
        None => fields.text(key, mistakes)?,
    };
    let mask = CpuMask::parse_list(text);
    if mask.is_none() {
        let hint = "Write a list of CPUs, as in \"0-3\" or \"0,2,4\".";
        mistakes.at(fields.span_of(key), format!("`{key}` is \"{}\"", clip(text)), hint);
    }
    mask
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
fn power(fields: &Fields, policy: &mut FreqPolicy, mistakes: &mut Mistakes) {
    let derived = fields.has("millivolt") || fields.has("dynamic_power_coefficient");
    let power = if fields.has("power_mw") {
        if derived {
            let hint = "Write the power of each point, or the voltages and the coefficient from which it follows.";
            mistakes.at(fields.span_of("power_mw"), "`power_mw` beside what it follows from", hint);
        }
        list(fields, "power_mw", Some(policy.opps.len()), mistakes)
    } else if derived {
        derived_power(fields, &policy.opps, mistakes)
    } else {
        None
    };
    policy.opps.iter_mut().zip(power.unwrap_or_default()).for_each(|(opp, power)| opp.power_mw = Some(power));
}

fn derived_power(fields: &Fields, opps: &[Opp], mistakes: &mut Mistakes) -> Option<Vec<u32>> {
    for key in ["millivolt", "dynamic_power_coefficient"].into_iter().filter(|key| !fields.has(key)) {
        let hint = "Power = dynamic_power_coefficient · MHz · millivolt² / 10⁹ mW: both are needed, or neither.";
        mistakes.at(fields.span(), format!("a policy without `{key}`"), hint);
    }
    let coefficient = fields.integer("dynamic_power_coefficient", 1..=1_000_000, mistakes)?;
    let millivolt = list(fields, "millivolt", Some(opps.len()), mistakes)?;
    let power: Option<Vec<u32>> =
        opps.iter().zip(&millivolt).map(|(opp, &mv)| dynamic_power_mw(coefficient, opp.khz, mv)).collect();
    if power.is_none() {
        let hint = "Power = dynamic_power_coefficient · MHz · millivolt² / 10⁹ mW.";
        mistakes.at(fields.span_of("millivolt"), "a CPU that draws more than 4000 kW", hint);
    }
    power
}

/// One table per policy.
pub(super) fn write(policies: &[FreqPolicy]) -> String {
    policies.iter().map(|policy| format!("\n[[policy]]\n{}", keys::write(KEYS, policy, &empty()))).collect()
}

/// Where the policy of that row says `key`, or else where it is described.
pub(super) fn span_of(fields: &Fields, row: usize, key: &str) -> Option<Range<usize>> {
    Some(fields.tables("policy")?.get(row)?.span_of(key))
}

/// Policies say which CPUs change frequency together, where nothing else has said so.
pub(super) fn set_freq_domains(fields: &Fields, machine: &mut Machine) {
    let by_cpu = fields.tables("cpu").unwrap_or_default();
    let says = |cpu: &Fields| cpu.item("freq_domain").is_some_and(Item::is_integer);
    if fields.has("freq_domains") || by_cpu.iter().any(says) {
        return;
    }
    for cpu in machine.cpus.ids() {
        if let Some(row) = machine.policies.iter().position(|policy| policy.cpus.contains(cpu)) {
            machine.cpus[cpu].freq_domain = row as u32;
        }
    }
}
