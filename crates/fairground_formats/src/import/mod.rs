//! What all readers share: lines of bounded length, the notes on dirty input, the window in which
//! records are put in order, the table that turns process ids into task rows, and the repair of recordings.

mod assembler;
pub(crate) mod event_format;
mod feed;
pub(crate) mod interruptions;
mod lines;
mod order;
mod own;
mod quality;
mod raw;
mod recording;
mod repair;
pub(crate) mod sched_record;
mod stats;
pub(crate) mod tasks;
pub(crate) mod zstd;

pub(crate) use assembler::Assembler;
pub(crate) use feed::Feed;
pub(crate) use lines::for_each_line;
pub(crate) use own::OwnRows;
pub(crate) use raw::{NameId, NameTable, RawEvent, RawRecord, Who};
pub(crate) use recording::Recording;
pub use recording::{GroupOf, RecordedTrace};
pub use repair::{Inferred, Repair};
pub(crate) use stats::OWN_RELEASE;
pub use stats::{ImportStats, Note, Severity};
