//! Load tracking, row by row.

use super::number::percent;
use crate::card::{Card, grouped};
use crate::page::{Section, Table};
use fairground_recordings::load_tracking::{Cause, Followed, LoadKind};

const KINDS: [(LoadKind, &str); 4] =
    [(LoadKind::Task, "tasks"), (LoadKind::Group, "groups"), (LoadKind::Blocked, "blocked"), (LoadKind::Queue, "queues")];

/// Sums over cards.
fn sum(cards: &[&Card], kind: LoadKind) -> Followed {
    let mut sum = Followed::default();
    cards.iter().filter_map(|card| card.load.as_ref()?.get(&kind)).for_each(|one| sum.add(one));
    sum
}

/// Rows that an act between two updates explains.
fn explained(of: &Followed) -> u64 {
    of.explained.values().sum()
}

/// One row per kernel and kind of row.
pub(super) fn by_kernel(cards: &[Card]) -> Section {
    // The causes in the order of `Cause::ALL`.
    let mut table = Table::new(&[
        "kernel",
        "of",
        "#rows",
        "#follow",
        "#share",
        "#attach",
        "#detach",
        "#removal",
        "#propagation",
        "#reweight",
        "#several",
        "#stranger",
        "#explained",
        "#other",
    ]);
    for (kernel, cards) in grouped(cards, |card| card.set.kernel()) {
        for (kind, of) in KINDS {
            let sum = sum(&cards, kind);
            if sum.rows() > 0 {
                let mut row = vec![kernel.clone(), of.to_string(), sum.rows().to_string(), sum.exact.to_string()];
                row.push(percent(sum.exact, sum.rows()));
                row.extend(Cause::ALL.map(|cause| sum.explained.get(&cause).copied().unwrap_or(0).to_string()));
                row.push(percent(explained(&sum), sum.rows() - sum.exact));
                row.push(sum.other.to_string());
                table.push(row);
            }
        }
    }
    let text = "Recorded updates of load tracking, made again by us from their recorded inputs. A row *follows* if all sums and averages are \
                those of the next row, bit for bit. Between two rows an entity may have joined or left a queue (*attach*, *detach*, *removal*: a \
                sleeper that had left). A group's entity may have taken what happened on the group's queue (*propagation*), or have got a new \
                weight (*reweight*). Such a row is *explained* if our functions give the recorded state bit for bit. A *stranger* is a thread \
                whose entity is not recorded. With what sums it leaves is unknown, and counts as *other*.";
    Section::new("Load tracking by kernel", text, table)
}

/// The rows that follow and all rows, of all kinds.
pub(super) fn followed(cards: &[&Card]) -> (u64, u64) {
    let all = KINDS.map(|(kind, _)| sum(cards, kind));
    (all.iter().map(|one| one.exact).sum(), all.iter().map(Followed::rows).sum())
}

/// Rows that neither follow nor are explained.
pub(super) fn unexplained(cards: &[&Card]) -> u64 {
    KINDS.iter().map(|&(kind, _)| sum(cards, kind).other).sum()
}

/// One row per set and kind of row.
pub(super) fn by_set(cards: &[Card]) -> Section {
    let mut table = Table::new(&["set", "of", "#rows", "#follow", "#explained", "#other"]);
    for card in cards.iter().filter(|card| card.load.is_some()) {
        for (kind, of) in KINDS {
            let sum = sum(&[card], kind);
            if sum.rows() > 0 {
                let counts = [sum.rows(), sum.exact, explained(&sum), sum.other].map(|count| count.to_string());
                table.push([vec![card.set.name.clone(), of.to_string()], counts.to_vec()].concat());
            }
        }
    }
    let text = "Rows of the table above, set by set.";
    Section::new("Load tracking by set", text, table).in_file("load-tracking")
}
