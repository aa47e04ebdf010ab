//! Recorded traces as inputs: a file of any format that is read, or the folder of a recorded set.

use crate::error::Error;
use fairground_formats::recorded::read_quota_probes;
use fairground_formats::{ImportError, ImportStats, RecordedTrace, read_file_into, read_repaired, read_repaired_into};
use fairground_model::{Digest, QuotaProbe, Sink};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The trace of a set's folder.
const TRACE: &str = "trace.csv.zst";
/// How its name begins, packed or not.
const SET_TRACE: &str = "trace.csv";
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

/// A trace about to be read.
pub struct Source {
    /// Its name without the path.
    pub name: String,
    /// Digest of the bytes.
    pub digest: u128,
    path: PathBuf,
    file: File,
    tasks: Vec<u8>,
}

/// Whether a file is a trace by its content.
pub fn is_trace(path: &Path) -> bool {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    File::open(path).is_ok_and(|file| fairground_formats::is_trace(file, &name))
}

/// Whether a folder holds the trace of a recorded experiment.
pub fn is_in_folder(folder: &Path) -> bool {
    folder.join(TRACE).is_file()
}

/// Opens a trace: a file, or the one in a set's folder.
pub fn open(path: &Path) -> Result<Source, Error> {
    let path = if path.is_dir() { trace_of_folder(path)? } else { path.to_path_buf() };
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let beside = path.with_file_name(TASKS);
    let tasks = if name.starts_with(SET_TRACE) && beside.is_file() { read(&beside)? } else { Vec::new() };
    if path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
        let message = "this is a scenario, and a recording is wanted";
        let hint = format!("`fairground run {0} -o {0}.json` runs it and writes a trace.", path.display());
        return Err(Error::one(path.display().to_string(), message, hint));
    }
    let digest = digest_of(&path)?;
    let file = File::open(&path).map_err(|cause| Error::world("read", &path, cause))?;
    Ok(Source { name, digest, path, file, tasks })
}

/// The trace of a recorded experiment's folder.
fn trace_of_folder(folder: &Path) -> Result<PathBuf, Error> {
    let trace = folder.join(TRACE);
    if trace.is_file() {
        return Ok(trace);
    }
    let hint = "Give a trace, or the folder of one recorded experiment: a family of them is compared one by one.";
    Err(Error::one(folder.display().to_string(), format!("there is no {TRACE} in this folder"), hint))
}

impl Source {
    /// Hands the events to a sink, with those that follow from them: memory is bounded.
    pub fn read_into(self, sink: &mut dyn Sink) -> Result<ImportStats, Error> {
        read_repaired_into(self.file, &self.name, &self.tasks, sink).map_err(|error| no_trace(&self.path, &error))
    }
    /// Hands the events to a sink as they were recorded.
    pub fn read_as_recorded(self, sink: &mut dyn Sink) -> Result<ImportStats, Error> {
        read_file_into(self.file, &self.name, &self.tasks, sink).map_err(|error| no_trace(&self.path, &error))
    }
    /// The probes of quota of a recorded set; no other format has any.
    pub fn quota_probes(self) -> Vec<QuotaProbe> {
        if self.name.starts_with(SET_TRACE) { read_quota_probes(self.file).0 } else { Vec::new() }
    }
}

fn no_trace(path: &Path, error: &ImportError) -> Error {
    Error::one(path.display().to_string(), error.to_string(), "See `fairground list formats` for what can be read.")
}

impl TraceFile {
    /// Reads a trace. Dirty content is noted in its statistics; only what is no trace at all is an error.
    pub fn load(path: &Path) -> Result<TraceFile, Error> {
        let Source { name, digest, path, file, tasks } = open(path)?;
        let trace = read_repaired(file, &name, &tasks).map_err(|error| no_trace(&path, &error))?;
        Ok(TraceFile { name, path, digest, trace })
    }
    /// The trace of a set's folder, if it has one.
    pub fn beside(folder: &Path) -> Result<Option<TraceFile>, Error> {
        if folder.join(TRACE).is_file() { TraceFile::load(folder).map(Some) } else { Ok(None) }
    }
    /// Notes on what was odd, warnings first.
    pub fn notes(&self) -> Vec<String> {
        let stats = &self.trace.stats;
        let mut notes = stats.headed_warnings();
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
