//! The doors for all formats: told by content, packed or not, and by nothing that only looks alike.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{RecordedTrace, read_any, read_file};
use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

/// A sample of each format that has some, with the format's name.
fn samples() -> Vec<(&'static str, PathBuf)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let of = |format: &'static str, path: &str| (format, source.join(path));
    vec![
        of("ftrace", "ftrace/samples/ftrace_flags.txt"),
        of("ftrace", "ftrace/samples/perf_script.txt"),
        of("ftrace", "ftrace/samples/trace_cmd_report.txt"),
        of("recorded", "recorded/samples/trace.csv"),
        of("csv", "csv/samples/run.csv"),
        of("json", "json/samples/run.json"),
        of("trace-dat", "trace_dat/samples/linux-6.18.v6.dat"),
        of("trace-dat", "trace_dat/samples/linux-6.18.v7.dat"),
        of("perf-data", "perf_data/samples/file.data"),
        of("perf-data", "perf_data/samples/packed.data"),
        of("perf-data", "perf_data/samples/pipe.data"),
        of("perfetto", "perfetto/samples/plain.pftrace"),
        of("perfetto", "perfetto/samples/compact.pftrace"),
    ]
}
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}
/// A file without a telling name.
fn read(bytes: &[u8]) -> RecordedTrace {
    read_any(bytes, "file").unwrap()
}

#[test]
fn each_format_is_told_by_its_content_packed_or_not() {
    for (format, path) in samples() {
        let bytes = fs::read(&path).unwrap();
        let plain = read(&bytes);
        assert_eq!((plain.stats.format, plain.stats.skipped), (format, 0), "{}", path.display());
        assert!(plain.stats.events > 0, "{}", path.display());
        for packed in [gzip(&bytes), zstd(&bytes), [gzip(&bytes[..50]), gzip(&bytes[50..])].concat()] {
            assert_eq!(read(&packed), plain, "{}", path.display());
        }
        assert_eq!(read_file(Cursor::new(&bytes), "file", &[]).unwrap(), plain, "{}", path.display());
    }
}

#[test]
fn text_behind_empty_lines_is_text() {
    let text = fs::read(&samples()[0].1).unwrap();
    for empty in ["\n", "\n\n", "\r\n", "\n\n\n\n\n\n\n\n\n\n\n\n", "\n \n\t\n", "\n# a comment\n"] {
        let trace = read(&[empty.as_bytes(), &text].concat());
        assert_eq!((trace.stats.format, trace.events.len() as u64), ("ftrace", read(&text).stats.events), "{empty:?}");
    }
}

/// A Perfetto trace whose packets hold lines of trace text (as trace markers do) stays one.
#[test]
fn a_binary_trace_that_holds_text_is_binary() {
    let line = "\n  a-1  [000] d..2. 1.5: sched_wakeup: comm=a pid=5 prio=120 target_cpu=000\n";
    let mut bytes = vec![0x0a, line.len() as u8 + 2, 0x22, line.len() as u8];
    bytes.extend(line.as_bytes());
    let trace = read(&bytes.repeat(10));
    assert_eq!((trace.stats.format, trace.stats.events, trace.stats.not_used), ("perfetto", 0, 10));
}

#[test]
fn a_packed_file_that_is_cut_off_gives_what_came_before_and_says_so() {
    for (_, path) in samples() {
        let bytes = fs::read(&path).unwrap();
        for packed in [gzip(&bytes), zstd(&bytes)] {
            for length in [packed.len() / 2, packed.len() - 1] {
                if let Ok(trace) = read_any(&packed[..length], "file") {
                    assert!(!trace.stats.is_clean(), "{} {length}: {:?}", path.display(), trace.stats.notes);
                }
            }
        }
    }
}
