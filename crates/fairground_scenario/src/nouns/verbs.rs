//! What `[[at]]` may do, but for files of groups: one row for each verb, by which it is read, listed and written.

use crate::nouns::at::Act;
use crate::nouns::autogroup;
use crate::nouns::clamps;
use crate::nouns::words;
use crate::schema;
use crate::text::Wrong;
use fairground_model::features::FeatWrite;
use fairground_model::{Governor, Policy, Tunable, UtilClamp};
use fairground_stdx::{CpuMask, Ns};
use serde_json::Value;

/// A row of the table.
pub(crate) struct Verb {
    /// The first word of a `do` string, and the key of a table.
    pub(crate) name: &'static str,
    /// The key of a table that says to whom it is done; `None` if the value says so.
    pub(crate) target: Option<&'static str>,
    /// A value that it takes.
    example: &'static str,
    /// The JSON Schema of its value.
    pub(crate) schema: fn() -> Value,
    /// What it is, of the target and the value.
    pub(crate) read: fn(&str, &str) -> Result<Act, Wrong>,
    /// Target, empty if there is none, and value of what it is; `None` of all that it is not.
    show: fn(&Act) -> Option<(String, String)>,
}

/// A row: how the target and the value are read, and how the value is written.
macro_rules! verb {
    ($name:expr => $target:literal, $example:literal, $schema:expr, $act:ident($on:expr, $read:expr, $show:expr)) => {
        Verb {
            name: $name,
            target: Some($target),
            example: $example,
            schema: $schema,
            read: |target, value| Ok(Act::$act($on(target)?, $read(value)?)),
            show: |act| match act {
                Act::$act(target, value) => $show(value).map(|value| (target.to_string(), value)),
                _ => None,
            },
        }
    };
    ($name:expr, $example:literal, $schema:expr, $read:expr, $act:pat => $value:expr) => {
        Verb {
            name: $name,
            target: None,
            example: $example,
            schema: $schema,
            read: |_, value| $read(value),
            show: |act| if let $act = act { Some((String::new(), $value.to_string())) } else { None },
        }
    };
}

/// Takes CPUs off line, and brings them back. Both may stand in place of `do`.
pub(crate) const HOTPLUG: [&str; 2] = ["offline", "online"];

/// All verbs.
pub(crate) static VERBS: &[Verb] = &[
    verb!("nice" => "task", "5", schema::nice, Nice(name, nice, |nice: &i8| Some(nice.to_string()))),
    verb!("affinity" => "task", "0-3", schema::cpus, Affinity(name, words::cpus, |cpus: &CpuMask| Some(cpus.to_string()))),
    verb!("policy" => "task", "deadline:10ms/100ms", schema::policy,
        Policy(name, words::policy, |policy: &Policy| Some(words::policy_name(*policy)))),
    verb!("slice" => "task", "5ms", schema::slice, Slice(name, words::slice, |slice: &Option<Ns>| Some(words::slice_name(*slice)))),
    verb!(clamps::MIN => "task", "300", schema::clamp, Clamp(name, |value| clamps::request(clamps::MIN, value), min)),
    verb!(clamps::MAX => "task", "512", schema::clamp, Clamp(name, |value| clamps::request(clamps::MAX, value), max)),
    verb!("feature", "NO_NEXT_BUDDY", schema::text, |value| FeatWrite::parse(value).map(Act::Feature), Act::Feature(write) => write),
    verb!("frequency" => "cpus", "50%", schema::text, Frequency(words::cpus, words::frequency, of_1024)),
    verb!("governor" => "cpus", "schedutil", schema::text,
        Governor(words::cpus, |value| words::governor(value).map(Governor::of), governor)),
    verb!("setspeed" => "cpus", "729000", schema::text, Governor(words::cpus, words::setspeed, setspeed)),
    verb!("thermal" => "cpus", "20%", schema::text, Thermal(words::cpus, words::lost, of_1024)),
    verb!(HOTPLUG[0], "0-3", schema::cpus, |cpus| Ok(Act::Hotplug(words::cpus(cpus)?, false)), Act::Hotplug(cpus, false) => cpus),
    verb!(HOTPLUG[1], "0-3", schema::cpus, |cpus| Ok(Act::Hotplug(words::cpus(cpus)?, true)), Act::Hotplug(cpus, true) => cpus),
    verb!("watchdog", "0-3", schema::cpus, |cpus| words::cpus(cpus).map(Act::Watchdog), Act::Watchdog(cpus) => cpus),
    verb!(autogroup::NICE => "session", "5", schema::nice, AutogroupNice(name, nice, |nice: &i8| Some(nice.to_string()))),
];

fn name(target: &str) -> Result<String, Wrong> {
    Ok(target.to_string())
}

fn nice(value: &str) -> Result<i8, Wrong> {
    let wrong = |_| (format!("`{value}` is no nice value"), "A number from -20 to 19.".to_string());
    value.parse().map_err(wrong).and_then(words::nice)
}

fn min(clamp: &UtilClamp) -> Option<String> {
    clamp.min.filter(|_| clamp.max.is_none()).map(|min| min.to_string())
}

fn max(clamp: &UtilClamp) -> Option<String> {
    clamp.max.filter(|_| clamp.min.is_none()).map(|max| max.to_string())
}

fn of_1024(share: &u32) -> Option<String> {
    Some(format!("{share}/1024"))
}

/// The name of a governor without a frequency of its own.
fn governor(governor: &Governor) -> Option<String> {
    governor.khz(Tunable::SetspeedKhz).is_none().then(|| governor.kind.name().to_string())
}

fn setspeed(governor: &Governor) -> Option<String> {
    governor.khz(Tunable::SetspeedKhz).map(|khz| khz.to_string())
}

impl Verb {
    /// The row of a verb.
    pub(crate) fn by_name(name: &str) -> Option<&'static Verb> {
        VERBS.iter().find(|verb| verb.name == name)
    }

    /// Whether its value is a number in a table.
    pub(crate) fn is_number(&self) -> bool {
        (self.schema)()["type"] == "integer"
    }

    /// A `do` string, for hints.
    pub(crate) fn form(&self) -> String {
        let target = self.target.map(|key| format!("{} ", key.to_uppercase())).unwrap_or_default();
        format!("\"{} {target}{}\"", self.name, self.example)
    }
}

/// A `do` string that says this; `None` if no verb does.
pub(crate) fn text(act: &Act) -> Option<String> {
    VERBS.iter().find_map(|verb| {
        let (target, value) = (verb.show)(act)?;
        let target = if target.is_empty() { target } else { target + " " };
        Some(format!("{} {target}{value}", verb.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nouns::at::from_text;

    #[test]
    fn what_a_hint_shows_is_read_and_written_by_its_row() {
        for verb in VERBS {
            let form = verb.form().replace("CPUS", "0-3");
            let act = from_text(form.trim_matches('"')).unwrap();
            let text = text(&act).unwrap();
            assert!(text.starts_with(&format!("{} ", verb.name)), "{text}");
            assert_eq!(from_text(&text), Ok(act), "{text}");
        }
    }
}
