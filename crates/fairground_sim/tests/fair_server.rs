//! The deadline server of the fair class: when it begins, is put off, runs and stops.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use crate::common::classes::{Log, fifo, with};
use crate::common::quota::{HOG, simulation};
use crate::common::{Build, MS, cpu, profile, sleep, work};
use fairground_model::{Change, Policy, Start, TaskSet};
use fairground_stdx::Instant;

/// Where fair tasks wait beside a real-time hog. At the zero-laxity point a whole period begins: the server has had its part of it
/// after 50 ms, and runs again in the next one.
#[test]
fn a_server_that_was_put_off_begins_a_period_when_it_runs() {
    for name in ["v6.12", "v6.14", "v6.18"] {
        let mut set = TaskSet::default();
        let rt = set.task("rt", vec![work(HOG)]);
        with(&mut set, rt, fifo(50));
        let fair = set.task("fair", vec![work(HOG)]);
        let turns = Log::of(&mut simulation(set, 1, 1000, profile(name), 3_000)).turns();
        let began: Vec<u64> = turns.iter().filter(|row| row.1 == Some(fair.get())).map(|row| row.0).collect();
        assert_eq!(began, [950, 1_950, 2_950], "{name}: {turns:?}");
    }
}

/// A fair task runs 10 ms, and sleeps for 960 ms beside a real-time hog. A server that waits for its turn has it at 960 ms, 1000 ms less
/// the 40 ms that are left to it, finds nobody, and stops. Where one that has run goes on with its share the task runs as soon as it wakes.
/// Elsewhere the server is put off anew.
#[test]
fn a_server_that_had_its_turn_without_tasks_goes_on_in_stable_v6_12_and_from_v7_0_on() {
    for (name, runs_at) in [("v6.12", 970), ("v6.14", 1_920), ("v6.18", 1_920), ("v7.2", 970)] {
        let mut set = TaskSet::default();
        let fair = set.task("fair", vec![work(10 * MS), sleep(960 * MS), work(HOG)]);
        let rt = set.task("rt", vec![work(HOG)]);
        with(&mut set, rt, fifo(50));
        set.tasks[rt].start = Start::At(Instant::from_ns(10 * MS));
        let turns = Log::of(&mut simulation(set, 1, 1000, profile(name), 2_500)).turns();
        let began = turns.iter().filter(|row| row.1 == Some(fair.get())).nth(1).map(|row| row.0);
        assert_eq!(began, Some(runs_at), "{name}: {turns:?}");
    }
}

/// They work from the start if a task becomes a real-time one at some time, so that their periods do not depend on when.
#[test]
fn servers_work_from_the_start_where_a_real_time_task_is_to_come() {
    let works = |policy: Option<Policy>| {
        let mut set = TaskSet::default();
        let task = set.task("task", vec![work(HOG)]);
        if let Some(policy) = policy {
            set.at(5 * MS, Change::Policy { task, policy });
        }
        simulation(set, 1, 1000, profile("v6.12"), 10).sched().fair_server(cpu(0)).is_some()
    };
    assert_eq!([works(None), works(Some(Policy::Batch)), works(Some(fifo(1)))], [false, false, true]);
}
