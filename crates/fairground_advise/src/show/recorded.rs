//! What a trace shows of response times, beside what the runs show.

use crate::curve::SHOWN;
use crate::goal::{percentile_key, percentile_name};
use crate::text::{cpus_of, time};
use crate::{Advice, Point, TraceFacts};
use fairground_report::{Cell, Column, Table, columns};

/// Recorded, at the limit under which it was recorded, and without a limit.
pub(super) fn recorded_table(advice: &Advice, facts: &TraceFacts) -> Table {
    let levels = levels(advice.permille);
    let mut columns = columns![left "response times" "what"];
    columns.extend(levels.map(|permille| Column::right(percentile_name(permille), percentile_key(permille))));
    columns.push(Column::right("count", "count"));
    let mut table = Table::new("trace", format!("{} threads, recorded and run", facts.threads), columns);
    let mut cells: Vec<Cell> = vec!["recorded".into()];
    cells.extend(levels.map(|permille| facts.percentile(permille).map_or_else(Cell::none, |ns| time(ns.0))));
    cells.push((facts.recorded.len() as u64).into());
    table.push(cells);
    let now = advice.curve.iter().find(|point| point.limit == advice.limit && point.limit.quota.is_some());
    let free = advice.curve.iter().find(|point| point.limit.quota.is_none());
    let named = now.map(|point| (format!("run with {} CPUs, as recorded", cpus_of(point.limit)), point));
    for (name, point) in named.into_iter().chain(free.map(|point| ("run without a limit".to_string(), point))) {
        let mut cells: Vec<Cell> = vec![name.into()];
        cells.extend(levels.map(|permille| level(advice, point, permille)));
        cells.push(facts.pieces.into());
        table.push(cells);
    }
    facts.lines().into_iter().for_each(|line| table.note(line));
    table
}

/// The percentiles that are shown and the one that is looked at, in order.
fn levels(permille: u64) -> [u64; 3] {
    let mut levels = [SHOWN[0], SHOWN[1], permille];
    levels.sort_unstable();
    levels
}

fn level(advice: &Advice, point: &Point, permille: u64) -> Cell {
    match SHOWN.iter().position(|shown| *shown == permille) {
        _ if permille == advice.permille => time(point.latency.mean),
        Some(place) => point.percentiles[place].map_or_else(Cell::none, time),
        None => Cell::none(),
    }
}
