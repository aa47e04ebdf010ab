#![no_main]
//! trace.dat of trace-cmd.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(stats) = fairground_formats::trace_dat::read(&mut Cursor::new(bytes), "trace.dat", &mut Checker::default()) {
        assert!(stats.skipped == 0 || !stats.is_clean());
    }
});
