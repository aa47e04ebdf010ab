//! What all writers share.

mod output;
mod sentence;
mod tasks;

pub(crate) use output::Output;
pub(crate) use sentence::sentence;
pub(crate) use tasks::{Shown, TaskTable};

use fairground_model::{MarkerSpec, Sink};
use fairground_stdx::{IndexVec, LockId, MarkerId};
use std::io;

/// A sink that writes a file. A sink cannot fail, so the first failure of the output is kept and
/// nothing more is written; [`TraceWriter::finish`] tells.
pub trait TraceWriter: Sink {
    /// Writes what is still held back and ends the file.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// What a writer is told beside the events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WriterOptions {
    /// The command that makes the file; stands in JSON documents.
    pub command: String,
    /// Name (without path) and 128-bit digest of each input; stands in JSON documents.
    pub inputs: Vec<(String, String)>,
    /// The seed of the run, if it had one; stands in JSON documents.
    pub seed: Option<u64>,
    /// Name and unit of each marker. A marker without a row is shown by its number.
    pub markers: IndexVec<MarkerId, MarkerSpec>,
    /// The name of each lock. A lock without a row is shown by its number.
    pub locks: IndexVec<LockId, String>,
}

impl WriterOptions {
    pub(crate) fn lock_name(&self, lock: LockId) -> String {
        self.locks.get(lock).cloned().unwrap_or_else(|| lock.to_string())
    }
    pub(crate) fn marker_name(&self, marker: MarkerId) -> String {
        self.markers.get(marker).map_or_else(|| format!("marker {marker}"), |spec| spec.name.clone())
    }
}
