//! The list of formats: a row says all that the doors know of one.

use crate::csv::CsvWriter;
use crate::export::{TraceWriter, WriterOptions};
use crate::folder::Folder;
use crate::ftrace::FtraceWriter;
use crate::import::ImportStats;
use crate::json::JsonWriter;
use crate::parquet::ParquetWriter;
use crate::perfetto::PerfettoWriter;
use crate::{csv, ctf, fgr, ftrace, json, parquet, perf_data, perfetto, recorded, schedstat, schedviz, systrace, trace_dat};
use fairground_model::Sink;
use std::fmt;
use std::io::{BufRead, Read, Seek, Write};

/// One row of the list of formats.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// The ending of its files, without the dot.
    pub ending: &'static str,
    /// What it is.
    pub sentence: &'static str,
    /// How it is read.
    pub read: Reading,
    /// How it is written.
    pub write: Writing,
}

/// How a format is read.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// It is only written.
    No,
    /// It holds events, in one of these forms.
    Events(&'static [Form]),
    /// It holds counters and no events; `fairground schedstat` reads it.
    Counters,
}

/// How a format is written.
#[derive(Clone, Copy, Debug)]
pub enum Writing {
    /// It is only read.
    No,
    /// Event by event.
    Events(for<'w> fn(Box<dyn Write + 'w>, &WriterOptions) -> Box<dyn TraceWriter + 'w>),
    /// From what came out of a whole run, by whoever has its report.
    OfRuns,
}

/// A form of a format: how it is told, and its reader.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// Whether the first bytes are those of this form.
    pub(crate) sniff: fn(&[u8]) -> bool,
    /// Whether first bytes that show no form at all are of this one, in a file of that name.
    pub(crate) named: fn(&[u8], &str) -> bool,
    pub(crate) reader: Reader,
}

/// What is read besides the bytes of a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside<'a> {
    /// The file's name.
    pub(crate) name: &'a str,
    /// The names and priorities of a recorded experiment.
    pub(crate) tasks_csv: &'a [u8],
}

/// Reads from the first byte to the last, in bounded memory.
type Streamed = fn(&mut dyn BufRead, Beside<'_>, &mut dyn Sink) -> Result<ImportStats, ImportError>;
/// Reads a form whose parts lie far apart, so that reading goes to and fro.
pub(crate) type Sought = fn(&mut dyn ReadSeek, &str, &mut dyn Sink) -> Result<ImportStats, ImportError>;
/// Reads a form that consists of several files.
pub(crate) type Parted = fn(&mut dyn Folder, &str, &mut dyn Sink) -> Result<ImportStats, ImportError>;

/// The reader of a form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader {
    Streamed(Streamed),
    Sought(Sought),
    /// The first function says whether a folder with files of these names holds such a trace.
    Parted(fn(&[String]) -> bool, Parted),
}

/// A source that can be read from any place: a plain file, or bytes in memory.
pub trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

const fn sought(sniff: fn(&[u8]) -> bool, read: Sought) -> Form {
    Form { sniff, named: |_, _| false, reader: Reader::Sought(read) }
}

const fn streamed(sniff: fn(&[u8]) -> bool, read: Streamed) -> Form {
    Form { sniff, named: |_, _| false, reader: Reader::Streamed(read) }
}

const fn parted(holds: fn(&[String]) -> bool, read: Parted) -> Form {
    Form { sniff: |_| false, named: |_, _| false, reader: Reader::Parted(holds, read) }
}

fn ends(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// The rows in the order in which they are asked whether a file is of theirs: trace text last, as other formats may hold lines of it.
static FORMATS: [Format; 15] = [
    Format {
        name: fgr::NAME,
        ending: "fgr",
        sentence: "Folder of fairground record or snapshot, or an archive of it",
        read: Reading::Events(&[parted(fgr::holds, fgr::read)]),
        write: Writing::No,
    },
    Format {
        name: perf_data::NAME,
        ending: "data",
        sentence: "perf.data of perf sched record or perf record -e 'sched:*'",
        read: Reading::Events(&[
            streamed(perf_data::sniff_pipe, |source, beside, sink| perf_data::read_pipe(source, beside.name, sink)),
            sought(perf_data::sniff, perf_data::read),
        ]),
        write: Writing::No,
    },
    Format {
        name: trace_dat::NAME,
        ending: "dat",
        sentence: "trace.dat of trace-cmd record, versions 6 and 7",
        read: Reading::Events(&[sought(trace_dat::sniff, trace_dat::read)]),
        write: Writing::No,
    },
    Format {
        name: perfetto::NAME,
        ending: "pftrace",
        sentence: "Perfetto trace, for ui.perfetto.dev",
        read: Reading::Events(&[Form {
            sniff: perfetto::sniff,
            named: |head, name| head.first() == Some(&0x0a) && ends(name, &[".pftrace", ".perfetto-trace"]),
            reader: Reader::Streamed(|source, _, sink| Ok(perfetto::read(source, sink))),
        }]),
        write: Writing::Events(|out, options| Box::new(PerfettoWriter::new(out, options))),
    },
    Format {
        name: ctf::NAME,
        ending: "ctf",
        sentence: "Folder of a CTF trace of LTTng or perf, or an archive of it",
        read: Reading::Events(&[parted(ctf::holds, ctf::read)]),
        write: Writing::No,
    },
    Format {
        name: schedviz::NAME,
        ending: "tar.gz",
        sentence: "Collection of SchedViz: an archive of raw ring buffers, or its folder",
        read: Reading::Events(&[parted(schedviz::holds, schedviz::read)]),
        write: Writing::No,
    },
    Format {
        name: recorded::NAME,
        ending: "csv.zst",
        sentence: "trace.csv.zst of a recorded experiment, with tasks.csv beside it",
        read: Reading::Events(&[streamed(recorded::sniff, |source, beside, sink| {
            Ok(recorded::read(source, beside.tasks_csv, sink))
        })]),
        write: Writing::No,
    },
    Format {
        name: csv::NAME,
        ending: "csv",
        sentence: "Table with a line per record",
        read: Reading::Events(&[streamed(csv::sniff, |source, _, sink| Ok(csv::read(source, sink)))]),
        write: Writing::Events(|out, _| Box::new(CsvWriter::new(out))),
    },
    Format {
        name: json::NAME,
        ending: "json",
        sentence: "One JSON document with a record a line",
        read: Reading::Events(&[streamed(json::sniff, |source, _, sink| Ok(json::read(source, sink)))]),
        write: Writing::Events(|out, options| Box::new(JsonWriter::new(out, options))),
    },
    Format {
        name: systrace::NAME,
        ending: "html",
        sentence: "Page of systrace or atrace with trace text in it, packed or not",
        read: Reading::Events(&[streamed(systrace::sniff, |source, beside, sink| systrace::read(source, beside.name, sink))]),
        write: Writing::No,
    },
    Format {
        name: ftrace::NAME,
        ending: "txt",
        sentence: "Trace text of ftrace, trace-cmd report and perf script",
        read: Reading::Events(&[Form {
            sniff: ftrace::sniff,
            named: |_, name| ends(name, &[".txt", ".trace", ".ftrace"]),
            reader: Reader::Streamed(|source, _, sink| Ok(ftrace::read(source, sink))),
        }]),
        write: Writing::Events(|out, options| Box::new(FtraceWriter::new(out, options))),
    },
    Format {
        name: parquet::NAME,
        ending: "parquet",
        sentence: "Columnar table with a row per event, or per run of a sweep or comparison",
        read: Reading::No,
        write: Writing::Events(|out, options| Box::new(ParquetWriter::new(out, options))),
    },
    Format {
        name: "html",
        ending: "html",
        sentence: "Page for a browser: tables, curves of latency, timeline of CPUs",
        read: Reading::No,
        write: Writing::OfRuns,
    },
    Format {
        name: "hgrm",
        ending: "hgrm",
        sentence: "Percentiles of wake-up latency, for HdrHistogram's plotter",
        read: Reading::No,
        write: Writing::OfRuns,
    },
    Format {
        name: schedstat::NAME,
        ending: "schedstat",
        sentence: "Counters as in /proc/schedstat, versions 15 to 17: no events",
        read: Reading::Counters,
        write: Writing::OfRuns,
    },
];

impl Format {
    /// Whether it can be read.
    pub fn reads(&self) -> bool {
        !matches!(self.read, Reading::No)
    }
    /// Whether it can be written.
    pub fn writes(&self) -> bool {
        !matches!(self.write, Writing::No)
    }
    /// The forms in which its events are read.
    pub(crate) fn forms(&self) -> &'static [Form] {
        match self.read {
            Reading::Events(forms) => forms,
            Reading::No | Reading::Counters => &[],
        }
    }
}

/// All formats.
pub fn formats() -> &'static [Format] {
    &FORMATS
}

/// The form that the first bytes show; first bytes that show nothing are told by the file's name.
pub(crate) fn form_of(head: &[u8], name: &str) -> Option<&'static Form> {
    let forms = || FORMATS.iter().flat_map(Format::forms);
    forms().find(|form| (form.sniff)(head)).or_else(|| forms().find(|form| (form.named)(head, name)))
}

/// The reader of the trace that a folder with files of these names holds.
pub(crate) fn reader_of_folder(names: &[String]) -> Option<Parted> {
    FORMATS.iter().flat_map(Format::forms).find_map(|form| match form.reader {
        Reader::Parted(holds, read) if holds(names) => Some(read),
        _ => None,
    })
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
        let writable: Vec<String> = FORMATS.iter().filter(|row| row.writes()).map(|row| format!(".{}", row.ending)).collect();
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
    // A page is written as one format and read as another.
    let named = || FORMATS.iter().filter(|row| row.ending.eq_ignore_ascii_case(ending));
    let Some(format) = named().find(|row| row.writes()).or_else(|| named().next()) else {
        return Err(FormatError::Unknown { ending: ending.to_string() });
    };
    match format.write {
        Writing::Events(writer) => Ok(writer(out, options)),
        Writing::OfRuns => Err(FormatError::OfRuns { ending: format.ending }),
        Writing::No => Err(FormatError::ReadOnly { ending: format.ending }),
    }
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
            ImportError::Unknown { name } => {
                let known: Vec<&str> = FORMATS.iter().filter(|row| !row.forms().is_empty()).map(|row| row.sentence).collect();
                write!(f, "`{name}` is no trace of a known format. Known: {}", known.join("; "))
            }
        }
    }
}

impl std::error::Error for ImportError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_no_known_kind_is_told_every_kind_that_is_read() {
        let said = ImportError::Unknown { name: "core".to_string() }.to_string();
        let told = |format: &Format| said.contains(format.sentence);
        let read = |format: &Format| matches!(format.read, Reading::Events(_));
        assert!(FORMATS.iter().all(|format| told(format) == read(format)), "{said}");
        assert!(FORMATS.iter().filter(|format| read(format)).all(|format| !format.forms().is_empty()));
    }
}
