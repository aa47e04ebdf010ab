//! The answer first: one table of trust by kernel, and one by kernel and kind of experiment.

use super::number::percent;
use super::{decisions, load, simulation};
use crate::card::{Card, grouped};
use crate::decisions::Measure;
use crate::golden::Groups;
use crate::page::{Section, Table};
use fairground_conform::Tally;

fn share(tally: Tally) -> String {
    percent(tally.agree, tally.decisions)
}

/// One row per kernel: what a reader may rely on.
pub(super) fn by_kernel(cards: &[Card]) -> Section {
    Section::new("By kernel", BY_KERNEL, trust(cards))
}

const BY_KERNEL: &str = "*Who runs next* counts recorded picks among at least two tasks. It is split by whether tasks are in groups, and \
    whether a group has a quota (cpu.max). *Where*: a wake-up's CPU is one that the rules allow, given what a record cannot show. \
    *Figures*: what our own simulation of the workload gives lies within the recorded limits. *Load tracking*: updates that our \
    functions give bit for bit, or explain bit for bit by a recorded act between two updates.";

/// The table of trust.
pub fn trust(cards: &[Card]) -> Table {
    let heads = [
        "kernel",
        "#experiments",
        "#who runs next, no groups",
        "#in groups",
        "#with a quota",
        "#where",
        "#figures inside",
        "#load tracking",
    ];
    let mut table = Table::new(&heads);
    for (kernel, cards) in grouped(cards, |card| card.set.kernel()) {
        let picks = |groups| {
            let of: Vec<&Card> = cards.iter().copied().filter(|card| card.set.groups == groups).collect();
            share(decisions::sum_of(&of).of(Measure::Pick))
        };
        let (inside, figures) = simulation::figures(&cards);
        let (_, rows) = load::followed(&cards);
        table.push(vec![
            kernel,
            cards.len().to_string(),
            picks(Groups::None),
            picks(Groups::Weights),
            picks(Groups::Quota),
            share(decisions::sum_of(&cards).of(Measure::PlaceAllowed)),
            percent(inside, figures),
            percent(rows - load::unexplained(&cards), rows),
        ]);
    }
    table
}

/// One row per kernel and kind of experiment.
pub(super) fn by_experiment(cards: &[Card]) -> Section {
    const SHOWN: [(&str, Measure); 7] = [
        ("#pick", Measure::Pick),
        ("#wake-up did", Measure::WakeupDid),
        ("#wake-up did not", Measure::WakeupDidNot),
        ("#tick did", Measure::TickDid),
        ("#tick did not", Measure::TickDidNot),
        ("#where: allowed", Measure::PlaceAllowed),
        ("#where: same CPU", Measure::PlaceStrict),
    ];
    let heads: Vec<&str> = ["kernel", "experiments", "#sets"].into_iter().chain(SHOWN.map(|row| row.0)).collect();
    let mut table = Table::new(&[&heads[..], &["#figures", "#inside"]].concat());
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let sum = decisions::sum_of(&cards);
        let (inside, figures) = simulation::figures(&cards);
        let mut row = vec![kernel, kind.to_string(), cards.len().to_string()];
        row.extend(SHOWN.map(|(_, measure)| share(sum.of(measure))));
        row.extend([figures.to_string(), percent(inside, figures)]);
        table.push(row);
    }
    let text = "*did* and *did not*: the kernel preempted at a wake-up or tick, or did not, and we do the same. *same CPU*: our own choice is the \
                recorded CPU; often several CPUs are as good. A dash: nothing of that kind was recorded, or the set is not simulated.";
    Section::new("By kernel and experiment", text, table)
}
