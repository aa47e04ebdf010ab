//! How many transactions a server of a database makes in a whole run.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground::run::{RunOptions, run};
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::Path;

/// Transactions in a second of this workload on 16 CPUs without prices.
pub(crate) fn per_second(workload: &str, args: &str) -> u64 {
    let text = format!(
        "duration = \"1s\"\n[machine]\npreset = \"smp-16\"\ncosts = \"zero\"\nwire = \"1us\"\n[profile]\nkernel = \"6.12\"\n\
         [[workload]]\nname = \"{workload}\"\nargs = {{ time = 1, {args} }}\n"
    );
    let scenario = Scenario::parse("test.toml", &text, Path::new(""), &Overrides::default()).unwrap();
    let outcome = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let name = format!("{workload}_transactions.count");
    outcome.metrics.iter().find(|metric| metric.name == name).unwrap().value
}
