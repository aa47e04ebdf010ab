//! `governor`: who chooses the frequency, of a policy or of all.

use crate::fields::Fields;
use crate::keys::{KeyInfo, line, quoted};
use crate::machine::Machine;
use crate::suggest::{self, clip};
use fairground_model::{Governor, GovernorKind, Mistakes, Tunable, TunableUnit};
use fairground_stdx::Ns;

/// The governor that `fields` names, if it does.
pub(super) fn read(fields: &Fields, mistakes: &mut Mistakes) -> Option<Governor> {
    let item = fields.item("governor")?;
    if item.is_str() {
        return Some(Governor::of(kind(fields, "governor", mistakes)?));
    }
    let Some(table) = item.as_table_like() else {
        fields.wrong("governor", item, "a name, or a table such as { name = \"schedutil\", rate_limit = \"10ms\" }", mistakes);
        return None;
    };
    let fields = Fields::new(table, fields.span_of("governor"));
    fields.refuse_unknown(keys().iter().map(|key| key.name), mistakes);
    if !fields.has("name") {
        mistakes.at(fields.span(), "a governor without `name`", "Write name = \"schedutil\".");
    }
    let mut governor = Governor::of(kind(&fields, "name", mistakes)?);
    for &tunable in Tunable::ALL.iter().filter(|tunable| fields.has(tunable.row().key)) {
        foreign(&fields, governor.kind, tunable, mistakes);
        governor.set(tunable, value(&fields, tunable, mistakes));
    }
    Some(governor)
}

/// The keys of its table: its name and the tunables of all governors.
pub(super) fn keys() -> Vec<KeyInfo> {
    let key = |name, sentence| KeyInfo { name, sentence, keys: Vec::new() };
    let tunables = Tunable::ALL.iter().map(|tunable| key(tunable.row().key, tunable.row().sentence));
    [key("name", "The governor.")].into_iter().chain(tunables).collect()
}

/// The line of a governor that differs from the one that a file without it gives.
pub(super) fn write(governor: &Governor, without: &Governor) -> String {
    if governor == without {
        return String::new();
    }
    let key = |&tunable: &Tunable| {
        let (row, value) = (tunable.row(), governor.said(tunable)?);
        Some(match row.unit {
            TunableUnit::Time => format!("{} = \"{}\"", row.key, Ns(value)),
            TunableUnit::Khz | TunableUnit::Number => format!("{} = {value}", row.key),
        })
    };
    let name = format!("name = {}", quoted(governor.kind.name()));
    let keys: Vec<String> = [name].into_iter().chain(Tunable::ALL.iter().filter_map(key)).collect();
    line("governor", &format!("{{ {} }}", keys.join(", ")))
}

/// The value of a tunable, where it is one.
fn value(fields: &Fields, tunable: Tunable, mistakes: &mut Mistakes) -> Option<u64> {
    let row = tunable.row();
    match row.unit {
        TunableUnit::Time => {
            let length = fields.length(row.key, mistakes)?;
            if !(row.low..=row.high).contains(&length.0) {
                let hint = format!("It is above 0 and at most {}.", Ns(row.high));
                mistakes.at(fields.span_of(row.key), format!("`{}` is {length}", row.key), hint);
            }
            Some(length.0)
        }
        TunableUnit::Khz | TunableUnit::Number => {
            fields.integer(row.key, row.low as u32..=row.high as u32, mistakes).map(u64::from)
        }
    }
}

fn kind(fields: &Fields, key: &str, mistakes: &mut Mistakes) -> Option<GovernorKind> {
    let text = fields.text(key, mistakes)?;
    let found = GovernorKind::by_name(text);
    if found.is_none() {
        let known: Vec<&str> = GovernorKind::ALL.iter().map(|kind| kind.name()).collect();
        mistakes.at(fields.span_of(key), format!("unknown governor `{}`", clip(text)), suggest::hint(text, &known));
    }
    found
}

/// A mistake where the governor does not have the tunable.
fn foreign(fields: &Fields, kind: GovernorKind, tunable: Tunable, mistakes: &mut Mistakes) {
    if !kind.has(tunable) {
        let owners = GovernorKind::ALL.iter().filter(|owner| owner.has(tunable));
        let names: Vec<String> = owners.map(|owner| format!("`{}`", owner.name())).collect();
        let key = tunable.row().key;
        let hint = format!("It is a tunable of {}.", names.join(" and "));
        mistakes.at(fields.span_of(key), format!("`{}` has no `{key}`", kind.name()), hint);
    }
}

/// One governor for all policies, whatever they say.
pub(super) fn of_all_policies(fields: &Fields, machine: &mut Machine, mistakes: &mut Mistakes) {
    let Some(governor) = read(fields, mistakes) else { return };
    if machine.policies.is_empty() && governor.kind != GovernorKind::Fixed {
        let hint = "Describe the operating points in `[[policy]]` tables, or take a preset that has them, such as hikey.";
        let message = format!("governor `{}` on a machine without operating points", governor.kind.name());
        mistakes.at(fields.span_of("governor"), message, hint);
    }
    for policy in &mut machine.policies {
        policy.governor = governor;
    }
}
