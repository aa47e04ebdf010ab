#![no_main]
//! Trace text.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stats = fairground_formats::ftrace::read(bytes, &mut Checker::default());
    assert!(stats.skipped == 0 || !stats.is_clean());
});
