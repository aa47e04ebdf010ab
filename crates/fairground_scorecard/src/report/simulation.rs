//! Simulations against the recorded figures.

use super::{Section, Table, grouped, percent, two_digits};
use crate::card::Card;
use crate::judge::{distance, is_inside, median_distance};
use crate::notes::Notes;
use crate::simulation::Simulated;
use fairground_metrics::{Check, CheckedRow};

/// How many figures are inside.
fn inside(rows: &[CheckedRow]) -> u64 {
    rows.iter().filter(|row| is_inside(row)).count() as u64
}

fn check(card: &Card) -> Option<&Check> {
    match &card.simulated {
        Simulated::Ran(check) => Some(check),
        Simulated::Refused(_) => None,
    }
}

/// The figures that are missed, with their sets.
pub(super) fn missed(cards: &[Card]) -> impl Iterator<Item = (&str, &CheckedRow)> {
    let rows = |card| check(card).map(|check| check.rows.as_slice()).unwrap_or_default().iter();
    cards.iter().flat_map(move |card| rows(card).filter(|row| !is_inside(row)).map(|row| (card.set.name.as_str(), row)))
}

/// One row per kernel and kind of experiment.
pub(super) fn by_family(cards: &[Card]) -> Section {
    let mut table =
        Table::new(&["kernel", "experiments", "#sets", "#not simulated", "#inside", "#figures", "#share", "#median distance"]);
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let ran: Vec<&Check> = cards.iter().filter_map(|card| check(card)).collect();
        let rows = || ran.iter().flat_map(|check| &check.rows);
        let (met, all): (u64, _) = (ran.iter().map(|check| inside(&check.rows)).sum(), rows().count() as u64);
        table.push(vec![
            kernel,
            kind.to_string(),
            cards.len().to_string(),
            (cards.len() - ran.len()).to_string(),
            met.to_string(),
            all.to_string(),
            percent(met, all),
            two_digits(median_distance(rows())),
        ]);
    }
    let text = "Each set's workload, run by us on its machine and kernel, against the limits of its `expect` list. \
                Not simulated: the workload or the kernel needs what is not modelled yet (below). On one CPU all is decided by \
                rules that are modelled; with several, figures depend on placement and balance, which are not yet.";
    Section::new("Simulations by kernel", text, table)
}

/// One row per set, then the misses with what is suspected, then what is met.
pub(super) fn sections(cards: &[Card], notes: &Notes) -> Vec<Section> {
    let ran: Vec<(&str, &Check)> = cards.iter().filter_map(|card| Some((card.set.name.as_str(), check(card)?))).collect();
    vec![by_set(&ran), misses(cards, notes), met(&ran)]
}

fn by_set(ran: &[(&str, &Check)]) -> Section {
    let mut table = Table::by_set(&["set", "#inside", "#figures", "#median distance", "farthest", "#its distance"]);
    for (name, check) in ran {
        let size = |row: &&CheckedRow| distance(row).map_or(f64::INFINITY, f64::abs);
        let farthest = check.rows.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
        table.push(vec![
            name.to_string(),
            inside(&check.rows).to_string(),
            check.rows.len().to_string(),
            two_digits(median_distance(&check.rows)),
            farthest.map_or_else(|| "-".to_string(), |row| row.figure.clone()),
            two_digits(farthest.and_then(distance)),
        ]);
    }
    let text = "Rows of `expect` that hold text say that load tracking follows row by row: see there.";
    Section::new("Simulations by set", text, table)
}

fn misses(cards: &[Card], notes: &Notes) -> Section {
    let mut table = Table::by_set(&["set", "figure", "#ours", "#recorded", "#limits", "#distance", "suspected"]);
    for (set, row) in missed(cards) {
        let suspect = notes.suspect(set, &row.figure);
        let mut cells = figure(set, row);
        cells.push(suspect.map_or_else(|| "not known".to_string(), |suspect| suspect.id.clone()));
        table.push(cells);
    }
    Section::new("Figures that are missed", "Which rule is suspected stands in the last column; the rules stand above.", table)
}

fn met(ran: &[(&str, &Check)]) -> Section {
    let mut table = Table::by_set(&["set", "figure", "#ours", "#recorded", "#limits", "#distance"]);
    for (name, check) in ran {
        check.rows.iter().filter(|row| is_inside(row)).for_each(|row| table.push(figure(name, row)));
    }
    Section::new("Figures that are met", "All others.", table)
}

fn figure(set: &str, row: &CheckedRow) -> Vec<String> {
    let ours = row.ours.map_or_else(|| "missing".to_string(), |ours| ours.to_string());
    let limits = format!("{}..{}", row.lo, row.hi);
    vec![set.to_string(), row.figure.clone(), ours, row.value.to_string(), limits, two_digits(distance(row))]
}

/// The sets that are not simulated.
pub(super) fn refused(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&["set", "because"]);
    for card in cards {
        if let Simulated::Refused(messages) = &card.simulated {
            table.push(vec![card.set.name.clone(), messages.join("; ")]);
        }
    }
    Section::new(
        "Sets that are not simulated",
        "They are refused by name, with these words; a broken invariant is a mistake of ours.",
        table,
    )
}
