//! How fast records are compared, reading included: `cargo run --release -p fairground --example conform_rate -- TRACE-OR-SET…`

use fairground_recordings::conform::{ConformOptions, conform};
use fairground_scenario::Control;
use std::path::Path;
use std::time::Instant;

/// Comparisons of each trace; the fastest counts.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let (mut records, mut best) = (0, f64::INFINITY);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let found = conform(Path::new(&path), &ConformOptions::default(), Control::none());
            best = best.min(start.elapsed().as_secs_f64());
            records = found.map_err(|error| error.to_string())?.outcome.records;
        }
        println!("{path}: {records} events in {best:.3} s, {:.2} M events/s", records as f64 / best / 1e6);
    }
    Ok(())
}
