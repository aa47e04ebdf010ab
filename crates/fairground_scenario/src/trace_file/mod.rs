//! Recorded traces as inputs: a file of any format that is read, the folder of a recorded set, or one that is a trace itself.

mod files;
mod gap;
mod survey;

use crate::error::Error;
use crate::inputs;
use fairground_formats::fgr;
use fairground_formats::recorded::read_quota_probes;
use fairground_formats::{
    ImportError, ImportStats, RecordedTrace, is_of_trace_folder, is_trace_folder, read_file_into, read_folder_into,
    read_repaired, read_repaired_folder, read_repaired_folder_into, read_repaired_into,
};
use fairground_model::{Digest, QuotaProbe, Sink};
use files::Files;
use std::fs::File;
use std::path::{Path, PathBuf};
pub use survey::Survey;

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
    input: Input,
}

/// What is read.
enum Input {
    File {
        file: File,
        /// What stands beside the trace of a recorded experiment.
        tasks: Vec<u8>,
    },
    /// A trace of several files.
    Folder(Files),
}

/// Whether a file is a trace by its content, or a folder the container of one.
pub fn is_trace(path: &Path) -> bool {
    if path.is_dir() {
        return read(&path.join(fgr::MANIFEST)).is_ok_and(|bytes| fgr::is_manifest(&bytes));
    }
    File::open(path).is_ok_and(|file| fairground_formats::is_trace(file, &name_of(path)))
}

/// Whether a folder holds the trace of a recorded experiment.
pub fn is_in_folder(folder: &Path) -> bool {
    folder.join(TRACE).is_file()
}

/// Opens a trace: a file, the one in a set's folder, or a folder that is a trace, by itself or by one of its files.
pub fn open(path: &Path) -> Result<Source, Error> {
    if let Some(files) = folder_of(path)? {
        let name = name_of(path);
        return Ok(Source { name, digest: files.digest()?, path: path.to_path_buf(), input: Input::Folder(files) });
    }
    let path = if path.is_dir() { trace_of_folder(path)? } else { path.to_path_buf() };
    let name = name_of(&path);
    let beside = path.with_file_name(TASKS);
    let tasks = if name.starts_with(SET_TRACE) && beside.is_file() { read(&beside)? } else { Vec::new() };
    if path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
        let message = "this is a scenario, and a recording is wanted";
        let hint = format!("`fairground run {0} -o {0}.json` runs it and writes a trace.", path.display());
        return Err(Error::one(path.display().to_string(), message, hint));
    }
    let file = inputs::open(&path)?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        let message = "this is a pipe, and a trace is read from a file: twice, and from any place in it";
        return Err(Error::one(path.display().to_string(), message, "Write what it gives into a file first."));
    }
    let mut digest = Digest::default();
    add_file(&mut digest, &path)?;
    Ok(Source { name, digest: digest.value(), path, input: Input::File { file, tasks } })
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// The files of the trace of several files that a path means: its folder, or one of its files.
fn folder_of(path: &Path) -> Result<Option<Files>, Error> {
    let folder = if path.is_dir() {
        if is_in_folder(path) {
            return Ok(None);
        }
        path.to_path_buf()
    } else if File::open(path).is_ok_and(is_of_trace_folder) {
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_path_buf()
    } else {
        return Ok(None);
    };
    let files = Files::of(&folder)?;
    Ok(is_trace_folder(fairground_formats::Folder::names(&files)).then_some(files))
}

/// The trace of a recorded experiment's folder.
fn trace_of_folder(folder: &Path) -> Result<PathBuf, Error> {
    let trace = folder.join(TRACE);
    if trace.is_file() {
        return Ok(trace);
    }
    let hint = "Give a trace, or the folder of one recorded experiment: a family of them is compared one by one. A folder that is a \
                trace itself (CTF of LTTng, SchedViz) holds `metadata`, or `formats` and `traces`.";
    Err(Error::one(folder.display().to_string(), format!("there is no {TRACE} in this folder"), hint))
}

impl Source {
    /// Hands the events to a sink, with those that follow from them: memory is bounded.
    pub fn read_into(self, sink: &mut dyn Sink) -> Result<ImportStats, Error> {
        let stats = match self.input {
            Input::File { file, tasks } => read_repaired_into(file, &self.name, &tasks, sink),
            Input::Folder(mut files) => read_repaired_folder_into(&mut files, &self.name, sink),
        };
        stats.map_err(|error| no_trace(&self.path, &error))
    }
    /// Hands the events to a sink as they were recorded.
    pub fn read_as_recorded(self, sink: &mut dyn Sink) -> Result<ImportStats, Error> {
        let stats = match self.input {
            Input::File { file, tasks } => read_file_into(file, &self.name, &tasks, sink),
            Input::Folder(mut files) => read_folder_into(&mut files, &self.name, sink),
        };
        stats.map_err(|error| no_trace(&self.path, &error))
    }
    /// The probes of quota of a recorded set; no other format has any.
    pub fn quota_probes(self) -> Vec<QuotaProbe> {
        match self.input {
            Input::File { file, .. } if self.name.starts_with(SET_TRACE) => read_quota_probes(file).0,
            _ => Vec::new(),
        }
    }
}

fn no_trace(path: &Path, error: &ImportError) -> Error {
    Error::one(path.display().to_string(), error.to_string(), "See `fairground list formats` for what can be read.")
}

impl TraceFile {
    /// Reads a trace. Dirty content is noted in its statistics; only what is no trace at all is an error.
    pub fn load(path: &Path) -> Result<TraceFile, Error> {
        let Source { name, digest, path, input } = open(path)?;
        let trace = match input {
            Input::File { file, tasks } => read_repaired(file, &name, &tasks),
            Input::Folder(mut files) => read_repaired_folder(&mut files, &name),
        };
        let trace = trace.map_err(|error| no_trace(&path, &error))?;
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
    use std::io::Read;
    let mut bytes = Vec::new();
    inputs::open(path)?.read_to_end(&mut bytes).map_err(|cause| Error::world("read", path, cause))?;
    Ok(bytes)
}

/// Takes a file of any size into a digest.
fn add_file(digest: &mut Digest, path: &Path) -> Result<(), Error> {
    use std::io::Read;
    let mut file = inputs::open(path)?;
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block).map_err(|cause| Error::world("read", path, cause))? {
            0 => return Ok(()),
            length => digest.bytes(&block[..length]),
        }
    }
}
