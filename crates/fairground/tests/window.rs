//! The window of a scenario: when measurements count.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground::run::run_tables;
use fairground::run::{RunOptions, run};
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::Path;

const NETPERF: &str = "duration = \"300ms\"\nWINDOW[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"5.19\"\n\
                       [[workload]]\nname = \"netperf\"\nargs = { testlen = 1, warmup = \"100ms\" }\n";

fn parse(text: &str) -> Scenario {
    Scenario::parse("test.toml", text, Path::new(""), &Overrides::default()).unwrap()
}

#[test]
fn what_is_measured_counts_in_the_window_and_per_second_of_it() {
    let text = NETPERF.replace("WINDOW", "window = { from = \"100ms\", to = \"200ms\" }\n");
    let outcome = run(&parse(&text), &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let metric = |name: &str| outcome.metrics.iter().find(|metric| metric.name == name).unwrap().value;
    assert!(metric("netperf_transactions.count") > 1_000);
    assert_eq!(metric("netperf_transactions.per_second"), 10 * metric("netperf_transactions.count"));
    let tables = run_tables(&parse(&text), &outcome);
    assert_eq!(tables[0].title, "netperf, measured from 100ms to 200ms");
}
