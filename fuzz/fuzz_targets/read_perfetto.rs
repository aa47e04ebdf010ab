#![no_main]
//! Perfetto traces.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stats = fairground_formats::perfetto::read(bytes, &mut Checker::default());
    assert!(stats.skipped == 0 || !stats.is_clean());
});
