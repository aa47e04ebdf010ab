#![no_main]
//! Any file, its format found by content.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stats = fairground_formats::read_into(bytes, "trace", &[], &mut Checker::default());
    assert!(stats.is_err() || stats.is_ok_and(|stats| stats.skipped == 0 || !stats.is_clean()));
});
