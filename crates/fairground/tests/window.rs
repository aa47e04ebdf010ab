//! The window of a scenario: when measurements count.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground::run::run_tables;
use fairground::run::{RunOptions, run};
use fairground_metrics::Better;
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::Path;

const NETPERF: &str = "duration = \"300ms\"\nWINDOW[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"5.19\"\n\
                       [[workload]]\nname = \"netperf\"\nargs = { testlen = 1, warmup = \"100ms\" }\n";

/// Two threads of rt-app: one has 6 ms of 10 left, the other needs 14 ms for each 10.
const RTAPP: &str = "{ \"tasks\": { \"early\": { \"loop\": 20, \"cpus\": [0], \"run\": 4000, \"timer\": { \"ref\": \"a\", \"period\": 10000, \"mode\": \"absolute\" } }, \"late\": { \"loop\": 20, \"cpus\": [1], \"run\": 14000, \"timer\": { \"ref\": \"b\", \"period\": 10000, \"mode\": \"absolute\" } } } }";

#[test]
fn slack_is_better_high_and_each_thread_has_its_own() {
    let folder = std::env::temp_dir().join(format!("fairground-slack-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("two.json"), RTAPP).unwrap();
    let flags = Overrides { machine: Some("smp-2".into()), duration: Some("1s".into()), ..Overrides::default() };
    let input = fairground::input::RunInput::open(&folder.join("two.json"), &flags).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let outcome = run(input.scenario(), &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let metric = |name: &str| outcome.metrics.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("{name}"));
    let early = metric("tasks.early-0.slack_us.mean");
    assert!((5_500_000..6_000_000).contains(&early.value) && early.better == Better::Higher, "{early:?}");
    assert_eq!(metric("tasks.late-1.slack_us.mean").value, 0);
    assert_eq!(metric("slack.p50").better, Better::Higher);
    // It is 4 ms later with each round.
    let overrun = metric("overrun.max");
    assert!(overrun.value > 60_000_000 && overrun.better == Better::Lower, "{overrun:?}");
}

fn parse(text: &str) -> Scenario {
    Scenario::parse("test.toml", text, Path::new(""), &Overrides::default()).unwrap()
}

#[test]
fn what_is_measured_counts_in_the_window_and_per_second_of_it() {
    let text = NETPERF.replace("WINDOW", "window = { from = \"100ms\", to = \"200ms\" }\n");
    let outcome = run(&parse(&text), &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let metric = |name: &str| outcome.metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert!(metric("netperf_transactions.count") > 1_000);
    assert_eq!(metric("netperf_transactions.per_second"), 10_000 * metric("netperf_transactions.count"));
    let tables = run_tables(&parse(&text), &outcome);
    assert_eq!(tables[0].title, "netperf, measured from 100ms to 200ms");
}
