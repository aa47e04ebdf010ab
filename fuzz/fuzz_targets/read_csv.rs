#![no_main]
//! Our own CSV.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stats = fairground_formats::csv::read(bytes, &mut Checker::default());
    assert!(stats.skipped == 0 || !stats.is_clean());
});
