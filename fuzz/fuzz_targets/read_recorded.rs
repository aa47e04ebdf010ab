#![no_main]
//! A recorded experiment: the first half of the input is trace.csv, the second tasks.csv.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stats = fairground_formats::recorded::read(&bytes[..bytes.len() / 2], &bytes[bytes.len() / 2..], &mut Checker::default());
    assert!(stats.skipped == 0 || !stats.is_clean());
});
