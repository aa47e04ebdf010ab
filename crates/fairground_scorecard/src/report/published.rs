//! Published experiments.

use crate::page::{Section, Table};
use fairground_report::{Quantity, Reproduction};

/// One row per published number that we have a counterpart of.
pub(super) fn section(published: &[Reproduction]) -> Section {
    let mut table = Table::new(&["experiment", "figure", "unit", "#published", "#ours", "#band", "inside"]);
    for reproduction in published {
        for row in reproduction.rows.iter().filter(|row| row.published != Quantity::Unknown) {
            let inside = match row.within() {
                Some(true) => "yes",
                Some(false) => "NO",
                None => "not judged",
            };
            table.push(vec![
                reproduction.experiment.clone(),
                row.id.clone(),
                row.unit.clone(),
                row.published.to_string(),
                row.simulated.median.to_string(),
                row.band.to_string(),
                inside.to_string(),
            ]);
        }
        for claim in &reproduction.claims {
            let holds = if claim.holds { "holds" } else { "FAILS" };
            let cells = [&reproduction.experiment, &claim.id, "claim", "-", "-", "-", holds];
            table.push(cells.map(str::to_string).to_vec());
        }
    }
    let text = "Every published number that has a counterpart of ours, and every claim, as `fairground reproduce` gives them. *not judged*: the \
                publication gives no band for it.";
    Section::new("Published figures", text, table).in_file("published")
}

/// One row per experiment.
pub(super) fn by_experiment(published: &[Reproduction]) -> Section {
    let mut table =
        Table::new(&["experiment", "#published figures", "#inside", "#outside", "#not judged", "#claims", "#claims that hold"]);
    for reproduction in published {
        let judged = || reproduction.rows.iter().filter(|row| row.published != Quantity::Unknown).map(|row| row.within());
        let count = |wanted| judged().filter(|&within| within == wanted).count();
        let holds = reproduction.claims.iter().filter(|claim| claim.holds).count();
        let counts = [judged().count(), count(Some(true)), count(Some(false)), count(None), reproduction.claims.len(), holds];
        table.push(std::iter::once(reproduction.experiment.clone()).chain(counts.map(|count| count.to_string())).collect());
    }
    let text = "What each experiment is, and why figures lie outside, is told in [experiments](experiments/README.md).";
    Section::new("Published experiments", text, table)
}
