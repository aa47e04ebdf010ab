#![no_main]
//! perf.data: files with sections and what perf wrote to a pipe.

use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(stats) = fairground_formats::perf_data::read(&mut Cursor::new(bytes), "perf.data", &mut Checker::default()) {
        assert!(stats.skipped == 0 || !stats.is_clean());
    }
});
