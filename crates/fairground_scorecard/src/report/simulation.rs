//! Simulations against the recorded figures.

use super::number::two_digits;
use crate::card::Card;
use crate::judge::{distance, is_inside, median_distance};
use crate::notes::Notes;
use crate::page::{Section, Table};
use crate::simulation::Simulated;
use fairground_recordings::figures::{Check, CheckedRow};

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

/// How many figures of these sets are inside, and of how many.
pub(super) fn figures(cards: &[&Card]) -> (u64, u64) {
    let all = || cards.iter().flat_map(|card| rows(card));
    (inside(all()), all().count() as u64)
}

/// One row per set.
pub(super) fn by_set(cards: &[Card]) -> Section {
    let mut table = Table::new(&["set", "#seeds", "#inside", "#figures", "#median distance", "farthest", "#its distance"]);
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
    let text = "Each set's workload, run by us on its machine and kernel: how many figures are inside, and the farthest one. Sets on several CPUs \
                run with three seeds, and the figures of all three count.";
    Section::new("Simulations by set", text, table).in_file("simulations")
}

/// Every figure of every set, seed by seed.
pub(super) fn every_figure(cards: &[Card], notes: &Notes) -> Section {
    let heads =
        ["set", "#seed", "figure", "#ours", "#recorded", "#lower limit", "#upper limit", "#distance", "inside", "suspected"];
    let mut table = Table::new(&heads);
    for card in cards {
        for (seed, row) in seeded(card) {
            let (inside, suspected) = match is_inside(row) {
                true => ("yes", ""),
                false => ("no", notes.suspect(&card.set.name, &row.figure).map_or("not known", |suspect| suspect.id.as_str())),
            };
            let ours = row.ours.map_or_else(|| "missing".to_string(), |ours| ours.to_string());
            let mut cells = vec![card.set.name.clone(), seed.to_string(), row.figure.clone(), ours];
            cells.extend([row.value, row.lo, row.hi].map(|value| value.to_string()));
            cells.extend([two_digits(distance(row)), inside.to_string(), suspected.to_string()]);
            table.push(cells);
        }
    }
    let text = "Every figure of every simulated set. The unit is the last part of a figure's name. *distance* is (ours - \
                recorded) / half-band; the last column names the suspected rule of a figure that is not inside.";
    Section::new("Figures", text, table).in_file("figures")
}

/// The figures of a set with their seeds.
fn seeded(card: &Card) -> impl Iterator<Item = (usize, &CheckedRow)> {
    checks(card).iter().enumerate().flat_map(|(index, check)| check.rows.iter().map(move |row| (index + 1, row)))
}

/// The sets that are not simulated.
pub(super) fn refused(cards: &[Card]) -> Section {
    let mut table = Table::new(&["set", "because"]);
    for card in cards {
        if let Simulated::Refused(messages) = &card.simulated {
            table.push(vec![card.set.name.clone(), messages.join("; ")]);
        }
    }
    let text = "Their workload or kernel needs what is not modelled. They are refused by name, with these words; a broken invariant is a mistake \
                of ours.";
    Section::new("Sets that are not simulated", text, table).in_file("not-simulated")
}
