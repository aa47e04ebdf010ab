//! Published experiments.

use super::{Section, Table};
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
    let text = "As `fairground reproduce` gives them; what bands mean is told there. A row that is not judged has no published band of its own.";
    Section::new("Published figures", text, table)
}
