//! The doors of containers: events with groups, or what lies beside them.

use super::NAME;
pub(crate) use super::container::holds;
use super::container::{self, Container, Parts, RECORDINGS};
use super::groups::Grouping;
use crate::folder::{Folder, Joined};
use crate::import::ImportStats;
use crate::registry::{Beside, ImportError, Reader, form_of};
use fairground_model::Sink;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Bytes at the beginning of the recording by which its format is found out.
const HEAD: u64 = 64 * 1024;
/// Bytes that are read at once.
const BUFFER: usize = 256 * 1024;

impl Container {
    /// Reads what lies beside the recording.
    pub fn read(folder: &mut dyn Folder, name: &str) -> Result<Container, ImportError> {
        let unusable = |(why, hint)| ImportError::Unusable { name: name.to_string(), why, hint };
        let nothing = ("has no `manifest.json`".to_string(), "make it with `fairground record`");
        let parts = Parts::of(folder).ok_or(nothing).map_err(unusable)?;
        container::read(folder, &parts).map_err(unusable)
    }
}

/// Reads the recording of a container, with the groups that the rest of it tells.
pub(crate) fn read(folder: &mut dyn Folder, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let known = Container::read(folder, name)?;
    let part = Parts::of(folder).and_then(|parts| parts.recording());
    let Some((part, file)) = part else {
        return Err(ImportError::Unusable {
            name: name.to_string(),
            why: format!("has no recording in it: none of {}", RECORDINGS.join(", ")),
            hint: "record into it: `perf record … -o X.fgr/perf.data`, or make another with `fairground record`",
        });
    };
    let unreadable = |error: std::io::Error| ImportError::Unreadable { name: format!("{name}/{file}"), error: error.to_string() };
    let mut source = BufReader::with_capacity(BUFFER, Joined::new(folder, &[part]));
    let mut head = Vec::new();
    (&mut source).take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    source.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let label = format!("{name}/{file}");
    if head.is_empty() {
        return Err(ImportError::Empty { name: label });
    }
    let mut grouping = Grouping::new(sink, &known);
    let mut stats = match form_of(&head, file).map(|form| form.reader) {
        Some(Reader::Sought(read)) => read(&mut source, &label, &mut grouping)?,
        Some(Reader::Streamed(read)) => read(&mut source, Beside { name: &label, tasks_csv: &[] }, &mut grouping)?,
        Some(Reader::Parted(..)) | None => return Err(ImportError::Unknown { name: label }),
    };
    (stats.grouped_tasks, stats.group_moves) = (grouping.told, grouping.moves);
    let release = known.beginning().and_then(|snapshot| snapshot.host.release.clone());
    stats.kernel_release = stats.kernel_release.or(release);
    for note in known.host_notes() {
        match note.strip_prefix("Warning: ") {
            Some(warning) => stats.warn(0, warning),
            None => stats.info(0, &note),
        }
    }
    stats.format = NAME;
    stats.container = Some(Arc::new(known));
    Ok(stats)
}
