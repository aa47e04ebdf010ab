#![no_main]
//! Our own JSON.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stats = fairground_formats::json::read(bytes, &mut Checker::default());
    assert!(stats.skipped == 0 || !stats.is_clean());
});
