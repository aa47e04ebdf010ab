//! Whether a remedy takes a delay away: it is made from the beginning of the run, and the run is measured.

use crate::delay::worst_delay_with;
use crate::planted::{Planted, is_truth};
use fairground_scenario::Overrides;

/// The kind of no remedy: what delays the task is part of what another one is meant to do.
pub(crate) const NONE: &str = "none";
/// What stands between the changes of a remedy that has several.
const AND: &str = "; ";

/// The kind of a remedy: the first word of its text, or the name before `=`.
pub(crate) fn kind(change: &str) -> &str {
    let end = change.find(|letter: char| letter.is_whitespace() || letter == '=' || letter == ';').unwrap_or(change.len());
    &change[..end]
}

/// Whether a remedy is right: a run with it from the beginning on shows it. What cannot be said of a whole run, or what the
/// run itself sets later, is right if it is of a kind that is known to be.
pub(crate) fn is_right(planted: &Planted, change: Option<&str>) -> bool {
    let is_known = planted.levers.contains(&change.map_or(NONE, kind));
    change.filter(|change| !is_set_later(planted, kind(change))).and_then(|change| is_shown(planted, change)).unwrap_or(is_known)
}

/// Whether the run itself makes a change of this kind, or the opposite one.
fn is_set_later(planted: &Planted, kind: &str) -> bool {
    let opposite = if kind == "online" { "offline" } else { kind };
    [format!("do = \"{opposite} "), format!("[\"{kind} "), format!(", \"{kind} ")].iter().any(|set| planted.text.contains(set))
}

/// Whether the worst delay is at most half with this change from the beginning on, if it can be made there.
fn is_shown(planted: &Planted, change: &str) -> Option<bool> {
    let mut text = planted.text.clone();
    let (mut overrides, mut cpus) = (Overrides::default(), None);
    for change in change.split(AND) {
        if change.contains(char::is_whitespace) {
            text += &format!("\n[[at]]\ntime = \"0s\"\ndo = \"{change}\"\n");
        } else if let Some((name, value)) = change.split_once('=') {
            match name {
                "workers" => text = with_workers(&text, value),
                "cpus" => cpus = value.parse().ok(),
                "kernel" => overrides.profile = Some(value.to_string()),
                "hz" => overrides.set.push(format!("machine.hz={value}")),
                _ => overrides.set.push(change.to_string()),
            }
        } else {
            overrides.features.push(change.to_string());
        }
    }
    let left = worst_delay_with(&text, (&overrides, cpus), &planted.task, planted.measure);
    left.ok().map(|left| is_truth((planted.delays.0, left)))
}

/// The scenario with so many workers of its service.
fn with_workers(text: &str, workers: &str) -> String {
    const KEY: &str = "workers = ";
    let Some((before, after)) = text.split_once(KEY) else { return text.to_string() };
    format!("{before}{KEY}{workers}{}", after.trim_start_matches(|letter: char| letter.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn a_kind_is_the_first_word_of_a_remedy() {
        for (change, word) in [
            ("nice worker -20", "nice"),
            ("NO_A; NO_B", "NO_A"),
            ("hz=1000", "hz"),
            ("NO_RUN_TO_PARITY", "NO_RUN_TO_PARITY"),
            ("cpu.max /a max", "cpu.max"),
        ] {
            assert_eq!(kind(change), word);
        }
    }
}
