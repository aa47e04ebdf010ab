//! What is picked, and from what averages.

use super::{EEVDF, Entity, Running, entity};
use crate::fair::tests::bench::{Bench, MS};
use crate::fair::weight::{LoadWeight, NICE_0_LOAD};
use fairground_stdx::{RngStream, StreamKind, TaskId};

/// The pick by definition: who has no negative lag, then the earliest deadline.
fn naive_pick(kernel: &str, rows: &[Entity], running: Option<Running>) -> usize {
    let lag =
        |at: u64| -> i128 { rows.iter().map(|row| i128::from(row.vruntime as i64 - at as i64) * i128::from(row.weight)).sum() };
    let eligible = |row: usize| lag(rows[row].vruntime) >= 0;
    let curr = running.filter(|running| eligible(running.row));
    if let Some(running) = running
        && (rows.len() == 1 || curr.is_some() && running.protected)
    {
        return running.row;
    }
    let waits = |row: &usize| running.is_none_or(|running| running.row != *row) && eligible(*row);
    let tie = |row: usize| if kernel == "v6.6" { rows[row].vruntime } else { 0 };
    let best = (0..rows.len()).filter(waits).min_by_key(|&row| (rows[row].deadline, tie(row), row));
    match (curr.map(|running| running.row), best) {
        (Some(curr), Some(best)) => {
            let (mine, theirs) = (rows[curr].deadline, rows[best].deadline);
            if mine < theirs || kernel == "v6.6" && mine == theirs { curr } else { best }
        }
        (only, None) | (None, only) => only.expect("somebody is eligible"),
    }
}

/// Model: 02 T12
#[test]
fn avg_vruntime_is_the_weighted_mean_rounded_down() {
    let mut bench = Bench::with_rows("v6.14", 3);
    let weighted = |vruntime, weight| Entity { vruntime, deadline: 0, weight };
    for (floor, rows, average) in [
        (0, vec![weighted(0, 1024), weighted(3 * MS, 1024)], 1_500_000),
        (0, vec![weighted(0, 1024), weighted(3 * MS, 1024), weighted(6 * MS, 335)], 2_132_605),
        (10, vec![weighted(9, 1024), weighted(10, 1024)], 9),
        (100, vec![weighted(90, 3), weighted(100, 4)], 95),
        (77, vec![], 77),
    ] {
        bench.set_queue(floor, &rows, None);
        assert_eq!(bench.average(), average, "{rows:?}");
        if !rows.is_empty() {
            bench.set_queue(floor, &rows, Some(Running { row: 0, protected: false }));
            assert_eq!(bench.average(), average, "the running entity counts too: {rows:?}");
        }
    }
}

/// Model: 02 T12
#[test]
fn an_entity_is_placed_so_that_it_keeps_its_lag() {
    for kernel in EEVDF {
        let mut bench = Bench::with_rows(kernel, 3);
        let two = [entity(0, 0), entity(3 * MS, 0)];
        for (lag, vruntime) in [(500_000, 750_000), (-500_000, 2_250_000)] {
            bench.set_queue(0, &two, None);
            let (newcomer, nice_0) = (bench.row(2), LoadWeight::new(NICE_0_LOAD));
            bench.sched.ses[newcomer].load = nice_0;
            assert_eq!(bench.places(2, lag), vruntime, "{kernel}");
            let deadline = bench.sched.ses[newcomer].deadline;
            bench.set_queue(0, &[two[0], two[1], entity(vruntime, deadline.0)], None);
            assert_eq!(bench.lag(TaskId::new(2)), lag, "{kernel}: after insertion the lag is there again");
        }
        bench.set_queue(0, &[entity(10 * MS, 0)], None);
        let light = bench.row(2);
        bench.sched.ses[light].load = LoadWeight::nice(5);
        assert_eq!(bench.places(2, 2 * MS as i64), 7_345_704, "{kernel}: the lag is inflated to 2,654,296");
    }
}

/// Model: 02 T12
#[test]
fn the_eligible_entity_with_the_earliest_deadline_is_picked() {
    let running = |row, protected| Some(Running { row, protected });
    let half = MS / 2;
    for kernel in EEVDF {
        let mut bench = Bench::with_rows(kernel, 3);
        bench.set_queue(0, &[entity(0, 6 * MS), entity(0, 3 * MS), entity(3 * MS, 2 * MS)], None);
        assert_eq!(bench.picks(), 1, "{kernel}");
        bench.set_queue(0, &[entity(0, 3 * MS), entity(MS, 5 * half)], None);
        assert_eq!(bench.picks(), 0, "{kernel}");
        bench.set_queue(0, &[entity(0, 3 * MS), entity(0, 5 * half)], running(0, true));
        assert_eq!(bench.picks(), 0, "{kernel}: protected");
        bench.set_queue(0, &[entity(0, 3 * MS), entity(0, 5 * half)], running(0, false));
        assert_eq!(bench.picks(), 1, "{kernel}: not protected");
    }
}

/// Model: 02 T12
#[test]
fn equal_deadlines_go_by_vruntime_in_v6_6_and_by_arrival_later() {
    for (kernel, waiting, against_running) in [("v6.6", 1, 2), ("v6.12", 0, 0), ("v6.14", 0, 0), ("v6.18", 0, 0)] {
        let rows = [entity(MS, 5 * MS), entity(0, 5 * MS), entity(0, 5 * MS)];
        let rows = [rows[0], rows[1], rows[2], entity(4 * MS, 9 * MS)];
        let mut bench = Bench::with_rows(kernel, 4);
        bench.set_queue(0, &rows, None);
        assert_eq!(bench.picks(), waiting, "{kernel}: arrival, or virtual time before v6.8");
        bench.set_queue(0, &rows, Some(Running { row: 2, protected: false }));
        assert_eq!(bench.picks(), against_running, "{kernel}: the running one goes first only before v6.8");
    }
}

/// Model: 02 T12
#[test]
fn the_pick_equals_the_definition_for_random_queues() {
    let mut dice = RngStream::new(12, StreamKind::Vopr, 0);
    for kernel in ["v6.6", "v6.12", "v6.18"] {
        let mut bench = Bench::with_rows(kernel, 400);
        for round in 0..10_000 {
            let most = if round % 50 == 0 { 400 } else { 64 };
            let length = 1 + dice.below(most) as usize;
            // Half of the queues have few different values, so that ties are common.
            let (span, step) = if round % 2 == 0 { (8, 1) } else { (100 * MS, 1) };
            let rows: Vec<Entity> = (0..length)
                .map(|_| {
                    let vruntime = dice.below(span) * step;
                    let weight = [15, 335, 1024, 1024, 1024, 3121, 88_761][dice.below(7) as usize];
                    Entity { vruntime, deadline: vruntime + 1 + dice.below(span), weight }
                })
                .collect();
            let row = dice.below(2 * length as u64) as usize;
            let running = (row < length).then(|| Running { row, protected: dice.below(2) == 0 });
            bench.set_queue(0, &rows, running);
            assert_eq!(bench.picks(), naive_pick(kernel, &rows, running), "{kernel} {rows:?} {running:?}");
        }
    }
}

/// Every queue of up to three entities over a small grid, and of up to six over a smaller one.
///
/// Model: 02 T12
#[test]
fn the_pick_equals_the_definition_for_all_small_queues() {
    let grid = |vruntimes: u64, lengths: u64, weights: &'static [u64]| -> Vec<Entity> {
        let cells = (0..vruntimes).flat_map(|v| (1..=lengths).map(move |length| (v, v + length)));
        let of_weight = |(vruntime, deadline)| weights.iter().map(move |&weight| Entity { vruntime, deadline, weight });
        cells.flat_map(of_weight).collect()
    };
    let (fine, coarse) = (grid(3, 2, &[1024, 335]), grid(2, 2, &[1024]));
    for kernel in ["v6.6", "v6.14"] {
        let mut bench = Bench::with_rows(kernel, 6);
        for (cells, lengths) in [(&fine, 1..=3u32), (&coarse, 4..=6)] {
            for length in lengths {
                for case in 0..cells.len().pow(length) {
                    let rows: Vec<Entity> = (0..length).map(|i| cells[case / cells.len().pow(i) % cells.len()]).collect();
                    for running in [
                        None,
                        Some(Running { row: 0, protected: false }),
                        Some(Running { row: length as usize - 1, protected: true }),
                    ] {
                        bench.set_queue(0, &rows, running);
                        assert_eq!(bench.picks(), naive_pick(kernel, &rows, running), "{kernel} {rows:?} {running:?}");
                    }
                }
            }
        }
    }
}
