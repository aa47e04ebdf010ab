//! Decisions of recorded kernels, beside ours.

use super::number::percent;
use crate::card::{Card, grouped};
use crate::decisions::{Agreement, Conformed, Measure};
use crate::notes::Notes;
use crate::page::{Section, Table};
use fairground_conform::PlaceRule;

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

/// How recorded choices are explained, one row per kernel and kind of experiment.
pub(super) fn rules_by_family(cards: &[Card]) -> Section {
    let mut table = Table::new(&[&["kernel", "experiments"][..], &RULES].concat());
    for ((kernel, kind), cards) in grouped(cards, |card| (card.set.kernel(), card.set.kind())) {
        let sum = sum_of(&cards);
        let choices = PlaceRule::ALL.map(|rule| sum.choices(rule).to_string());
        table.push([vec![kernel, kind.to_string()], choices.to_vec()].concat());
    }
    let text = "The rule that makes a recorded choice right. The columns *cut*, *recent unknown*, *timing*, *delayed dequeue*, *fork none \
                idle* and *fork timing* are doubts: only something that is not recorded makes the choice right.";
    Section::new("Choices of CPUs by rule", text, table).in_file("choices-by-rule")
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
    let text = "Choices of CPUs by wake-ups, by the feature that ends a search for an idle CPU early. SIS_UTIL goes by utilisation, SIS_PROP by \
                how long searches took. The feature is the recorded kernel's, or what the workload switched (`feat NO_SIS_UTIL`). *search \
                hit*, *none idle* and *cut* count recorded choices that a search explains, by how it ended.";
    Section::new("Searches for an idle CPU by limit", text, table)
}

fn search_limit(card: &Card) -> Option<&'static str> {
    match &card.decisions {
        Conformed::Compared(found) => Some(found.search_limit),
        Conformed::Refused(_) => None,
    }
}

pub(super) fn sum_of(cards: &[&Card]) -> Agreement {
    let mut sum = Agreement::default();
    cards.iter().filter_map(|card| agreement(card)).for_each(|one| sum.add(one));
    sum
}

/// Heads of the tables with a row per set and measure.
const COUNTED: [&str; 4] = ["set", "measure", "#agree", "#decisions"];

/// The rows of these measures; measures without a decision are left out.
fn counted(set: &str, found: &Agreement, measures: &[Measure]) -> Vec<Vec<String>> {
    let tallies = measures.iter().map(|&measure| (measure, found.of(measure))).filter(|row| row.1.decisions > 0);
    tallies
        .map(|(measure, tally)| {
            [set, measure.name(), &tally.agree.to_string(), &tally.decisions.to_string()].map(str::to_string).to_vec()
        })
        .collect()
}

/// Decisions and places, one row per set and measure.
pub(super) fn by_set(cards: &[Card]) -> Section {
    let mut table = Table::new(&COUNTED);
    for (card, found) in cards.iter().filter_map(|card| Some((card, agreement(card)?))) {
        counted(&card.set.name, found, &Measure::ALL).into_iter().for_each(|row| table.push(row));
    }
    Section::new("Decisions and places by set", "How many decisions of each kind agree, of how many.", table).in_file("decisions")
}

/// Misplaced run time, one row per set.
pub(super) fn run_times(cards: &[Card]) -> Section {
    let mut table = Table::new(&["set", "#run time off by (ppm)"]);
    for (card, found) in cards.iter().filter_map(|card| Some((card, agreement(card)?))) {
        table.push(vec![card.set.name.clone(), found.runtime_error_ppm.to_string()]);
    }
    let text =
        "Of the tasks with at least 1 % of all run time, the largest share that our answers would have given to somebody else.";
    Section::new("Run time by set", text, table).in_file("run-time")
}

/// The sets for which unknown lags were fitted.
pub(super) fn fitted(cards: &[Card]) -> Section {
    let mut table = Table::new(&[&COUNTED[..], &["fitted lags (us of virtual time)"]].concat());
    for card in cards {
        if let Conformed::Compared(found) = &card.decisions
            && let Some(fitted) = &found.fitted
        {
            let lags: Vec<String> = fitted.lags.iter().map(|(name, lag)| format!("{name} {}", lag / 1000)).collect();
            for mut row in counted(&card.set.name, &fitted.agreement, Measure::TIME) {
                row.push(lags.join("; "));
                table.push(row);
            }
        }
    }
    let text = "An EEVDF kernel keeps the lag of a thread while it sleeps. The lag of a kernel thread that slept before the record began is in \
                no record. Everywhere else it counts as 0. Here one number per thread is fitted, where that explains disagreements.";
    Section::new("Decisions with fitted lags of kernel threads", text, table).in_file("decisions-fitted")
}

/// What falls short, with what is suspected.
pub(super) fn misses(cards: &[Card], notes: &Notes) -> Section {
    let mut table = Table::new(&["set", "falls short in", "suspected"]);
    for (set, measure) in short(cards) {
        let suspect = notes.suspect(set, measure).map_or("not known", |suspect| suspect.id.as_str());
        table.push(vec![set.to_string(), measure.to_string(), suspect.to_string()]);
    }
    let text = "Measures of sets that do not reach what is asked, with the rule that is suspected.";
    Section::new("Decisions that fall short", text, table).in_file("decisions-short")
}

/// Sets that are only shown, or not even compared.
pub(super) fn unjudged(cards: &[Card]) -> Section {
    let mut table = Table::new(&["set", "because"]);
    for card in cards {
        let because = match &card.decisions {
            Conformed::Refused(messages) => Some(messages.join("; ")),
            Conformed::Compared(found) => found.agreement.no_threshold.clone(),
        };
        if let Some(because) = because {
            table.push(vec![card.set.name.clone(), because]);
        }
    }
    let text = "Sets of whose decisions nothing is asked. They are counted all the same, where there are any. A broken invariant is a \
                mistake of ours.";
    Section::new("Decisions that are only shown, or not compared", text, table).in_file("decisions-not-judged")
}
