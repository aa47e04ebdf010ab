//! `governor`: who chooses the frequency, of a policy or of all.

use super::fields::Fields;
use crate::machine::Machine;
use crate::suggest::{self, clip};
use crate::validate_policies::MAX_KHZ;
use fairground_model::{Governor, GovernorKind, Mistakes};
use fairground_stdx::Ns;

const KEYS: [&str; 11] = [
    "name",
    "rate_limit",
    "sampling_rate",
    "up_threshold",
    "down_threshold",
    "freq_step",
    "sampling_down_factor",
    "setspeed_khz",
    "min_khz",
    "max_khz",
    "start_khz",
];
/// The longest rate limit or sampling period.
const MAX_PERIOD: Ns = Ns::from_secs(100);

/// The governor that `fields` names, if it does.
pub(super) fn governor(fields: &Fields, mistakes: &mut Mistakes) -> Option<Governor> {
    let item = fields.item("governor")?;
    if item.is_str() {
        return Some(Governor::of(kind(fields, "governor", mistakes)?));
    }
    let Some(table) = item.as_table_like() else {
        fields.wrong("governor", item, "a name, or a table such as { name = \"schedutil\", rate_limit = \"10ms\" }", mistakes);
        return None;
    };
    let fields = Fields::new(table, fields.span_of("governor"));
    fields.refuse_unknown(&KEYS, mistakes);
    if !fields.has("name") {
        mistakes.at(fields.span(), "a governor without `name`", "Write name = \"schedutil\".");
    }
    let kind = kind(&fields, "name", mistakes)?;
    foreign_keys(&fields, kind, mistakes);
    let mut period = |key| {
        let length = fields.length(key, mistakes);
        if let Some(length) = length.filter(|&length| length == Ns::ZERO || length > MAX_PERIOD) {
            mistakes.at(fields.span_of(key), format!("`{key}` is {length}"), format!("It is above 0 and at most {MAX_PERIOD}."));
        }
        length
    };
    let (rate_limit, sampling_rate) = (period("rate_limit"), period("sampling_rate"));
    let mut number = |key, high| fields.integer(key, 1..=high, mistakes);
    Some(Governor {
        kind,
        rate_limit,
        sampling_rate,
        up_threshold: number("up_threshold", 100),
        down_threshold: number("down_threshold", 99),
        freq_step: number("freq_step", 100),
        sampling_down_factor: number("sampling_down_factor", 100_000),
        setspeed_khz: number("setspeed_khz", MAX_KHZ),
        min_khz: number("min_khz", MAX_KHZ),
        max_khz: number("max_khz", MAX_KHZ),
        start_khz: number("start_khz", MAX_KHZ),
    })
}

fn kind(fields: &Fields, key: &str, mistakes: &mut Mistakes) -> Option<GovernorKind> {
    let text = fields.text(key, mistakes)?;
    let found = GovernorKind::by_name(text);
    if found.is_none() {
        let known = GovernorKind::ALL.map(|row| row.0);
        mistakes.at(fields.span_of(key), format!("unknown governor `{}`", clip(text)), suggest::hint(text, &known));
    }
    found
}

/// Tunables that the governor does not have.
fn foreign_keys(fields: &Fields, kind: GovernorKind, mistakes: &mut Mistakes) {
    use GovernorKind::{Conservative, Ondemand, Schedutil, Userspace};
    let owners: [(&str, &[GovernorKind]); 7] = [
        ("rate_limit", &[Schedutil]),
        ("sampling_rate", &[Ondemand, Conservative]),
        ("up_threshold", &[Ondemand, Conservative]),
        ("down_threshold", &[Conservative]),
        ("freq_step", &[Conservative]),
        ("sampling_down_factor", &[Ondemand, Conservative]),
        ("setspeed_khz", &[Userspace]),
    ];
    for (key, owners) in owners {
        if fields.has(key) && !owners.contains(&kind) {
            let names: Vec<String> = owners.iter().map(|owner| format!("`{}`", owner.name())).collect();
            let hint = format!("It is a tunable of {}.", names.join(" and "));
            mistakes.at(fields.span_of(key), format!("`{}` has no `{key}`", kind.name()), hint);
        }
    }
}

/// One governor for all policies, whatever they say.
pub(super) fn of_all_policies(fields: &Fields, machine: &mut Machine, governor: Governor, mistakes: &mut Mistakes) {
    if machine.policies.is_empty() && governor.kind != GovernorKind::Fixed {
        let hint = "Describe the operating points in `[[policy]]` tables, or take a preset that has them, such as hikey.";
        let message = format!("governor `{}` on a machine without operating points", governor.kind.name());
        mistakes.at(fields.span_of("governor"), message, hint);
    }
    for policy in &mut machine.policies {
        policy.governor = governor;
    }
}
