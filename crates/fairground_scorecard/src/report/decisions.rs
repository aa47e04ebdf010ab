//! Decisions of recorded kernels, beside ours.

use super::{Section, Table, grouped, percent};
use crate::card::Card;
use crate::decisions::{Agreement, Conformed, Measure};
use crate::notes::Notes;
use fairground_conform::PlaceRule;

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

/// Heads of the columns about places.
const PLACES: [&str; 8] = [
    "#wake-up same CPU",
    "#wake-up allowed",
    "#birth same CPU",
    "#birth allowed",
    "#move kind",
    "#move batch",
    "#move source",
    "#move mean",
];

/// Heads of the rules' columns.
const RULES: [&str; PlaceRule::ALL.len()] = [
    "#prev idle",
    "#this idle",
    "#per-CPU kthread",
    "#recent",
    "#search hit",
    "#none idle",
    "#cut",
    "#recent unknown",
    "#timing",
    "#delayed dequeue",
    "#fork idle",
    "#fork none idle",
    "#fork timing",
    "#not explained",
    "#fork not explained",
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

/// Where tasks go, one row per kernel and kind of experiment, in percent.
pub(super) fn places_by_family(cards: &[Card]) -> Section {
    let mut table = Table::new(&[&["kernel", "experiments", "#sets"][..], &PLACES].concat());
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let sum = sum_of(&cards);
        let mut row = vec![kernel, kind.to_string(), cards.len().to_string()];
        row.extend(Measure::PLACE.iter().map(|&measure| percent(sum.of(measure).agree, sum.of(measure).decisions)));
        table.push(row);
    }
    let text = "Choices of CPUs by wake-ups and births, and moves of waiting tasks (docs/conform.md). *same CPU*: our own answer is the recorded \
                CPU. *allowed*: the rules allow the recorded choice, given what a record cannot show (below, by rule and doubt). *kind*: the \
                recorded balance was possible at that moment. *batch*, *source*: to an empty CPU, as many tasks as the rule says, from a CPU with \
                the most tasks. *mean*: to a busy CPU, from one above the mean weight to one below. Asked for are 97.00 % allowed, 95.00 % of kind \
                and batch; the rest is shown.";
    Section::new("Places by kernel", text, table)
}

/// How recorded choices are explained, one row per kernel and kind of experiment.
pub(super) fn rules_by_family(cards: &[Card]) -> Section {
    let mut table = Table::new(&[&["kernel", "experiments"][..], &RULES].concat());
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let sum = sum_of(&cards);
        let choices = PlaceRule::ALL.map(|rule| sum.choices(rule).to_string());
        table.push([vec![kernel, kind.to_string()], choices.to_vec()].concat());
    }
    let text = "The rule that makes a recorded choice right; *cut*, *recent unknown*, *timing*, *delayed dequeue*, *fork none idle* and *fork \
                timing* are doubts: only something that is not recorded makes it right.";
    Section::new("Choices of CPUs by rule", text, table)
}

/// Where wake-ups go by what limited the search for an idle CPU, one row per kernel and limit.
pub(super) fn searches_by_kernel(cards: &[Card]) -> Section {
    let heads = ["kernel", "limit", "#sets", "#wake-ups", "#same CPU", "#allowed", "#search hit", "#none idle", "#cut"];
    let mut table = Table::new(&heads);
    for ((kernel, limit), cards) in grouped(cards, |card| (card.set.kernel(), search_limit(card))) {
        let Some(limit) = limit else { continue };
        let sum = sum_of(&cards);
        let (same, allowed) = (sum.of(Measure::PlaceStrict), sum.of(Measure::PlaceAllowed));
        let mut row = vec![kernel, limit.to_string(), cards.len().to_string(), same.decisions.to_string()];
        row.extend([same, allowed].map(|tally| percent(tally.agree, tally.decisions)));
        let rules = [PlaceRule::SearchHit, PlaceRule::NoneIdle, PlaceRule::Cut];
        row.extend(rules.map(|rule| sum.choices(rule).to_string()));
        table.push(row);
    }
    let text = "The choices of CPUs by wake-ups again, by the feature that let searches for an idle CPU end early: SIS_UTIL by \
                utilisation, SIS_PROP by how long searches took, or none. It is the recorded kernel's, or what the workload \
                switched (`feat NO_SIS_UTIL`). *search hit*, *none idle*, *cut*: recorded choices that a search explains, by how \
                it ended.";
    Section::new("Searches for an idle CPU by limit", text, table)
}

fn search_limit(card: &Card) -> Option<&'static str> {
    match &card.decisions {
        Conformed::Compared(found) => Some(found.search_limit),
        Conformed::Refused(_) => None,
    }
}

fn sum_of(cards: &[&Card]) -> Agreement {
    let mut sum = Agreement::default();
    cards.iter().filter_map(|card| agreement(card)).for_each(|one| sum.add(one));
    sum
}

/// Where tasks go, one row per set, as numbers.
pub(super) fn places_by_set(cards: &[Card]) -> Section {
    let mut table = Table::by_set(&[&["set"][..], &PLACES].concat());
    for (card, found) in cards.iter().filter_map(|card| Some((card, agreement(card)?))) {
        let cell = |&measure: &Measure| format!("{}/{}", found.of(measure).agree, found.of(measure).decisions);
        table.push(std::iter::once(card.set.name.clone()).chain(Measure::PLACE.iter().map(cell)).collect());
    }
    Section::new("Places by set", "Agreements / decisions.", table)
}

/// One row per kernel and kind of experiment, in percent.
pub(super) fn by_family(cards: &[Card]) -> Section {
    let heads = [&["kernel", "experiments", "#sets"][..], &MEASURES, &["#run time off by"]].concat();
    let mut table = Table::new(&heads);
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let sum = sum_of(&cards);
        let mut row = vec![kernel, kind.to_string(), cards.len().to_string()];
        row.extend(Measure::TIME.iter().map(|&measure| percent(sum.of(measure).agree, sum.of(measure).decisions)));
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
    let cell = |&measure: &Measure| format!("{}/{}", found.of(measure).agree, found.of(measure).decisions);
    Measure::TIME.iter().map(cell).chain([error(found)])
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
