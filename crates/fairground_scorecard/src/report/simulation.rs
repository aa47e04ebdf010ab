//! Simulations against the recorded figures.

use super::{Section, Table, grouped, percent, two_digits};
use crate::card::Card;
use crate::judge::{distance, is_inside, median_distance};
use crate::notes::Notes;
use crate::simulation::Simulated;
use fairground_metrics::{Check, CheckedRow};

/// How many figures are inside.
fn inside<'a>(rows: impl Iterator<Item = &'a CheckedRow>) -> u64 {
    rows.filter(|row| is_inside(row)).count() as u64
}

/// What came out with each seed, from seed 1 on; nothing if the set does not run.
fn checks(card: &Card) -> &[Check] {
    match &card.simulated {
        Simulated::Ran(checks) => checks,
        Simulated::Refused(_) => &[],
    }
}

fn rows(card: &Card) -> impl Iterator<Item = &CheckedRow> {
    checks(card).iter().flat_map(|check| &check.rows)
}

/// The figures that are missed, with their sets.
pub(super) fn missed(cards: &[Card]) -> impl Iterator<Item = (&str, &CheckedRow)> {
    cards.iter().flat_map(|card| rows(card).filter(|row| !is_inside(row)).map(|row| (card.set.name.as_str(), row)))
}

/// One row per kernel and kind of experiment.
pub(super) fn by_family(cards: &[Card]) -> Section {
    let mut table = Table::new(&[
        "kernel",
        "experiments",
        "#sets",
        "#not simulated",
        "#figures",
        "#in limits",
        "#share",
        "#and in factor 2",
        "#share of that",
        "#median distance",
    ]);
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let refused = cards.iter().filter(|card| checks(card).is_empty()).count();
        let all_rows = || cards.iter().flat_map(|card| rows(card));
        let (in_limits, met, all) =
            (all_rows().filter(|row| row.inside()).count() as u64, inside(all_rows()), all_rows().count() as u64);
        table.push(vec![
            kernel,
            kind.to_string(),
            cards.len().to_string(),
            refused.to_string(),
            all.to_string(),
            in_limits.to_string(),
            percent(in_limits, all),
            met.to_string(),
            percent(met, all),
            two_digits(median_distance(all_rows())),
        ]);
    }
    let text = "Each set's workload, run by us on its machine and kernel, against the limits lo..hi of its `expect` list. \
                Limits that reach down to 0 would be met by a run in which nothing happens: the second share asks there \
                for a factor of two of the recorded value besides. Everywhere else on this page that is meant by inside. \
                Not simulated: the workload or the kernel needs what is not modelled yet (below). Sets on \
                several CPUs are run with three seeds, and the figures of all three count.";
    Section::new("Simulations by kernel", text, table)
}

/// One row per set, then the misses with what is suspected, then what is met.
pub(super) fn sections(cards: &[Card], notes: &Notes) -> Vec<Section> {
    vec![by_set(cards), misses(cards, notes), met(cards)]
}

fn by_set(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&["set", "#seeds", "#inside", "#figures", "#median distance", "farthest", "#its distance"]);
    for card in cards.iter().filter(|card| !checks(card).is_empty()) {
        let size = |row: &&CheckedRow| distance(row).map_or(f64::INFINITY, f64::abs);
        let farthest = rows(card).max_by(|a, b| size(a).total_cmp(&size(b)));
        table.push(vec![
            card.set.name.clone(),
            checks(card).len().to_string(),
            inside(rows(card)).to_string(),
            rows(card).count().to_string(),
            two_digits(median_distance(rows(card))),
            farthest.map_or_else(|| "-".to_string(), |row| row.figure.clone()),
            two_digits(farthest.and_then(distance)),
        ]);
    }
    let text = "Rows of `expect` that hold text say that load tracking follows row by row: see there.";
    Section::new("Simulations by set", text, table)
}

fn misses(cards: &[Card], notes: &Notes) -> Section {
    let mut table = Table::by_set(&["set", "#seed", "figure", "#ours", "#recorded", "#limits", "#distance", "suspected"]);
    for card in cards {
        for (seed, row) in seeded(card).filter(|(_, row)| !is_inside(row)) {
            let suspect = notes.suspect(&card.set.name, &row.figure);
            let mut cells = figure(card, seed, row);
            cells.push(suspect.map_or_else(|| "not known".to_string(), |suspect| suspect.id.clone()));
            table.push(cells);
        }
    }
    Section::new("Figures that are missed", "Which rule is suspected stands in the last column; the rules stand above.", table)
}

fn met(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&["set", "#seed", "figure", "#ours", "#recorded", "#limits", "#distance"]);
    for card in cards {
        seeded(card).filter(|(_, row)| is_inside(row)).for_each(|(seed, row)| table.push(figure(card, seed, row)));
    }
    Section::new("Figures that are met", "All others.", table)
}

/// The figures of a set with their seeds.
fn seeded(card: &Card) -> impl Iterator<Item = (usize, &CheckedRow)> {
    checks(card).iter().enumerate().flat_map(|(index, check)| check.rows.iter().map(move |row| (index + 1, row)))
}

fn figure(card: &Card, seed: usize, row: &CheckedRow) -> Vec<String> {
    let ours = row.ours.map_or_else(|| "missing".to_string(), |ours| ours.to_string());
    let limits = format!("{}..{}", row.lo, row.hi);
    let (set, seed) = (card.set.name.clone(), seed.to_string());
    vec![set, seed, row.figure.clone(), ours, row.value.to_string(), limits, two_digits(distance(row))]
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
