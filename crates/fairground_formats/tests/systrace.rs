//! Pages of systrace: every way in which they hold trace text, and pages that are cut off or changed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where it fails")]

use fairground_formats::{ImportError, RecordedTrace, read_any, read_into};
use fairground_model::NullSink;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use std::io::Write;

const TEXT: &str = include_str!("../src/ftrace/samples/with_tgid.txt");

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - three.len()));
        (0..=three.len()).for_each(|place| text.push(char::from(DIGITS[(bits >> (18 - 6 * place) & 63) as usize])));
        text.push_str(&"=="[..3 - three.len()]);
    }
    text
}
fn zlib(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
fn deflate(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
/// A page around a script, longer than what a format is told by.
fn page(script: &str) -> String {
    let viewer = "<script>function view() { return 1 < 2; }</script>\n".repeat(2000);
    format!("<!DOCTYPE html>\n<html>\n<head><style>a {{}}</style>\n{viewer}</head><body>\n{script}\n</body></html>\n")
}
fn text_part(text: &str) -> String {
    format!("  <script class=\"trace-data\" type=\"application/text\">\n{text}\n  </script>")
}
/// The way in which the first systrace wrote each line.
fn string_part(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n\\\n");
    format!("<script>\nif (!linuxPerfData) load();\n  var linuxPerfData = \"\\\n{text}\";\n</script>")
}
fn events(page: &str) -> RecordedTrace {
    let mut trace = read_any(page.as_bytes(), "trace.html").unwrap();
    assert_eq!(trace.stats.format, "systrace");
    // What differs is where the text was found.
    trace.stats = read_any(TEXT.as_bytes(), "t").unwrap().stats;
    trace
}

#[test]
fn each_way_to_hold_the_text_gives_the_events_of_the_text() {
    let text = read_any(TEXT.as_bytes(), "t").unwrap();
    assert!(text.stats.events > 0);
    for script in [
        text_part(TEXT),
        string_part(TEXT),
        text_part(&base64(TEXT.as_bytes())),
        text_part(&base64(&zlib(TEXT))),
        format!("<script>var linuxPerfData = '{}';</script>", base64(&zlib(TEXT))),
        format!("<script>var linuxPerfData = \"{}\";</script>", base64(&deflate(TEXT))),
        format!("<script id=\"viewer-data\" type=\"text/plain\">\n{}\n</script>", base64(&gzip(TEXT))),
        text_part("USER PID PPID NAME\nroot 1 0 init") + &text_part(TEXT),
    ] {
        assert_eq!(events(&page(&script)), text, "{}", &script[..script.len().min(200)]);
    }
}

#[test]
fn a_page_without_a_trace_is_refused_by_name() {
    let error = read_any(page("<p>linuxPerfData</p>").as_bytes(), "index.html").unwrap_err();
    assert!(matches!(error, ImportError::Unusable { .. }) && error.to_string().contains("without a trace in it"), "{error}");
    let empty = read_any(page(&text_part("{\"traceEvents\": []}")).as_bytes(), "t.html").unwrap();
    assert_eq!((empty.stats.events, empty.stats.not_used), (0, 1));
    let broken = read_any(page(&text_part(&base64(b"no deflate at all, by any means"))).as_bytes(), "t.html").unwrap();
    assert!(broken.stats.notes.iter().any(|note| note.what.contains("cannot be unpacked")), "{:?}", broken.stats.notes);
}

#[test]
fn what_is_unpacked_is_not_held() {
    // Some 100 MB of one long line, and of short ones: neither is kept.
    for line in ["x", "# x\n"] {
        let packed = base64(&zlib(&(TEXT.to_string() + &line.repeat(100_000_000 / line.len()))));
        assert!(packed.len() < 1_000_000);
        assert!(events(&page(&text_part(&packed))).events.len() == 2);
    }
}

proptest! {
    #[test]
    fn cut_off_and_changed_pages(
        kind in 0..4usize,
        length in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
    ) {
        let script = [text_part(TEXT), string_part(TEXT), text_part(&base64(&zlib(TEXT))), text_part(&base64(&deflate(TEXT)))];
        let mut input = format!("<html>{}", script[kind]).into_bytes();
        for (at, byte) in changes {
            let at = at.index(input.len() - 6) + 6;
            input[at] = byte;
        }
        input.truncate(length.index(input.len()).max(6));
        let _ = read_into(&input[..], "trace.html", &[], &mut NullSink);
    }
}
