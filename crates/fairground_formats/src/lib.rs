//! One folder per trace format: readers that turn recordings into events, writers that turn events
//! into files. Readers never fail on dirty input: they count it and note it ([`ImportStats`]).
//! The list of formats is [`registry::formats`]; the doors are [`read_any`] and [`writer_for`].
#![deny(clippy::float_arithmetic)]

pub mod csv;
mod ctf;
mod doors;
mod export;
pub mod fgr;
mod flat;
mod folder;
mod foreign;
pub mod ftrace;
mod import;
pub mod json;
pub mod parquet;
pub mod perf_data;
pub mod perfetto;
pub mod recorded;
pub mod registry;
pub mod schedstat;
mod schedviz;
mod systrace;
pub mod trace_dat;

pub use doors::{
    is_of_trace_folder, is_trace, is_trace_folder, read_any, read_as, read_file, read_file_into, read_folder_into, read_into,
    read_repaired, read_repaired_folder, read_repaired_folder_into, read_repaired_into, read_set, unpack,
};
pub use export::{TraceWriter, WriterOptions};
pub use folder::{Folder, read_source_at};
pub use import::{GroupOf, ImportStats, Inferred, Note, RecordedTrace, Repair, Severity};
pub use registry::{Format, FormatError, ImportError, ReadSeek, formats, writer_for, writer_with};
