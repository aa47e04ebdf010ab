//! From cards to the page.

mod absent;
mod decisions;
mod load;
mod published;
mod quota;
mod simulation;

use crate::card::Card;
use crate::notes::{Notes, Suspect};
use crate::page::{Page, Section, Table};
use fairground_report::Reproduction;

/// The command that makes the page; the same with `--quick --check` holds the small subset against it.
const COMMAND: &str = "cargo xtask fidelity";

/// The page of all these cards.
pub fn page(cards: &[Card], published: &[Reproduction], notes: &Notes) -> Page {
    let mut sections = vec![
        decisions::by_family(cards),
        decisions::places_by_family(cards),
        decisions::rules_by_family(cards),
        decisions::searches_by_kernel(cards),
        simulation::by_family(cards),
        load::by_kernel(cards),
    ];
    sections.extend([
        decisions::misses(cards, notes),
        rules(cards, notes),
        decisions::unjudged(cards),
        decisions::by_set(cards),
        decisions::places_by_set(cards),
        decisions::fitted(cards),
    ]);
    sections.extend(simulation::sections(cards, notes));
    sections.push(simulation::refused(cards));
    sections.push(load::by_set(cards));
    sections.extend([quota::accounts(cards), quota::patterns(cards), quota::refused(cards)]);
    sections.push(published::section(published));
    sections.extend(absent::sections(notes));
    Page { title: "How close we are to real kernels".into(), text: introduction(), sections }
}

/// Everything that falls short, as set and figure.
fn shortcomings(cards: &[Card]) -> impl Iterator<Item = (&str, &str)> {
    simulation::missed(cards).map(|(set, row)| (set, row.figure.as_str())).chain(decisions::short(cards))
}

/// Whether a suspected rule explains anything.
fn explains(cards: &[Card], notes: &Notes, suspect: &Suspect) -> bool {
    shortcomings(cards).any(|(set, figure)| notes.suspect(set, figure) == Some(suspect))
}

/// Suspected rules that explain nothing any more: what they were about is met.
pub fn stale<'n>(cards: &[Card], notes: &'n Notes) -> Vec<&'n str> {
    notes.suspects.iter().filter(|suspect| !explains(cards, notes, suspect)).map(|suspect| suspect.id.as_str()).collect()
}

fn rules(cards: &[Card], notes: &Notes) -> Section {
    let mut table = Table::new(&["suspected", "rule", "evidence"]);
    for suspect in notes.suspects.iter().filter(|suspect| explains(cards, notes, suspect)) {
        table.push(vec![suspect.id.clone(), suspect.rule.clone(), suspect.evidence.clone()]);
    }
    Section::new("Suspected rules", "What we think makes the shortcomings, and why.", table)
}

fn introduction() -> Vec<String> {
    let version = env!("CARGO_PKG_VERSION");
    vec![
        format!(
            "Made by `{COMMAND}` of fairground {version} from the recorded sets; do not edit. What is written by hand, the suspected \
             rules, stands in `crates/fairground_scorecard/src/notes.toml`."
        ),
        "A **set** is one experiment on a stock kernel: `k6.12-hogs-1cpu/a_eq3_1` is Linux 6.12. Sets of `karm6.1` are arm64 with two \
         capacities, `real6.18` is a virtual machine under load, all others an emulator with virtual time."
            .to_string(),
        "**Distance** is (ours − recorded) / half-band, half-band = (hi − lo) / 2 of the recorded limits: within ±1 a figure is \
         inside. Where the limits begin at 0 or below, a figure is only inside if ours is also within a factor of two of the recorded one."
            .to_string(),
    ]
}

/// Distances and the like: two digits; nothing where there is no number.
fn two_digits(value: Option<f64>) -> String {
    match value {
        None => "-".to_string(),
        Some(value) if value.is_infinite() => "∞".to_string(),
        // Not the sign of a value that is shown as nothing.
        Some(value) if value.abs() < 0.005 => "0.00".to_string(),
        Some(value) => format!("{value:.2}"),
    }
}

/// `part` of `whole` in percent, cut so that only all of it is 100.
fn percent(part: u64, whole: u64) -> String {
    match (u128::from(part) * 10_000).checked_div(u128::from(whole)) {
        None => "-".to_string(),
        Some(hundredths) => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

/// Groups in the order in which their keys first come.
fn grouped<'c, K: PartialEq>(cards: &'c [Card], key: impl Fn(&'c Card) -> K) -> Vec<(K, Vec<&'c Card>)> {
    let mut groups: Vec<(K, Vec<&Card>)> = Vec::new();
    for card in cards {
        let key = key(card);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(card),
            None => groups.push((key, vec![card])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(two_digits(None), "-");
        assert_eq!(two_digits(Some(-0.001)), "0.00");
        assert_eq!(two_digits(Some(-1.239)), "-1.24");
        assert_eq!(two_digits(Some(f64::INFINITY)), "∞");
        assert_eq!(percent(1, 0), "-");
        assert_eq!(percent(99_999, 100_000), "99.99 %");
        assert_eq!(percent(7, 7), "100.00 %");
        assert_eq!(percent(1, 3), "33.33 %");
    }
}
