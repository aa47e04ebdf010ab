//! /proc/schedstat of real kernels, from the recorded experiments.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::schedstat::{self, Layout};
use fairground_formats::unpack;
use std::fs::File;
use std::path::PathBuf;

fn snapshots() -> Vec<PathBuf> {
    let names = ["schedstat.before.zst", "schedstat.after.zst"];
    let mut found: Vec<PathBuf> =
        fairground_testing::experiments(|_| true).iter().flat_map(|folder| names.map(|name| folder.join(name))).collect();
    found.retain(|path| path.is_file());
    assert!(found.len() > 100, "{} snapshots", found.len());
    found
}

/// Every snapshot of kernels 5.10, 6.1, 6.12, 6.18 and 7.2 is read, and written again byte for byte.
#[test]
fn recorded_snapshots_come_back_byte_for_byte() {
    for path in snapshots() {
        let at = path.display();
        let text = String::from_utf8(unpack(File::open(&path).unwrap(), 1 << 20).unwrap()).unwrap();
        let file = schedstat::read(&text).unwrap_or_else(|wrong| panic!("{at}: {wrong}"));
        assert!(schedstat::write(&file) == text, "{at} is written otherwise than it was read");
        let expected = match at.to_string() {
            name if name.contains("/k5.10-") || name.contains("/k6.1-") => Layout::IdleFirst,
            name if name.contains("/k6.12-") => Layout::BusyFirst,
            _ => Layout::ByKind,
        };
        assert_eq!((file.layout, file.version), (expected, expected.version()), "{at}");
        assert!(file.stat.cpus.iter().all(|cpu| cpu.domains.iter().all(|domain| domain.span.contains(cpu.cpu))), "{at}");
    }
}
