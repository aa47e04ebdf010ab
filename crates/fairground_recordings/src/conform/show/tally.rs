//! Decisions, agreements and their share, as cells and for programs.

use super::super::share::percent;
use fairground_conform::{Kind, Quota, Tally};
use fairground_report::Cell;
use serde_json::{Value, json};

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

/// Decisions, agreements and their share as cells.
pub(super) fn cells(tally: Tally) -> [Cell; 3] {
    [Cell::count(tally.decisions), Cell::count(tally.agree), share(tally)]
}

/// What a kind is for the replay of accounts, which stands beside the lockstep.
pub(super) const fn quota_of(kind: Kind) -> Option<Quota> {
    match kind {
        Kind::Throttle => Some(Quota::Throttle),
        Kind::Unthrottle => Some(Quota::Unthrottle),
        _ => None,
    }
}
