#![no_main]
//! One format, told by the variable FORMAT, on any bytes. A recorded experiment takes the second half as its tasks.csv.

use fairground_formats::{Format, formats, read_as};
use fairground_fuzz::Checker;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FORMAT: LazyLock<&Format> = LazyLock::new(|| {
    let name = std::env::var("FORMAT").unwrap_or_default();
    let names: Vec<&str> = formats().iter().map(|format| format.name).collect();
    formats().iter().find(|format| format.name == name).unwrap_or_else(|| panic!("set FORMAT to one of {names:?}"))
});

fuzz_target!(|bytes: &[u8]| {
    let Some(stats) = read_as(&FORMAT, bytes, &bytes[bytes.len() / 2..], &mut Checker::default()) else {
        panic!("`{}` holds no events that could be read", FORMAT.name)
    };
    assert!(stats.is_err() || stats.is_ok_and(|stats| stats.skipped == 0 || !stats.is_clean()));
});
