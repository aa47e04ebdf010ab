//! From the folder of a trace to events.

use super::current::CurrentTasks;
use super::event::{Kind, Reading};
use super::stream::{Stream, Trace};
use super::tsdl::{self, Description};
use super::{metadata, packet};
use crate::folder::{Folder, read_whole, split};
use crate::import::event_format::ByteOrder;
use crate::import::{Assembler, Feed, ImportStats, RawEvent, RawRecord};
use crate::registry::ImportError;
use fairground_model::Sink;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const HINT: &str = "give the folder that `lttng` wrote, or record with `trace-cmd record` (docs/how-to-record.md)";
/// The file that describes a trace.
const METADATA: &str = "metadata";
/// Longest description that is read: those of all system calls of a kernel have some MiB.
const METADATA_MAX: u64 = 32 << 20;
/// Streams that are read: 16 channels of 1,024 CPUs.
const STREAMS_MAX: usize = 1 << 14;
/// Characters of an unused event's name that a note shows.
const NAME_SHOWN: usize = 60;

/// Whether a folder has a trace in it.
pub(crate) fn holds(names: &[String]) -> bool {
    names.iter().any(|name| split(name).1 == METADATA)
}

/// Reads the trace in a folder. Dirty data are counted and noted; a trace without a readable description is an error.
pub(crate) fn read(folder: &mut dyn Folder, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let mut import = Assembler::new(Feed::new(super::NAME, sink));
    import.stats().count_records();
    match read_trace(folder, &mut import) {
        Ok(()) => Ok(import.finish()),
        Err(why) => Err(ImportError::Unusable { name: name.to_string(), why, hint: HINT }),
    }
}

fn read_trace(folder: &mut dyn Folder, import: &mut Assembler<'_>) -> Result<(), String> {
    let (place, text, packets_order) = description(folder, import.stats())?;
    let (trace, wrong) = tsdl::parse(&text);
    let wrong = wrong.map(|wrong| format!("line {} of `{METADATA}` {}", wrong.line, wrong.what));
    if trace.streams.is_empty() {
        return Err(wrong.map_or("describes no stream of events".to_string(), |wrong| format!("cannot be read: {wrong}")));
    }
    if let Some(wrong) = wrong {
        import.stats().warn(0, &format!("{wrong}: what follows there is not known"));
    }
    let release = trace.env.get("kernel_release").or_else(|| trace.env.get("release"));
    release.into_iter().for_each(|release| import.stats().recorded_on(release));
    let order = trace.order.or(packets_order).unwrap_or(ByteOrder::Little);
    let streams = streams(folder, &place, &trace, import.stats());
    read_events(folder, &Trace::new(&trace, order, streams.len()), streams, is_old(&trace), import);
    Ok(())
}

/// The description to read, with the folder that it lies in: the first that knows of switches, else the first.
fn description(folder: &mut dyn Folder, stats: &mut ImportStats) -> Result<(String, String, Option<ByteOrder>), String> {
    let parts: Vec<usize> = (0..folder.names().len()).filter(|&part| split(&folder.names()[part]).1 == METADATA).collect();
    let (mut found, mut why_not): (Vec<_>, _) = (Vec::new(), None);
    for part in parts {
        let text = read_whole(folder, part, METADATA_MAX).map_err(|error| format!("cannot be read: {error}"));
        match text.and_then(|bytes| metadata::text(&bytes)) {
            Ok((text, order)) => found.push((split(&folder.names()[part]).0.to_string(), text, order)),
            Err(why) => why_not = Some(why),
        }
    }
    let best = found.iter().position(|(_, text, _)| text.contains("sched_switch")).unwrap_or(0);
    if found.is_empty() {
        return Err(why_not.unwrap_or_else(|| format!("has no `{METADATA}`")));
    }
    let chosen = found.swap_remove(best);
    for (place, ..) in found {
        stats.info(0, &format!("the trace in `{place}` was left out: only one trace of a folder is read"));
    }
    Ok(chosen)
}

/// The streams of a trace: the files beside its description that begin with a packet.
fn streams<'m>(folder: &mut dyn Folder, place: &str, trace: &Description, stats: &mut ImportStats) -> Vec<Stream<'m>> {
    let beside = |name: &String| split(name).0 == place && split(name).1 != METADATA && !split(name).1.starts_with('.');
    let parts: Vec<usize> = (0..folder.names().len()).filter(|&part| beside(&folder.names()[part])).collect();
    let (mut streams, mut head) = (Vec::new(), Vec::new());
    for part in parts {
        let size = folder.size(part);
        if size == 0 {
            continue;
        }
        match folder.read_at(part, 0, 4, &mut head) {
            Ok(()) if trace.packet_header.is_some() && !packet::begins_packet(&head) => {
                stats.info(0, &format!("`{}` is no stream of the trace: it was left out", folder.names()[part]));
            }
            Ok(()) if streams.len() < STREAMS_MAX => streams.push(Stream::new(part, size)),
            Ok(()) => stats.skip(0, &format!("streams beyond {STREAMS_MAX} were left out")),
            Err(error) => stats.skip(0, &format!("a stream could not be read: {error}")),
        }
    }
    streams
}

/// Whether the kernel is older than 4.14, which changed the states that switches show.
fn is_old(trace: &Description) -> bool {
    let release = trace.env.get("kernel_release").map_or("", String::as_str);
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) < (4, 14))
}

fn read_events<'m>(
    folder: &mut dyn Folder,
    trace: &Trace<'m>,
    mut streams: Vec<Stream<'m>>,
    has_old_states: bool,
    import: &mut Assembler<'_>,
) {
    // Time and row of each stream that has an event; equal times in the order of rows.
    let mut heads = BinaryHeap::new();
    let (mut count, mut running) = (0, CurrentTasks::default());
    let mut advance =
        |row: usize, streams: &mut Vec<Stream<'m>>, heads: &mut BinaryHeap<_>, count, import: &mut Assembler<'_>| {
            if streams[row].advance(folder, trace, count + 1, import.stats()) {
                heads.extend(streams[row].event.map(|event| Reverse((event.at_ns, row))));
            }
        };
    (0..streams.len()).for_each(|row| advance(row, &mut streams, &mut heads, count, import));
    while let Some(Reverse((_, row))) = heads.pop() {
        count += 1;
        deliver(&streams[row], count, has_old_states, &mut running, import);
        advance(row, &mut streams, &mut heads, count, import);
    }
}

fn deliver(stream: &Stream<'_>, number: u64, has_old_states: bool, running: &mut CurrentTasks, import: &mut Assembler<'_>) {
    let Some(current) = stream.event else { return };
    let name = || current.class.name.chars().take(NAME_SHOWN).collect::<String>();
    let mut reading = Reading { values: &stream.values, bytes: stream.bytes(), has_old_states, number, import };
    if current.kind == Kind::NotUsed {
        return reading.import.stats().unused(number, &format!("events `{}` are not used", name()));
    }
    let Some(cpu) = current.cpu.or_else(|| reading.cpu()) else {
        return reading.import.stats().skip(number, "an event that does not tell its CPU was left out");
    };
    if let Kind::Interrupt(context, begins) = current.kind {
        running.interrupt(cpu, context, begins);
        let Some(event) = reading.handler(&current.class.name) else {
            return reading.import.stats().unused(number, "beginnings and ends of such interrupts only tell who woke a task");
        };
        return import.push(RawRecord { at_ns: current.at_ns, cpu, line: number, event, current: None });
    }
    let Some(event) = reading.event(current.kind, cpu, running) else {
        let what = format!("the fields of a `{}` could not be read: it was left out", name());
        return reading.import.stats().skip(number, &what);
    };
    if let RawEvent::Switch { next, .. } = event {
        running.switched(cpu, next);
    }
    let current_pid = reading.current_pid();
    import.push(RawRecord { at_ns: current.at_ns, cpu, line: number, event, current: current_pid });
}
