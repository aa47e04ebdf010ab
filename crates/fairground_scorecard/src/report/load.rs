//! Load tracking, row by row.

use super::{Section, Table, grouped, percent};
use crate::card::Card;
use fairground::load_tracking::{Followed, LoadKind};

const KINDS: [(LoadKind, &str); 4] =
    [(LoadKind::Task, "tasks"), (LoadKind::Group, "groups"), (LoadKind::Blocked, "blocked"), (LoadKind::Queue, "queues")];

/// Sums over cards.
fn sum(cards: &[&Card], kind: LoadKind) -> Followed {
    let mut sum = Followed::default();
    for one in cards.iter().filter_map(|card| card.load.as_ref()?.get(&kind)) {
        sum.exact += one.exact;
        sum.attached += one.attached;
        sum.other += one.other;
    }
    sum
}

/// One row per kernel and kind of row.
pub(super) fn by_kernel(cards: &[Card]) -> Section {
    let mut table = Table::new(&["kernel", "of", "#rows", "#follow", "#share", "#after an attach", "#other"]);
    for (kernel, cards) in grouped(cards, |card| card.set.kernel()) {
        for (kind, of) in KINDS {
            let sum = sum(&cards, kind);
            if sum.rows() > 0 {
                table.push(vec![
                    kernel.clone(),
                    of.to_string(),
                    sum.rows().to_string(),
                    sum.exact.to_string(),
                    percent(sum.exact, sum.rows()),
                    sum.attached.to_string(),
                    sum.other.to_string(),
                ]);
            }
        }
    }
    let text = "Recorded updates of load tracking, made again by us from their recorded inputs: a row follows if all sums and averages are \
                those of the next row, bit for bit. Between two rows a task may have moved to another queue (an attach, which gives its \
                sums bit for bit too), and a queue or a group may have gained, lost or reweighted entities; those of queues and groups stand \
                under other.";
    Section::new("Load tracking by kernel", text, table)
}

/// One row per set.
pub(super) fn by_set(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&["set", "#tasks", "#after an attach", "#groups", "#blocked", "#queues", "#all"]);
    for card in cards.iter().filter(|card| card.load.is_some()) {
        let of = |kind| sum(&[card], kind);
        let all = KINDS.map(|(kind, _)| of(kind));
        let (exact, rows) = (all.iter().map(|one| one.exact).sum(), all.iter().map(|one| one.rows()).sum());
        let cell = |kind| format!("{}/{}", of(kind).exact, of(kind).rows());
        table.push(vec![
            card.set.name.clone(),
            cell(LoadKind::Task),
            of(LoadKind::Task).attached.to_string(),
            cell(LoadKind::Group),
            cell(LoadKind::Blocked),
            cell(LoadKind::Queue),
            percent(exact, rows),
        ]);
    }
    Section::new("Load tracking by set", "Rows that follow / rows.", table)
}
