//! Load tracking, row by row.

use super::{Section, Table, grouped, percent};
use crate::card::Card;
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
    let text = "Recorded updates of load tracking, made again by us from their recorded inputs: a row follows if all sums and \
                averages are those of the next row, bit for bit. Between two rows an entity may have joined or left a queue \
                (attach, detach; removal: a sleeper that had left). A group's entity may also have taken what happened on the \
                group's queue (propagation), or have got its weight anew (reweight). These are explained if our functions for \
                them, from the recorded states of those that took part, give the recorded state bit for bit. A stranger is a \
                thread whose entity is not recorded: that its sums follow from its averages when it joins is checked; with what \
                sums it leaves is known to nobody, and stands under other.";
    Section::new("Load tracking by kernel", text, table)
}

/// One row per set.
pub(super) fn by_set(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&["set", "#tasks", "#groups", "#blocked", "#queues", "#all", "#explained", "#other"]);
    for card in cards.iter().filter(|card| card.load.is_some()) {
        let of = |kind| sum(&[card], kind);
        let all = KINDS.map(|(kind, _)| of(kind));
        let (exact, rows) = (all.iter().map(|one| one.exact).sum(), all.iter().map(|one| one.rows()).sum());
        let cell = |kind| format!("{}/{}", of(kind).exact, of(kind).rows());
        table.push(vec![
            card.set.name.clone(),
            cell(LoadKind::Task),
            cell(LoadKind::Group),
            cell(LoadKind::Blocked),
            cell(LoadKind::Queue),
            percent(exact, rows),
            all.iter().map(explained).sum::<u64>().to_string(),
            all.iter().map(|one| one.other).sum::<u64>().to_string(),
        ]);
    }
    Section::new("Load tracking by set", "Rows that follow / rows; of those that do not, how many are explained.", table)
}
