//! The list of formats and the doors to them.

use crate::csv::{self, CsvWriter};
use crate::export::{TraceWriter, WriterOptions};
use crate::ftrace::{self, FtraceWriter};
use crate::import::zstd::{MAGIC as ZSTD_MAGIC, ZstdReader};
use crate::import::{ImportStats, RecordedTrace, Recording};
use crate::json::{self, JsonWriter};
use crate::parquet::{self, ParquetWriter};
use crate::perfetto::PerfettoWriter;
use crate::{perf_data, perfetto, recorded, schedstat, trace_dat};
use fairground_model::Sink;
use flate2::bufread::MultiGzDecoder;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom, Write};

/// One row of the list of formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// The ending of its files, without the dot.
    pub ending: &'static str,
    /// Whether it can be read.
    pub reads: bool,
    /// Whether it can be written.
    pub writes: bool,
    /// What it is.
    pub sentence: &'static str,
}

const fn row(name: &'static str, ending: &'static str, reads: bool, writes: bool, sentence: &'static str) -> Format {
    Format { name, ending, reads, writes, sentence }
}

/// Formats that hold what came out of a whole run: they are made from its report, not here.
const HTML: &str = "html";
const HGRM: &str = "hgrm";

static FORMATS: [Format; 11] = [
    row(ftrace::NAME, "txt", true, true, "Trace text of ftrace, trace-cmd report and perf script"),
    row(trace_dat::NAME, "dat", true, false, "trace.dat of trace-cmd record, versions 6 and 7"),
    row(recorded::NAME, "csv.zst", true, false, "trace.csv.zst of a recorded experiment, with tasks.csv beside it"),
    row(perf_data::NAME, "data", true, false, "perf.data of perf sched record or perf record -e 'sched:*'"),
    row(perfetto::NAME, "pftrace", true, true, "Perfetto trace, for ui.perfetto.dev"),
    row(json::NAME, "json", true, true, "One JSON document with a record a line"),
    row(csv::NAME, "csv", true, true, "Table with a line per record"),
    row(parquet::NAME, "parquet", false, true, "Columnar table with a row per event, or per run of a sweep or comparison"),
    row(HTML, "html", false, true, "Page for a browser: tables, curves of latency, timeline of CPUs"),
    row(HGRM, "hgrm", false, true, "Percentiles of wake-up latency, for HdrHistogram's plotter"),
    row(schedstat::NAME, "schedstat", true, true, "Counters as in /proc/schedstat, versions 15 to 17: no events"),
];

/// All formats.
pub fn formats() -> &'static [Format] {
    &FORMATS
}

/// Why there is no writer for an ending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FormatError {
    /// The format is only read.
    ReadOnly {
        /// The ending.
        ending: &'static str,
    },
    /// The format holds no events but what came out of a whole simulated run.
    OfRuns {
        /// The ending.
        ending: &'static str,
    },
    /// No format has this ending.
    Unknown {
        /// The ending as it was given.
        ending: String,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::ReadOnly { ending } => write!(f, "`.{ending}` files are only read")?,
            FormatError::OfRuns { ending } => write!(f, "`.{ending}` files hold what came out of a simulated run, no events")?,
            FormatError::Unknown { ending } => write!(f, "there is no writer for files that end in `.{ending}`")?,
        }
        let writable: Vec<String> = FORMATS.iter().filter(|row| row.writes).map(|row| format!(".{}", row.ending)).collect();
        write!(f, "; there are writers for {}", writable.join(", "))
    }
}

impl std::error::Error for FormatError {}

/// The writer for files that end in `ending` (with or without the dot).
pub fn writer_for<'w>(ending: &str, out: Box<dyn Write + 'w>) -> Result<Box<dyn TraceWriter + 'w>, FormatError> {
    writer_with(ending, out, &WriterOptions::default())
}

/// Like [`writer_for`], with what is known of the run beside its events.
pub fn writer_with<'w>(
    ending: &str,
    out: Box<dyn Write + 'w>,
    options: &WriterOptions,
) -> Result<Box<dyn TraceWriter + 'w>, FormatError> {
    let ending = ending.trim_start_matches('.');
    let Some(format) = FORMATS.iter().find(|row| row.ending.eq_ignore_ascii_case(ending)) else {
        return Err(FormatError::Unknown { ending: ending.to_string() });
    };
    Ok(match format.name {
        ftrace::NAME => Box::new(FtraceWriter::new(out, options)),
        perfetto::NAME => Box::new(PerfettoWriter::new(out, options)),
        json::NAME => Box::new(JsonWriter::new(out, options)),
        csv::NAME => Box::new(CsvWriter::new(out)),
        parquet::NAME => Box::new(ParquetWriter::new(out, options)),
        schedstat::NAME | HTML | HGRM => return Err(FormatError::OfRuns { ending: format.ending }),
        _ => return Err(FormatError::ReadOnly { ending: format.ending }),
    })
}

/// Why a file could not be read at all. Dirty content is no such reason: see [`ImportStats`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportError {
    /// There is not one byte in it.
    Empty {
        /// The file's name.
        name: String,
    },
    /// Not one byte of it could be got.
    Unreadable {
        /// The file's name.
        name: String,
        /// What happened.
        error: String,
    },
    /// It is of a known kind, but something without which nothing can be read is not in it.
    Unusable {
        /// The file's name.
        name: String,
        /// What is wrong with it, as the rest of a sentence about the file.
        why: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// It is of no known kind.
    Unknown {
        /// The file's name.
        name: String,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Empty { name } => write!(f, "`{name}` is empty"),
            ImportError::Unreadable { name, error } => write!(f, "`{name}` cannot be read: {error}"),
            ImportError::Unusable { name, why, hint } => write!(f, "`{name}` {why}; {hint}"),
            ImportError::Unknown { name } => write!(
                f,
                "`{name}` is no trace of a known format: known are the text of ftrace, `trace-cmd report` and `perf script`, perf.data, \
                 recorded experiments (trace.csv.zst), Perfetto traces, trace.dat of trace-cmd, and our own JSON and CSV"
            ),
        }
    }
}

impl std::error::Error for ImportError {}

/// Bytes at the beginning of a file by which its format is found out.
const HEAD: usize = 64 * 1024;
/// The first bytes of a gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Reads a trace of any format to its end, packed by zstd or gzip or not. `name` is the file's name; it
/// stands in errors and decides where the content does not.
pub fn read_any(source: impl Read, name: &str) -> Result<RecordedTrace, ImportError> {
    read_set(source, name, &[])
}

/// Like [`read_any`]; a recorded experiment takes its names and priorities from `tasks_csv`.
pub fn read_set(source: impl Read, name: &str, tasks_csv: &[u8]) -> Result<RecordedTrace, ImportError> {
    let mut recording = Recording::default();
    let stats = read_into(source, name, tasks_csv, &mut recording)?;
    Ok(recording.into_trace(stats))
}

/// A source that can be read from any place: a plain file, or bytes in memory.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Whether the first bytes are those of a format.
type Sniff = fn(&[u8]) -> bool;

/// Reads a format whose parts lie far apart, so that reading goes to and fro. `name` is the file's name.
type ReadSought = fn(&mut dyn ReadSeek, &str, &mut dyn Sink) -> Result<ImportStats, ImportError>;

/// How the formats are told that are read by going to and fro, and their readers.
static SOUGHT: [(Sniff, ReadSought); 2] = [(perf_data::sniff, perf_data::read), (trace_dat::sniff, trace_dat::read)];

/// Bytes of such a format that are held in memory where the source is a pipe or packed. A plain file of any
/// length is read in place: see [`read_file_into`].
const HELD_MAX: u64 = 1 << 30;

/// Like [`read_into`], from a source that can be sought: no format needs to be held in memory.
pub fn read_file_into(
    mut file: impl Read + Seek,
    name: &str,
    tasks_csv: &[u8],
    sink: &mut dyn Sink,
) -> Result<ImportStats, ImportError> {
    let unreadable = |error: io::Error| ImportError::Unreadable { name: name.to_string(), error: error.to_string() };
    let Ok(start) = file.stream_position() else {
        return read_into(file, name, tasks_csv, sink); // a pipe after all
    };
    let head = Peeked::new(&mut file).head;
    file.seek(SeekFrom::Start(start)).map_err(unreadable)?;
    match sought(head.get_ref()) {
        Some(read) => read(&mut file, name, sink),
        None => read_into(file, name, tasks_csv, sink),
    }
}

/// Like [`read_set`], from a source that can be sought.
pub fn read_file(file: impl Read + Seek, name: &str, tasks_csv: &[u8]) -> Result<RecordedTrace, ImportError> {
    let mut recording = Recording::default();
    let stats = read_file_into(file, name, tasks_csv, &mut recording)?;
    Ok(recording.into_trace(stats))
}

fn sought(head: &[u8]) -> Option<ReadSought> {
    SOUGHT.iter().find(|(sniff, _)| sniff(head)).map(|&(_, read)| read)
}

/// Reads a format that goes to and fro from a source that does not: it is held in memory.
fn read_held(source: impl Read, name: &str, read: ReadSought, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let mut held = Vec::new();
    let outcome = source.take(HELD_MAX + 1).read_to_end(&mut held);
    if held.len() as u64 > HELD_MAX {
        let why = "comes from a pipe or is packed, and is longer than the 1 GiB that are held in memory".to_string();
        return Err(ImportError::Unusable { name: name.to_string(), why, hint: "put it into a plain file" });
    }
    let mut stats = read(&mut Cursor::new(held), name, sink)?;
    if let Err(error) = outcome {
        stats.warn(0, &format!("reading stopped before the end: {error}"));
    }
    Ok(stats)
}

/// Like [`read_set`], into a sink: memory is bounded. The binary formats whose parts lie far apart are held in
/// memory, up to 1 GiB; [`read_file_into`] reads them in place.
pub fn read_into(source: impl Read, name: &str, tasks_csv: &[u8], sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let packed = Peeked::new(source);
    if packed.head().is_empty() {
        return Err(packed.nothing(name));
    }
    if packed.head().starts_with(&ZSTD_MAGIC) {
        read_packed(ZstdReader::new(BufReader::new(packed)), name, ".zst", tasks_csv, sink)
    } else if packed.head().starts_with(&GZIP_MAGIC) {
        read_packed(MultiGzDecoder::new(BufReader::new(packed)), name, ".gz", tasks_csv, sink)
    } else {
        read_plain(packed, name, tasks_csv, sink)
    }
}

/// Reads what is unpacked from a file whose name has this ending.
fn read_packed(
    unpacked: impl Read,
    name: &str,
    ending: &str,
    tasks_csv: &[u8],
    sink: &mut dyn Sink,
) -> Result<ImportStats, ImportError> {
    let unpacked = Peeked::new(unpacked);
    if unpacked.head().is_empty() {
        return Err(unpacked.nothing(name));
    }
    read_plain(unpacked, name.strip_suffix(ending).unwrap_or(name), tasks_csv, sink)
}

fn read_plain(
    mut source: Peeked<impl Read>,
    name: &str,
    tasks_csv: &[u8],
    sink: &mut dyn Sink,
) -> Result<ImportStats, ImportError> {
    if perf_data::sniff_pipe(source.head()) {
        return perf_data::read_pipe(&mut source, name, sink);
    }
    if let Some(read) = sought(source.head()) {
        return read_held(source, name, read, sink);
    }
    let Some(format) = format_of(source.head(), name) else {
        return Err(ImportError::Unknown { name: name.to_string() });
    };
    let source: &mut dyn BufRead = &mut BufReader::new(source);
    Ok(match format {
        recorded::NAME => recorded::read(source, tasks_csv, sink),
        csv::NAME => csv::read(source, sink),
        json::NAME => json::read(source, sink),
        perfetto::NAME => perfetto::read(source, sink),
        _ => ftrace::read(source, sink),
    })
}

/// Whether the plain text of a file looks like a trace that can be read.
pub fn is_trace(source: impl Read, name: &str) -> bool {
    format_of(Peeked::new(source).head(), name).is_some()
}

/// All bytes of a file that may be packed by zstd or gzip, at most so many.
pub fn unpack(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let packed = Peeked::new(source);
    let mut bytes = Vec::new();
    if packed.head().starts_with(&ZSTD_MAGIC) {
        ZstdReader::new(BufReader::new(packed)).take(most).read_to_end(&mut bytes)?;
    } else if packed.head().starts_with(&GZIP_MAGIC) {
        MultiGzDecoder::new(BufReader::new(packed)).take(most).read_to_end(&mut bytes)?;
    } else {
        packed.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The format that the first bytes show; text that shows nothing is told by its name.
fn format_of(head: &[u8], name: &str) -> Option<&'static str> {
    let sniffs: [(&'static str, Sniff); 5] = [
        (perfetto::NAME, perfetto::sniff), // before text: a Perfetto trace may hold lines of it
        (recorded::NAME, recorded::sniff),
        (csv::NAME, csv::sniff),
        (json::NAME, json::sniff),
        (ftrace::NAME, ftrace::sniff),
    ];
    let named = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let found = sniffs.iter().find(|(_, sniff)| sniff(head)).map(|&(name, _)| name);
    found
        .or((head.first() == Some(&0x0a) && named(&[".pftrace", ".perfetto-trace"])).then_some(perfetto::NAME))
        .or(named(&[".txt", ".trace", ".ftrace"]).then_some(ftrace::NAME))
}

/// A source whose first bytes can be looked at before it is read.
struct Peeked<R> {
    head: Cursor<Vec<u8>>,
    failure: Option<io::Error>,
    rest: R,
}

impl<R: Read> Peeked<R> {
    fn new(mut rest: R) -> Peeked<R> {
        let mut head = Vec::new();
        let failure = (&mut rest).take(HEAD as u64).read_to_end(&mut head).err();
        Peeked { head: Cursor::new(head), failure, rest }
    }
    fn head(&self) -> &[u8] {
        self.head.get_ref()
    }
    /// Why there is no head.
    fn nothing(&self, name: &str) -> ImportError {
        let name = name.to_string();
        match &self.failure {
            Some(failure) => ImportError::Unreadable { name, error: failure.to_string() },
            None => ImportError::Empty { name },
        }
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.head.read(buf)? {
            0 => self.failure.take().map_or_else(|| self.rest.read(buf), Err),
            length => Ok(length),
        }
    }
}
