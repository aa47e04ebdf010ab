//! cyclictest in whole runs: its table, and what interrupts and a host that steals make of it.
#![allow(clippy::unwrap_used, reason = "a test stops where it fails")]

use fairground::run::run_tables;
use fairground::run::{RunOptions, run};
use fairground_model::NullSink;
use fairground_scenario::{Control, Overrides, Scenario};
use std::path::Path;

/// The lines of the table.
fn lines(noise: &str) -> Vec<String> {
    let text = format!(
        "duration = \"400ms\"\n[machine]\npreset = \"smp-2\"\n[profile]\nkernel = \"6.1\"\n\
         [[workload]]\nname = \"cyclictest\"\n\
         args = {{ threads = 2, priority = 80, interval = 1000, distance = 0, loops = 200, histogram = 40, affinity = \"0-1\" }}\n\
         [[workload]]\nname = \"hog\"\nargs = {{ tasks = 3 }}\n{noise}"
    );
    let scenario = Scenario::parse("test", &text, Path::new("."), &Overrides::default()).unwrap();
    let outcome = run(&scenario, &RunOptions::default(), &mut NullSink, Control::none()).unwrap();
    let table = run_tables(&scenario, &outcome).into_iter().find(|table| table.to_string().contains("# Histogram")).unwrap();
    table.lines().to_vec()
}

fn max_us(lines: &[String]) -> u64 {
    lines[0].rsplit("Max:").next().unwrap().trim().parse().unwrap()
}

#[test]
fn the_table_is_that_of_the_real_program() {
    let quiet = lines("");
    assert!(quiet[0].starts_with("T: 0 ( 1000) P:80 I:1000 C:    200 Min:"), "{}", quiet[0]);
    assert!(quiet[1].starts_with("T: 1 ( 1001) P:80 I:1000 C:    200 Min:"), "{}", quiet[1]);
    assert_eq!(quiet[2], "# Histogram");
    assert_eq!(quiet.len(), 2 + 1 + 40 + 5);
    assert_eq!(quiet[43], "# Total: 000000200 000000200");
    assert_eq!(quiet[47], "# Histogram Overflows: 00000 00000");
    assert!(max_us(&quiet) < 40, "{}", quiet[0]);
}

/// Interrupts of 0.3 ms hold up who is due meanwhile; the other CPU has none.
#[test]
fn noise_is_seen_as_latency() {
    for name in ["irq-noise", "steal"] {
        let noise = format!(
            "[[workload]]\nname = \"{name}\"\nargs = {{ cpus = \"0\", every = \"7ms\", random = true, length = \"300us\" }}\n"
        );
        let noisy = lines(&noise);
        assert!((100..=400).contains(&max_us(&noisy)), "{name}: {}", noisy[0]);
        assert!(max_us(&noisy[1..]) < 40, "{name}: {}", noisy[1]);
    }
}
