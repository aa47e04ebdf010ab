//! Recorded traces as inputs: a file of any format that is read, or the folder of a recorded set.

use crate::error::Error;
use fairground_formats::{RecordedTrace, read_set};
use fairground_model::Digest;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The trace of a set's folder.
const TRACE: &str = "trace.csv.zst";
/// The tasks beside it.
const TASKS: &str = "tasks.csv";

/// A trace that was read.
#[derive(Clone, Debug)]
pub struct TraceFile {
    /// Its name without the path.
    pub name: String,
    /// The file itself.
    pub path: PathBuf,
    /// Digest of the bytes.
    pub digest: u128,
    /// Its content.
    pub trace: RecordedTrace,
}

impl TraceFile {
    /// Reads a trace. Dirty content is noted in its statistics; only what is no trace at all is an error.
    pub fn load(path: &Path) -> Result<TraceFile, Error> {
        let path = if path.is_dir() { path.join(TRACE) } else { path.to_path_buf() };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let beside = path.with_file_name(TASKS);
        let tasks = if name.starts_with("trace.csv") && beside.is_file() { read(&beside)? } else { Vec::new() };
        let digest = digest_of(&path)?;
        let file = File::open(&path).map_err(|cause| Error::world("read", &path, cause))?;
        let trace = read_set(file, &name, &tasks).map_err(|error| {
            Error::one(path.display().to_string(), error.to_string(), "See `fairground list formats` for what can be read.")
        })?;
        Ok(TraceFile { name, path, digest, trace })
    }
    /// Notes on what was odd, warnings first.
    pub fn notes(&self) -> Vec<String> {
        let stats = &self.trace.stats;
        let mut notes: Vec<String> = stats.warnings().map(|note| format!("Warning: {note}")).collect();
        notes.push(format!("{}: {} events read as {}, {} not used", self.name, stats.events, stats.format, stats.not_used));
        notes
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|cause| Error::world("read", path, cause))
}

/// Digest of a file of any size.
fn digest_of(path: &Path) -> Result<u128, Error> {
    use std::io::Read;
    let mut file = File::open(path).map_err(|cause| Error::world("read", path, cause))?;
    let (mut digest, mut block) = (Digest::default(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block).map_err(|cause| Error::world("read", path, cause))? {
            0 => return Ok(digest.value()),
            length => digest.bytes(&block[..length]),
        }
    }
}
