//! Types of the records that perf itself writes (PERF_RECORD_… of tools/lib/perf/include/perf/event.h): those that are read.
//! The types of the kernel's records are the library's.

use linux_perf_event_reader::RecordType;

/// The attributes of one event, followed by its ids.
pub(super) const HEADER_ATTR: RecordType = RecordType(64);
/// The length of the tracing data, which follows the record.
pub(super) const HEADER_TRACING_DATA: RecordType = RecordType(66);
/// All records before it are older than those behind the next one.
pub(super) const FINISHED_ROUND: RecordType = RecordType(68);
/// The length of hardware trace data, which follows the record.
pub(super) const AUXTRACE: RecordType = RecordType(71);
/// A part of the header of a file, in what was written to a pipe.
pub(super) const HEADER_FEATURE: RecordType = RecordType(80);
/// Records packed by zstd; the second form tells their length and is filled up to eight bytes.
pub(super) const COMPRESSED: RecordType = RecordType(81);
pub(super) const COMPRESSED2: RecordType = RecordType(83);
