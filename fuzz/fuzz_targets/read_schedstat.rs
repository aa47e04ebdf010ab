#![no_main]
//! A text of /proc/schedstat: what is read can be written, and read again to the same.

use fairground_formats::schedstat::{read, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match read(text) {
        Ok(file) => assert_eq!(read(&write(&file)).as_ref(), Ok(&file)),
        Err(wrong) => {
            assert!(!wrong.0.is_empty() && wrong.0.iter().all(|one| one.span.as_ref().is_none_or(|span| span.end <= text.len())))
        }
    }
});
