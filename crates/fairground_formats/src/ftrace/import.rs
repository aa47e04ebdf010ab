//! From trace text to events.

use crate::ftrace::body::{self, BodyError};
use crate::ftrace::line::{EventLine, LineKind, classify};
use crate::import::{Assembler, Feed, ImportStats, RawRecord, for_each_line};
use fairground_model::Sink;
use std::io::BufRead;

/// Lines that [`sniff`] looks at.
const SNIFF_LINES: usize = 400;
/// Characters of an unknown event's name that a note shows.
const EVENT_NAME_SHOWN: usize = 60;

/// Whether `head`, the beginning of a file, looks like trace text.
pub fn sniff(head: &[u8]) -> bool {
    head.split(|&byte| byte == b'\n').take(SNIFF_LINES).any(|line| {
        let text = String::from_utf8_lossy(line);
        text.starts_with("# tracer:") || matches!(classify(&text), LineKind::Event(_))
    })
}

/// Reads trace text to its end. Lines that make no sense are counted and noted, never fatal.
pub fn read(source: impl BufRead, sink: &mut dyn Sink) -> ImportStats {
    let mut import = Assembler::new(Feed::new(super::NAME, sink));
    read_text(source, &mut import);
    import.finish()
}

/// Reads trace text that is a part of something else.
pub(crate) fn read_text(source: impl BufRead, import: &mut Assembler<'_>) {
    for_each_line(source, import, Assembler::stats, |import, number, text| one_line(text, number, import));
}

fn one_line(text: &str, number: u64, import: &mut Assembler<'_>) {
    match classify(text) {
        LineKind::Heading => {}
        LineKind::Lost(events) => import.stats().lost(number, events),
        LineKind::CallChain => import.stats().unused(number, "call chains and function traces are not used"),
        LineKind::Event(line) => event(&line, number, import),
        LineKind::Unknown => {
            import.stats().skip(number, "a line without the columns of an event (task, [CPU], time, event) was left out");
        }
    }
}

fn event(line: &EventLine<'_>, number: u64, import: &mut Assembler<'_>) {
    match body::parse(line, &mut import.names) {
        Ok(event) => {
            let current = Some(line.current_pid);
            import.push(RawRecord { at_ns: line.at_ns, cpu: line.cpu, line: number, event, current });
        }
        Err(BodyError::NotUsed) => {
            let name: String = line.event.chars().take(EVENT_NAME_SHOWN).collect();
            import.stats().unused(number, &format!("events `{name}` are not used"));
        }
        Err(BodyError::Malformed) => {
            import.stats().skip(number, &format!("the fields of a `{}` could not be read: it was left out", line.event));
        }
    }
}
