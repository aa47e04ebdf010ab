//! Collections of SchedViz.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use crate::common::files::{Files, tar};
use fairground_formats::{RecordedTrace, read_any, read_repaired, read_repaired_folder};
use std::io::Cursor;
use std::path::Path;

fn sample(ending: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/schedviz/samples/linux-6.18.{ending}"))).unwrap()
}
fn notes(trace: &RecordedTrace) -> String {
    trace.stats.notes.iter().map(|note| format!("{note}\n")).collect()
}
/// The files of the collection.
fn parts() -> Vec<(String, Vec<u8>)> {
    let archive = fairground_formats::unpack(&sample("tar.gz")[..], 1 << 20).unwrap();
    let mut rest = archive.as_slice();
    let mut parts = Vec::new();
    while rest.len() > 512 && rest[0] != 0 {
        let text =
            |place: std::ops::Range<usize>| String::from_utf8_lossy(&rest[place]).trim_end_matches(['\0', ' ']).to_string();
        let size = usize::from_str_radix(&text(124..136), 8).unwrap();
        if rest[156] == b'0' {
            parts.push((text(0..100), rest[512..512 + size].to_vec()));
        }
        rest = &rest[512 + size.next_multiple_of(512)..];
    }
    parts
}

/// The kernel's own text of the same buffers, which tells times in µs.
#[test]
fn a_collection_is_what_the_kernel_prints() {
    let collection = read_any(&sample("tar.gz")[..], "trace.tar.gz").unwrap();
    let text = read_any(&sample("txt")[..], "trace.txt").unwrap();
    assert!(collection.stats.is_clean() && collection.stats.events == 26, "{}", notes(&collection));
    let rounded = |trace: &RecordedTrace| {
        let at = |ns: u64| (trace.stats.offset_ns + ns + 500) / 1000;
        trace.events.iter().map(|&(time, cpu, event)| (at(time.ns()), cpu, event)).collect::<Vec<_>>()
    };
    assert_eq!(rounded(&collection), rounded(&text));
    assert_eq!(collection.tasks, text.tasks);
}

#[test]
fn an_archive_a_folder_and_one_below_another_are_the_same() {
    let whole =
        read_repaired(Cursor::new(fairground_formats::unpack(&sample("tar.gz")[..], 1 << 20).unwrap()), "t", &[]).unwrap();
    let below: Vec<_> = parts().into_iter().map(|(name, bytes)| (format!("out/{name}"), bytes)).collect();
    for parts in [parts(), below] {
        let folder = read_repaired_folder(&mut Files::new(parts.clone()), "folder").unwrap();
        assert_eq!((&folder.events, &folder.tasks), (&whole.events, &whole.tasks));
        assert_eq!(read_repaired(Cursor::new(tar(&parts)), "t", &[]).unwrap().events, whole.events);
    }
}

#[test]
fn dirty_collections() {
    let read = |parts: &[(String, Vec<u8>)]| read_any(&tar(parts)[..], "c.tar").map_err(|error| error.to_string());
    let parts = parts();
    let without = |name: &str| parts.iter().filter(|part| part.0 != name).cloned().collect::<Vec<_>>();
    let cut: Vec<_> = parts
        .iter()
        .map(|(name, bytes)| {
            let length = if name == "traces/cpu1" { 300 } else { bytes.len() };
            (name.clone(), bytes[..length].to_vec())
        })
        .collect();
    let cut = read(&cut).unwrap();
    assert!(cut.stats.events > 10 && cut.stats.events < 26 && notes(&cut).contains("middle of a page"), "{}", notes(&cut));
    let unknown = read(&without("formats/sched/sched_switch/format")).unwrap();
    assert!(unknown.stats.skipped > 0 && notes(&unknown).contains("does not describe"), "{}", notes(&unknown));
    let lost: Vec<_> = parts
        .iter()
        .cloned()
        .map(|(name, bytes)| {
            let text = String::from_utf8_lossy(&bytes).replace("dropped events: 0", "dropped events: 12");
            if name == "stats/cpu0" { (name, text.into()) } else { (name, bytes) }
        })
        .collect();
    assert_eq!(read(&lost).unwrap().stats.lost_events, 12);
    let bpftrace = [("ebpf_trace".to_string(), b"S:1".to_vec()), ("metadata.textproto".to_string(), Vec::new())];
    assert!(read(&bpftrace).unwrap_err().contains("bpftrace"));
    let whole = tar(&parts);
    for length in (0..whole.len()).step_by(97) {
        let _ = read_any(&whole[..length], "c.tar");
    }
}
