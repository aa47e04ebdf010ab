//! Decisions of recorded kernels, beside ours.

use super::{Section, Table, grouped, percent};
use crate::card::Card;
use crate::decisions::{Agreement, Conformed, Measure};
use crate::notes::Notes;

/// Heads of the measures' columns.
const MEASURES: [&str; 9] = [
    "#pick",
    "#wake-up did",
    "#wake-up did not",
    "#tick did",
    "#tick did not",
    "#update did",
    "#update did not",
    "#both",
    "#vruntime exact",
];

fn agreement(card: &Card) -> Option<&Agreement> {
    match &card.decisions {
        Conformed::Compared(found) => Some(&found.agreement),
        Conformed::Refused(_) => None,
    }
}

fn is_judged(card: &Card) -> bool {
    agreement(card).is_some_and(|agreement| agreement.no_threshold.is_none())
}

/// What falls short, with its set.
pub(super) fn short(cards: &[Card]) -> impl Iterator<Item = (&str, &str)> {
    let judged = cards.iter().filter(|card| is_judged(card));
    judged.flat_map(|card| {
        let short = agreement(card).map(|agreement| agreement.short_of(card.set.one_cpu())).unwrap_or_default();
        short.into_iter().map(|measure: &str| (card.set.name.as_str(), measure))
    })
}

/// Parts of ten thousand as percent, and thousandths of those.
fn error(agreement: &Agreement) -> String {
    format!("{}.{:04} %", agreement.runtime_error_ppm / 10_000, agreement.runtime_error_ppm % 10_000)
}

/// One row per kernel and kind of experiment, in percent.
pub(super) fn by_family(cards: &[Card]) -> Section {
    let heads = [&["kernel", "experiments", "#sets"][..], &MEASURES, &["#run time off by"]].concat();
    let mut table = Table::new(&heads);
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let mut sum = Agreement::default();
        cards.iter().filter_map(|card| agreement(card)).for_each(|one| sum.add(one));
        let mut row = vec![kernel, kind.to_string(), cards.len().to_string()];
        row.extend(Measure::ALL.map(|measure| percent(sum.of(measure).agree, sum.of(measure).decisions)));
        row.push(error(&sum));
        table.push(row);
    }
    let text = "Each recorded decision with at least two candidates, put to our core in the state that the record led it to; then the record \
                is followed (`fairground conform`). *did* and *did not*: the kernel preempted, or did not, at a wake-up, a tick, another account \
                of run time. *both*: questions so close together that the record shows one outcome for them; a class of its own. *vruntime exact*: \
                to the nanosecond, where recorded. *run time off by*: of the tasks with at least 1 % of all run time, the largest share that our answers would have given to \
                somebody else. Asked for are, on one CPU, 99.50 % of picks and virtual times and 99.00 % of each side of wake-up and tick; on \
                several, 98.00 % of each; run times off by 0.5 % at most.";
    Section::new("Decisions by kernel", text, table)
}

/// Agreements and decisions of each measure, and the run-time error.
fn counts(found: &Agreement) -> impl Iterator<Item = String> {
    let cell = |measure| format!("{}/{}", found.of(measure).agree, found.of(measure).decisions);
    Measure::ALL.map(cell).into_iter().chain([error(found)])
}

/// The sets for which unknown lags were fitted.
pub(super) fn fitted(cards: &[Card]) -> Section {
    let heads = [&["set"][..], &MEASURES, &["#run time off by", "fitted lags"]].concat();
    let mut table = Table::by_set(&heads);
    for card in cards {
        if let Conformed::Compared(found) = &card.decisions
            && let Some(fitted) = &found.fitted
        {
            let lags = fitted.lags.iter().map(|(name, lag)| format!("{name} {} us", lag / 1000));
            let mut row = vec![card.set.name.clone()];
            row.extend(counts(&fitted.agreement));
            row.push(lags.collect::<Vec<_>>().join(", "));
            table.push(row);
        }
    }
    let text = "An EEVDF kernel keeps the lag of a thread over its sleep. That of a kernel thread which slept before the record began \
                is in no record: everywhere else on this page it counts as 0. Here it is fitted, one number per thread (virtual time), \
                where that explains disagreements.";
    Section::new("Decisions by set, with fitted lags of kernel threads", text, table)
}

/// One row per set, as numbers.
pub(super) fn by_set(cards: &[Card]) -> Section {
    let heads = [&["set"][..], &MEASURES, &["#run time off by"]].concat();
    let mut table = Table::by_set(&heads);
    for (card, found) in cards.iter().filter_map(|card| Some((card, agreement(card)?))) {
        let mut row = vec![card.set.name.clone()];
        row.extend(counts(found));
        table.push(row);
    }
    Section::new("Decisions by set", "Agreements / decisions.", table)
}

/// What falls short, with what is suspected.
pub(super) fn misses(cards: &[Card], notes: &Notes) -> Section {
    let mut table = Table::by_set(&["set", "falls short in", "suspected"]);
    for (set, measure) in short(cards) {
        let suspect = notes.suspect(set, measure).map_or("not known", |suspect| suspect.id.as_str());
        table.push(vec![set.to_string(), measure.to_string(), suspect.to_string()]);
    }
    Section::new("Decisions that fall short", "Of sets of which something is asked.", table)
}

/// Sets that are only shown, or not even compared.
pub(super) fn unjudged(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&["set", "because"]);
    for card in cards {
        let because = match &card.decisions {
            Conformed::Refused(messages) => Some(messages.join("; ")),
            Conformed::Compared(found) => found.agreement.no_threshold.clone(),
        };
        if let Some(because) = because {
            table.push(vec![card.set.name.clone(), because]);
        }
    }
    Section::new(
        "Decisions that are only shown, or not compared",
        "They are shown all the same, where there are any. A broken invariant is a mistake of ours.",
        table,
    )
}
