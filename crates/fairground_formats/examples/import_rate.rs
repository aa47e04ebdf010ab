//! How fast recorded traces are read: `cargo run --release -p fairground_formats --example import_rate -- FILE…`

use fairground_formats::read_file_into;
use fairground_model::NullSink;
use std::fs::File;
use std::time::Instant;

/// Reads of each file; the fastest counts.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let (mut records, mut best) = (0, f64::INFINITY);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let stats = read_file_into(File::open(&path)?, &path, &[], &mut NullSink)?;
            best = best.min(start.elapsed().as_secs_f64());
            records = stats.events + stats.not_used + stats.skipped;
        }
        println!("{path}: {records} events in {best:.3} s, {:.2} M events/s", records as f64 / best / 1e6);
    }
    Ok(())
}
