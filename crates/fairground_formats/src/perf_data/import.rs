//! The doors: a file that can be sought, or what perf wrote to a pipe.

use crate::import::ImportStats;
use crate::import::event_format::ByteOrder;
use crate::perf_data::bytes::Bytes;
use crate::perf_data::header::{self, Feature, FileHeader, Header};
use crate::perf_data::record_kinds::{AUXTRACE, HEADER_TRACING_DATA};
use crate::perf_data::session::{PerfRecord, RECORD_HEAD, Session, record_head};
use crate::registry::{ImportError, ReadSeek};
use fairground_model::Sink;
use std::io::{self, BufReader, Read, SeekFrom};

const HINT: &str = "record with `perf sched record`, or with `perf record -a -e 'sched:*'`";
/// Longest tracing data that is read from a pipe.
const TRACING_DATA_MAX: u32 = 64 * 1024 * 1024;
/// Bytes that are read at once.
const BUFFER: usize = 256 * 1024;

/// Whether `head`, the beginning of a file, is that of a perf.data of either byte order.
pub fn sniff(head: &[u8]) -> bool {
    header::order_of(head).is_some()
}

/// Whether `head` is that of a perf.data that perf wrote to a pipe: it can be read from front to back.
pub(crate) fn sniff_pipe(head: &[u8]) -> bool {
    header::is_pipe(head)
}

/// Reads a perf.data of either kind. Records that make no sense are counted and noted, never fatal.
pub fn read(file: &mut dyn ReadSeek, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    match Header::read(file).map_err(|error| unreadable(name, &error))? {
        None => Err(unusable(name, "is cut off in its header".to_string())),
        Some(Header::Pipe(order)) => {
            read_records(Session::new(order, sink), order, file, u64::MAX).map_err(|why| unusable(name, why))
        }
        Some(Header::File(header)) => read_sections(&header, file, name, sink),
    }
}

/// Reads what perf wrote to a pipe.
pub(crate) fn read_pipe(source: &mut dyn Read, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    match Header::read(source).map_err(|error| unreadable(name, &error))? {
        Some(Header::Pipe(order)) => {
            read_records(Session::new(order, sink), order, source, u64::MAX).map_err(|why| unusable(name, why))
        }
        _ => Err(unusable(name, "is cut off in its header".to_string())),
    }
}

fn unreadable(name: &str, error: &io::Error) -> ImportError {
    ImportError::Unreadable { name: name.to_string(), error: error.to_string() }
}

fn unusable(name: &str, why: String) -> ImportError {
    ImportError::Unusable { name: name.to_string(), why, hint: HINT }
}

fn read_sections(
    header: &FileHeader,
    file: &mut dyn ReadSeek,
    name: &str,
    sink: &mut dyn Sink,
) -> Result<ImportStats, ImportError> {
    let mut session = Session::new(header.order, sink);
    let failed = |error: io::Error| unreadable(name, &error);
    header.attrs(file).map_err(failed)?.iter().for_each(|attr| session.add_attr(attr));
    if let Some(data) = header.part(Feature::TracingData, file).map_err(failed)? {
        session.add_tracing_data(&data);
    }
    if let Some(release) = header.part(Feature::OsRelease, file).map_err(failed)? {
        session.add_release(&release);
    }
    if header.has(Feature::DirFormat) {
        session.stats().warn(0, "this is one of several files (`perf record --threads`): the others are not read");
    }
    file.seek(SeekFrom::Start(header.data.offset)).map_err(failed)?;
    read_records(session, header.order, file, header.data.size).map_err(|why| unusable(name, why))
}

/// Reads records to the end, or up to `length` bytes, which a pipe does not tell: there it is `u64::MAX`.
fn read_records(
    mut session: Session<'_>,
    order: ByteOrder,
    source: &mut (impl Read + ?Sized),
    length: u64,
) -> Result<ImportStats, String> {
    let mut source = BufReader::with_capacity(BUFFER, source.take(length));
    let mut body = Vec::new();
    loop {
        match next_record(&mut session, order, &mut source, &mut body) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                let number = session.number();
                session.stats().warn(number, &format!("reading stopped before the end: {error}"));
                break;
            }
        }
    }
    let left = source.get_ref().limit();
    if length < u64::MAX && left > 0 {
        session.stats().warn(0, "the file is shorter than its header says");
    }
    session.finish()
}

/// Reads one record; says whether more may follow.
fn next_record(session: &mut Session<'_>, order: ByteOrder, source: &mut impl Read, body: &mut Vec<u8>) -> io::Result<bool> {
    if !fill(source, body, RECORD_HEAD)? {
        return if body.is_empty() { Ok(false) } else { Err(cut_off()) };
    }
    let (kind, misc, length) = record_head(body, order);
    let length = length.ok_or_else(|| io::Error::other("a record's length is impossible"))?;
    if !fill(source, body, length)? {
        return Err(cut_off());
    }
    session.record(PerfRecord { kind, misc, body });
    match kind {
        HEADER_TRACING_DATA => {
            let size = Bytes::new(body, order).u32().ok_or_else(cut_off)?;
            if !fill(source, body, size.min(TRACING_DATA_MAX) as usize)? {
                return Err(cut_off());
            }
            session.add_tracing_data(body);
        }
        AUXTRACE => {
            let size = Bytes::new(body, order).u64().ok_or_else(cut_off)?;
            io::copy(&mut source.take(size), &mut io::sink())?;
        }
        _ => {}
    }
    Ok(true)
}

fn cut_off() -> io::Error {
    io::Error::other("a record is cut off")
}

/// Reads `length` bytes; says whether there were as many.
fn fill(source: &mut impl Read, body: &mut Vec<u8>, length: usize) -> io::Result<bool> {
    body.clear();
    source.take(length as u64).read_to_end(body)?;
    Ok(body.len() == length)
}
