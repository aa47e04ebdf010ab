//! A task that looks at its own CPU time brings its account up to date.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::{Build, Log, MS, US, one_cpu, work};
use fairground_model::{Instr, TaskSet, TraceEvent};
use fairground_stdx::{Ns, TaskId};

/// When the task first gets the CPU, then when it first gives it up or looks at its clock: switches away and
/// accounts, as distances from its first switch.
fn first_turn(kernel: &str) -> (Vec<u64>, u64) {
    let mut set = TaskSet::default();
    let looks = set.task("looks", vec![work(3_500 * US), Instr::ThreadClock, work(100 * MS)]);
    set.task("hog", vec![work(u64::MAX)]);
    let log = Log::of(one_cpu(250, kernel, set, Ns(40 * MS)));
    let times = |wanted: fn(&TraceEvent, TaskId) -> bool| {
        log.events.iter().filter(move |row| wanted(&row.2, looks)).map(|row| row.0).collect::<Vec<_>>()
    };
    let from = times(|event, task| matches!(event, TraceEvent::SchedSwitch { next, .. } if *next == Some(task)))[0];
    let until = times(|event, task| matches!(event, TraceEvent::SchedSwitch { prev, .. } if *prev == Some(task)))[0];
    let accounts = times(|event, task| matches!(event, TraceEvent::SchedStatRuntime { task: of, .. } if *of == task));
    (accounts.into_iter().map(|at| at - from).collect(), until - from)
}

#[test]
fn a_look_at_the_thread_clock_is_an_account() {
    for kernel in ["v4.12", "v5.10", "v6.1"] {
        let (accounts, stay) = first_turn(kernel);
        assert!(accounts.contains(&(3_500 * US)), "{kernel}: {accounts:?}");
        // The turn ends at a tick all the same.
        assert_eq!(stay % (4 * MS), 0, "{kernel}");
    }
}

#[test]
fn from_v6_6_a_served_request_is_noticed_there_and_not_at_the_tick() {
    for kernel in ["v6.6", "v6.12", "v6.18"] {
        let (accounts, stay) = first_turn(kernel);
        assert!(accounts.contains(&(3_500 * US)), "{kernel}: {accounts:?}");
        assert_eq!(stay, 3_500 * US, "{kernel}");
    }
}
