//! Whether `bisect` names what was planted, and nothing else.

use super::draw::KINDS_OF_CHANGE;
use super::truth::{PlantedChange, WORTH_PERMILLE, plant_change};
use crate::delay::read;
use fairground_bisect::{BisectOptions, Bisected, between, summary};
use fairground_report::{Cell, Table, columns};
use fairground_scenario::{Control, Error};
use std::ops::RangeInclusive;

/// A planted change with its answer.
pub struct Searched {
    /// What kind of change.
    pub kind: &'static str,
    /// The seed of the draw.
    pub seed: u64,
    /// What was planted.
    pub planted: PlantedChange,
    /// The rows that `bisect` named, change by change.
    pub named: Vec<Vec<&'static str>>,
    /// The rows of which it said that each of these changes needs them to be run.
    pub needed: Vec<Vec<&'static str>>,
    /// Runs that it made.
    pub made: usize,
    /// What it said.
    pub said: String,
}

impl Searched {
    /// Whether the planted rows are one of the changes that were named, with what it was said to need.
    pub fn is_found(&self) -> bool {
        let planted = sorted(&self.planted.draw.planted);
        let with_needed = self.named.iter().zip(&self.needed).map(|(rows, needed)| sorted(&[&rows[..], needed].concat()));
        self.named.iter().map(|rows| sorted(rows)).chain(with_needed).any(|rows| rows == planted)
    }
    /// Whether nothing else was named.
    pub fn is_alone(&self) -> bool {
        self.is_found() && self.named.len() == 1
    }
    /// What it is about, in lines.
    pub fn story(&self) -> String {
        let PlantedChange { draw, metric, permille, .. } = &self.planted;
        let right = if self.is_alone() { "right" } else { "wrong" };
        format!(
            "{} {}: {right}. {} to {}, planted {} ({metric} by {permille} of 1000), {} beside; named {:?}, which need {:?}, in {} runs",
            self.kind,
            self.seed,
            draw.a.name,
            draw.source.name,
            draw.planted.join(" with "),
            draw.beside.len(),
            self.named,
            self.needed,
            self.made,
        )
    }
}

fn sorted(rows: &[&'static str]) -> Vec<&'static str> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

/// Plants a change of each kind for each seed, and asks `bisect` for it. `each` hears of every answer.
pub fn examine_changes(
    kinds: &[&str],
    seeds: RangeInclusive<u64>,
    mut each: impl FnMut(&Searched),
) -> Result<Vec<Searched>, Error> {
    let mut rows = Vec::new();
    for seed in seeds {
        for (draft, kind, _) in KINDS_OF_CHANGE.iter().filter(|row| kinds.is_empty() || kinds.contains(&row.1)) {
            let planted = plant_change(*draft, kind, seed)?;
            let row = searched(kind, seed, planted)?;
            each(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

fn searched(kind: &'static str, seed: u64, planted: PlantedChange) -> Result<Searched, Error> {
    let scenario = read("planted", &planted.draw.text)?;
    let b = planted.draw.b().map_err(|wrong| Error::one("the second state", wrong.message, wrong.hint))?;
    let options = BisectOptions {
        a: None,
        b: None,
        changes: Vec::new(),
        metric: planted.metric.clone(),
        worth_permille: WORTH_PERMILLE,
        runs: 64,
    };
    let found: Option<Bisected> = between(&scenario, [&planted.draw.a, &b], &options, Control::none())?;
    let (mut named, mut needed, mut made, mut said) = (Vec::new(), Vec::new(), 0, String::new());
    if let Some(found) = found {
        named = found.culprits.iter().map(fairground_bisect::Culprit::names).collect();
        needed = found.culprits.iter().map(|culprit| culprit.needs.iter().map(|row| row.to.name).collect()).collect();
        made = found.made;
        said = summary(&found);
    }
    Ok(Searched { kind, seed, planted, named, needed, made, said })
}

/// How many percent of the changes were found alone, rounded down.
pub fn found_percent(rows: &[&Searched]) -> usize {
    rows.iter().filter(|row| row.is_alone()).count() * 100 / rows.len().max(1)
}

/// A row per kind, and one for all.
pub fn changes_table(rows: &[Searched]) -> Table {
    let columns = columns![
        left "planted", right "draws", right "discarded", right "found", right "found alone" "found_alone", right "runs" "runs"
    ];
    let mut table = Table::new("changes", "Planted changes and what bisect names", columns);
    let mut push = |name: &str, rows: &[&Searched]| {
        let discarded: u64 = rows.iter().map(|row| u64::from(row.planted.discarded)).sum();
        let found = rows.iter().filter(|row| row.is_found()).count() as u64;
        let alone = rows.iter().filter(|row| row.is_alone()).count() as u64;
        let mut made: Vec<usize> = rows.iter().map(|row| row.made).collect();
        made.sort_unstable();
        let median = made.get(made.len() / 2).copied().unwrap_or(0) as u64;
        let mut cells: Vec<Cell> = vec![name.into()];
        cells.extend([rows.len() as u64, discarded, found, alone, median].map(Cell::from));
        table.push(cells);
    };
    for (_, kind, _) in KINDS_OF_CHANGE {
        let own: Vec<&Searched> = rows.iter().filter(|row| row.kind == kind).collect();
        if !own.is_empty() {
            push(kind, &own);
        }
    }
    push("all", &rows.iter().collect::<Vec<_>>());
    table
}
