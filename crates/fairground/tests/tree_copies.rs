//! A copy of a run over a kernel tree. `cargo xtask nightly` builds one and switches the test on.
#![cfg(feature = "trees")]
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground::run::begin;
use fairground_model::NullSink;
use fairground_scenario::{Overrides, Scenario};
use fairground_stdx::Instant;
use std::path::Path;

/// `FAIRGROUND_TREE=NAME` names a library that `fairground kernel build` has made, in `FAIRGROUND_KERNELS`.
#[test]
fn a_copy_of_a_run_over_a_tree_goes_on_to_the_same_digest() {
    let name = std::env::var("FAIRGROUND_TREE").expect("FAIRGROUND_TREE=NAME");
    let text = format!(
        "duration = \"400ms\"\nmachine = {{ preset = \"sm8150\", hz = 250 }}\nprofile = {{ kernel = \"tree:{name}\" }}\n\
         [[workload]]\ntasks = [\n{{ name = \"frame\", do = [\"run 2ms..5ms\", \"sleep 11ms..14ms\"], count = 3 }},\n\
         {{ name = \"hog\", hog = true, count = 2 }},\n]\n"
    );
    let scenario = Scenario::parse("copy", &text, Path::new(""), &Overrides::default()).unwrap();
    let begun = || begin(scenario.setup().unwrap()).unwrap();
    let (mut straight, mut run) = (begun(), begun());
    straight.run(&mut NullSink).unwrap();
    run.run_until(Instant::from_ns(150_000_000), &mut NullSink).unwrap();
    for mut one in [run.clone(), run.clone(), run] {
        one.run(&mut NullSink).unwrap();
        assert_eq!(one.digest(), straight.digest());
    }
}
