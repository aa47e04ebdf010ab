//! The configuration of a build: ours, with the lines of a fragment in place of those that they contradict.

use super::shim::BASE;
use std::collections::BTreeMap;

/// Of each of these families one is chosen: a fragment's choice takes the place of ours.
const CHOICES: &[&[&str]] = &[
    &["HZ_100", "HZ_250", "HZ_300", "HZ_1000"],
    &["HZ_PERIODIC", "NO_HZ_IDLE", "NO_HZ_FULL"],
    &["PREEMPT_NONE", "PREEMPT_VOLUNTARY", "PREEMPT", "PREEMPT_LAZY"],
];

/// The lines of `CONFIG_NAME=value` by name; a line that is none is refused with its number.
fn rows(text: &str, place: &str) -> Result<BTreeMap<String, String>, String> {
    let mut rows = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let unset = line.strip_prefix("# CONFIG_").and_then(|rest| rest.strip_suffix(" is not set"));
        if let Some(name) = unset {
            rows.insert(name.to_string(), "n".to_string());
        } else if !line.is_empty() && !line.starts_with('#') {
            let row = line.strip_prefix("CONFIG_").and_then(|rest| rest.split_once('='));
            let good = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            let Some((name, value)) = row.filter(|row| good(row.0)) else {
                let shown: String = line.chars().take(60).flat_map(char::escape_default).collect();
                return Err(format!("{place}:{}: `{shown}` is no line of a configuration, such as CONFIG_HZ_1000=y", number + 1));
            };
            rows.insert(name.to_string(), value.to_string());
        }
    }
    Ok(rows)
}

/// Our configuration with a fragment over it, as Kconfig reads it.
pub(super) fn merged(fragment: &str, place: &str) -> Result<String, String> {
    let mut all = rows(BASE, "base.config")?;
    let wanted = rows(fragment, place)?;
    for family in CHOICES {
        if family.iter().any(|name| wanted.get(*name).is_some_and(|value| value == "y")) {
            family.iter().for_each(|name| drop(all.remove(*name)));
        }
    }
    // Preemption of the kernel is possible on an architecture that does not refuse it, lazy preemption on one that has it.
    let is_chosen = |name: &str| wanted.get(name).is_some_and(|value| value == "y");
    if is_chosen("PREEMPT") || is_chosen("PREEMPT_VOLUNTARY") || is_chosen("PREEMPT_LAZY") {
        all.remove("FG_NO_PREEMPT");
    }
    if is_chosen("PREEMPT_LAZY") {
        all.insert("FG_LAZY".into(), "y".into());
    }
    all.extend(wanted);
    Ok(all.iter().map(|(name, value)| format!("CONFIG_{name}={value}\n")).collect())
}

/// The lines of a fragment that the tree's Kconfig did not take, as it has them.
pub(super) fn refused(fragment: &str, taken: &str) -> Vec<String> {
    let (Ok(wanted), Ok(taken)) = (rows(fragment, ""), rows(taken, "")) else { return Vec::new() };
    let is = |name: &String| taken.get(name).map_or("n", String::as_str).to_string();
    let not_taken = wanted.iter().filter(|(name, value)| is(name) != **value);
    not_taken.map(|(name, value)| format!("CONFIG_{name}={value} was not taken: it is {} here", is(name))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_a_fragment_takes_the_place_of_ours() {
        let merged = merged("CONFIG_HZ_1000=y\n# CONFIG_CFS_BANDWIDTH is not set\nCONFIG_PREEMPT_LAZY=y\n", "x").unwrap();
        let has = |line: &str| merged.lines().any(|other| other == line);
        assert!(has("CONFIG_HZ_1000=y") && !has("CONFIG_HZ_250=y") && has("CONFIG_CFS_BANDWIDTH=n"));
        assert!(has("CONFIG_FG_LAZY=y") && !has("CONFIG_PREEMPT_NONE=y") && !has("CONFIG_FG_NO_PREEMPT=y"));
    }

    #[test]
    fn a_line_that_is_none_is_shown_with_its_number() {
        assert!(merged("CONFIG_HZ_100=y\nHZ=100\n", "my.config").unwrap_err().starts_with("my.config:2: `HZ=100`"));
    }

    #[test]
    fn what_the_tree_does_not_take_is_named() {
        let found = refused("CONFIG_HZ_1000=y\nCONFIG_NEW_THING=y\n", "CONFIG_HZ_1000=y\n");
        assert_eq!(found, ["CONFIG_NEW_THING=y was not taken: it is n here"]);
    }
}
