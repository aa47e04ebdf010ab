//! rt-app files whose threads wait for one another, run.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground::run::{RunOptions, RunOutcome, run};
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::Path;

/// A run on two CPUs on which nothing but computing takes time.
fn outcome(rtapp: &str) -> RunOutcome {
    let text = format!(
        "duration = \"1s\"\n[machine]\npreset = \"smp-2\"\nhz = 1000\ncosts = \"zero\"\n[profile]\nkernel = \"6.12\"\n\
         [[workload]]\nrtapp_text = '''{rtapp}'''\n"
    );
    let scenario = Scenario::parse("t.toml", &text, Path::new(""), &Overrides::default()).unwrap();
    run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap()
}

fn figure(outcome: &RunOutcome, name: &str) -> u64 {
    outcome.metrics.iter().find(|metric| metric.name == name).unwrap().value
}

const MS: u64 = 1_000_000;

#[test]
fn a_mutex_keeps_threads_apart() {
    let outcome = outcome(r#"{"tasks":{"a":{"instance":2,"loop":5,"lock":"m","run":10000,"unlock":"m"}}}"#);
    assert_eq!(outcome.simulated.0, 100 * MS, "ten holds, one after the other");
    assert_eq!((figure(&outcome, "locks.m.holds"), figure(&outcome, "locks.m.max_hold_ms")), (10, 10 * MS));
}

#[test]
fn a_signal_wakes_one_waiter_and_a_broadcast_all() {
    let waiters = |wake: &str| {
        format!(
            r#"{{"tasks":{{"waiter":{{"instance":3,"loop":1,"lock":"m","wait":{{"ref":"c","mutex":"m"}},"unlock":"m","run":1000}},
                "waker":{{"loop":1,"sleep":20000,"lock":"m","{wake}":"c","unlock":"m"}}}}}}"#
        )
    };
    let runtime = |wake| {
        let outcome = outcome(&waiters(wake));
        (0..3).map(|row| figure(&outcome, &format!("tasks.waiter-{row}.runtime_ms"))).sum::<u64>()
    };
    assert_eq!((runtime("signal"), runtime("broad")), (MS, 3 * MS));
}

#[test]
fn two_threads_hand_each_other_the_turn() {
    let outcome = outcome(
        r#"{"tasks":{"a":{"loop":3,"lock":"m","run":1000,"sync":{"ref":"c","mutex":"m"},"unlock":"m"},
            "b":{"delay":500,"loop":3,"lock":"m","run":1000,"sync":{"ref":"c","mutex":"m"},"unlock":"m"},
            "end":{"loop":1,"sleep":50000,"lock":"m","broad":"c","unlock":"m"}}}"#,
    );
    // They take turns of 1 ms, six in all; the last one is released by the third thread.
    assert_eq!(figure(&outcome, "tasks.a-0.runtime_ms") + figure(&outcome, "tasks.b-1.runtime_ms"), 6 * MS);
    assert!((50 * MS..52 * MS).contains(&outcome.simulated.0), "{}", outcome.simulated);
}

#[test]
fn a_barrier_opens_when_the_last_has_come() {
    let outcome = outcome(r#"{"tasks":{"fast":{"loop":3,"run":1000,"barrier":"b"},"slow":{"loop":3,"run":5000,"barrier":"b"}}}"#);
    assert_eq!(outcome.simulated.0, 15 * MS, "three rounds of the slow one");
    assert_eq!(figure(&outcome, "period.max"), 5 * MS);
}

#[test]
fn a_suspended_thread_goes_on_when_it_is_resumed() {
    let outcome = outcome(
        r#"{"tasks":{"sleeper":{"loop":2,"suspend":"","run":1000},"alarm":{"loop":2,"sleep":10000,"resume":"sleeper"}}}"#,
    );
    assert!((21 * MS..22 * MS).contains(&outcome.simulated.0), "{}", outcome.simulated);
    assert_eq!(figure(&outcome, "tasks.sleeper-0.runtime_ms"), 2 * MS);
}

#[test]
fn forked_threads_run_when_they_are_forked() {
    let outcome = outcome(
        r#"{"tasks":{"parent":{"loop":1,"run":1000,"fork":"child","run":1000,"fork":"child"},"child":{"instance":0,"loop":1,"run":3000}}}"#,
    );
    assert_eq!(figure(&outcome, "tasks.child-1.runtime_ms") + figure(&outcome, "tasks.child-2.runtime_ms"), 6 * MS);
    assert_eq!(outcome.simulated.0, 5 * MS, "the second begins at 2 ms, on the CPU that the parent leaves");
}

#[test]
fn a_thread_that_waits_without_its_mutex_is_stopped_by_name() {
    let text = "duration = \"1s\"\n[machine]\npreset = \"smp-1\"\n[profile]\nkernel = \"6.12\"\n[[workload]]\nrtapp_text = '''\
                {\"tasks\":{\"a\":{\"loop\":1,\"run\":1,\"wait\":{\"ref\":\"c\",\"mutex\":\"m\"}}}}'''\n";
    let scenario = Scenario::parse("t.toml", text, Path::new(""), &Overrides::default()).unwrap();
    let error = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap_err();
    assert!(error.to_string().contains("task `a-0` releases a lock that it does not hold"), "{error}");
}
