//! Shares of decisions that agree.

use fairground_conform::Tally;
use fairground_report::Cell;
use serde_json::{Value, json};

/// Percent of `part` in `whole`; all of nothing.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Decisions, agreements and their share; no share of nothing.
pub(super) fn tally(tally: Tally) -> Value {
    let share = (tally.decisions > 0).then(|| percent(tally.agree, tally.decisions));
    json!({ "decisions": tally.decisions, "agree": tally.agree, "agree_pct": share })
}

/// The share as a cell; a dash for no decisions.
pub(super) fn share(tally: Tally) -> Cell {
    match tally.decisions {
        0 => Cell::from("-"),
        decisions => Cell::float(percent(tally.agree, decisions), 2),
    }
}
