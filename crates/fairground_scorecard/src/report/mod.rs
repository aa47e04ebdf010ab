//! From cards to the page.

mod absent;
mod decisions;
mod load;
mod number;
mod published;
mod quota;
mod simulation;
mod summary;

use crate::card::Card;
use crate::notes::{Notes, Suspect};
use crate::page::{Page, Section, Table};
use fairground_report::Reproduction;

pub use summary::trust;

/// The command that makes the page; the same with `--quick --check` holds the small subset against it.
const COMMAND: &str = "cargo xtask fidelity";

/// The page of all these cards, with figures that were measured at `commit`.
pub fn page(cards: &[Card], published: &[Reproduction], notes: &Notes, commit: &str) -> Page {
    let mut sections = vec![
        summary::by_kernel(cards),
        beside_the_kernel(),
        how_to_read(),
        summary::by_experiment(cards),
        decisions::searches_by_kernel(cards),
        load::by_kernel(cards),
        published::by_experiment(published),
        rules(cards, notes),
        decisions::by_set(cards),
        decisions::run_times(cards),
        decisions::misses(cards, notes),
        decisions::unjudged(cards),
        decisions::fitted(cards),
        decisions::rules_by_family(cards),
        simulation::by_set(cards),
        simulation::every_figure(cards, notes),
        simulation::refused(cards),
        load::by_set(cards),
        quota::accounts(cards),
        quota::patterns(cards),
        quota::refused(cards),
        published::section(published),
    ];
    sections.extend(absent::sections(notes));
    Page { title: "How close we are to real kernels".into(), text: introduction(commit), sections }
}

/// Everything that falls short, as set and figure.
fn shortcomings(cards: &[Card]) -> impl Iterator<Item = (&str, &str)> {
    simulation::missed(cards).map(|(set, row)| (set, row.figure.as_str())).chain(decisions::short(cards))
}

/// Whether a suspected rule explains anything.
fn explains(cards: &[Card], notes: &Notes, suspect: &Suspect) -> bool {
    shortcomings(cards).any(|(set, figure)| notes.suspect(set, figure) == Some(suspect))
}

/// Suspected rules that explain nothing any more: what they were about is met.
pub fn stale<'n>(cards: &[Card], notes: &'n Notes) -> Vec<&'n str> {
    notes.suspects.iter().filter(|suspect| !explains(cards, notes, suspect)).map(|suspect| suspect.id.as_str()).collect()
}

fn rules(cards: &[Card], notes: &Notes) -> Section {
    let mut table = Table::new(&["suspected", "rule", "evidence"]);
    for suspect in notes.suspects.iter().filter(|suspect| explains(cards, notes, suspect)) {
        table.push(vec![suspect.id.clone(), suspect.rule.clone(), suspect.evidence.clone()]);
    }
    let text = "What we think makes figures and decisions fall short, and the evidence. The CSV files below name the rule beside each miss.";
    Section::new("Suspected rules", text, table)
}

fn introduction(commit: &str) -> Vec<String> {
    vec![
        "Each decision of a recorded kernel is put to our core in the recorded state, and each recorded workload is run by us. Where \
         tasks are in no group, most misses are in sets whose records are incomplete (hackbench, idle-search). In groups agreement is \
         lower, since what groups weigh depends on loads that no record has. Queues with a quota are throttled and released as the record's \
         probes say; decisions there are only shown. CSV files hold every figure ([columns](fidelity/README.md))."
            .to_string(),
        format!(
            "Measured at `{commit}` by `{COMMAND}` from the recorded sets in [recordings](../recordings/README.md). Do not edit this page: \
             what is written by hand stands in `crates/fairground_scorecard/src/notes.toml`."
        ),
    ]
}

fn beside_the_kernel() -> Section {
    let text = "Recordings show only the states that a machine came to. Random systems are also run beside the kernel's own code, and each call is compared: who \
                runs, where, virtual times, averages, quota, frequencies. [Calls compared and differences open](kernel-core.md#held-against-our-core), \
                by kernel and mechanism, and [what was found, and whose it was](kernel-core.md#what-was-found-and-whose-it-was).";
    Section { heading: "Beside the kernel's own code".into(), text: vec![text.to_string()], table: None, file: None }
}

fn how_to_read() -> Section {
    let text = [
        "A **set** is one experiment on a stock kernel: `k6.12-hogs-1cpu/a_eq3_1` is Linux 6.12. Sets of `karm6.1` are arm64 with CPUs of two \
         capacities. `real6.18` is a virtual machine under other load, in which records of switches are missing. All others are an emulator with \
         virtual time.",
        "A **decision** with at least two candidates is put to our core in the state that the record led it to. Then the record is followed \
         ([conform](conform.md)). Asked for on one CPU are 99.50 % of picks and virtual times, and 99.00 % of each side of wake-up and tick. On \
         several CPUs 98.00 % of each are asked for, 97.00 % of allowed places, and 95.00 % of possible moves.",
        "A **figure** of a simulation is inside if it lies within the recorded limits. Where the limits begin at 0 or below, ours must also be \
         within a factor of two of the recorded one. **Distance** is (ours - recorded) / half-band, with half-band = (upper - lower limit) / 2.",
    ];
    Section { heading: "How to read it".into(), text: text.map(str::to_string).to_vec(), table: None, file: None }
}
