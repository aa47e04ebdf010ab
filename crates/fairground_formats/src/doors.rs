//! The doors: a file of any format, packed or not, becomes events.

use crate::ctf;
use crate::folder::{self, Folder};
use crate::foreign;
use crate::import::zstd::{MAGIC as ZSTD_MAGIC, ZstdReader};
use crate::import::{ImportStats, RecordedTrace, Recording, Repair};
use crate::registry::{Beside, Form, Format, ImportError, ReadSeek, Reader, form_of, reader_of_folder};
use fairground_model::Sink;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};

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

/// Bytes of a form that is sought which are held in memory where the source is a pipe or packed. A plain file of any
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
    // An archive of plain files may look like the text of a trace that is in it.
    if folder::archive(head.get_ref()) {
        return read_archive(&mut file, head.get_ref(), name, sink);
    }
    match form_of(head.get_ref(), name).map(|form| form.reader) {
        Some(Reader::Sought(read)) => read(&mut file, name, sink),
        _ => read_into(file, name, tasks_csv, sink),
    }
}

/// Reads the trace that the files of an archive make up.
fn read_archive(source: &mut dyn ReadSeek, head: &[u8], name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    match folder::open(source, head) {
        Ok(Some(mut files)) if is_trace_folder(files.names()) => read_folder_into(&mut *files, name, sink),
        Ok(_) => Err(not_read(head, name)),
        Err(error) => Err(ImportError::Unreadable { name: name.to_string(), error: error.to_string() }),
    }
}

/// Whether a folder with files of these names holds a trace of several files.
pub fn is_trace_folder(names: &[String]) -> bool {
    reader_of_folder(names).is_some()
}

/// Whether the plain bytes of a file look like one of the several of a trace: its folder is to be read.
pub fn is_of_trace_folder(source: impl Read) -> bool {
    ctf::is_part(Peeked::new(source).head())
}

/// Reads the trace that the files of a folder make up.
pub fn read_folder_into(folder: &mut dyn Folder, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    match reader_of_folder(folder.names()) {
        Some(read) => read(folder, name, sink),
        None => Err(ImportError::Unknown { name: name.to_string() }),
    }
}

/// Like [`read_folder_into`], repaired.
pub fn read_repaired_folder_into(folder: &mut dyn Folder, name: &str, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let mut repair = Repair::new(sink);
    let mut stats = read_folder_into(folder, name, &mut repair)?;
    stats.inferred = repair.finish();
    Ok(stats)
}

/// Like [`read_repaired_folder_into`], into memory.
pub fn read_repaired_folder(folder: &mut dyn Folder, name: &str) -> Result<RecordedTrace, ImportError> {
    let mut recording = Recording::default();
    let stats = read_repaired_folder_into(folder, name, &mut recording)?;
    Ok(recording.into_trace(stats))
}

/// Like [`read_file_into`]; what the records prove but no recorder wrote is put between them (see [`Repair`]).
pub fn read_repaired_into(
    file: impl Read + Seek,
    name: &str,
    tasks_csv: &[u8],
    sink: &mut dyn Sink,
) -> Result<ImportStats, ImportError> {
    let mut repair = Repair::new(sink);
    let mut stats = read_file_into(file, name, tasks_csv, &mut repair)?;
    stats.inferred = repair.finish();
    Ok(stats)
}

/// Like [`read_set`], from a source that can be sought.
pub fn read_file(file: impl Read + Seek, name: &str, tasks_csv: &[u8]) -> Result<RecordedTrace, ImportError> {
    let mut recording = Recording::default();
    let stats = read_file_into(file, name, tasks_csv, &mut recording)?;
    Ok(recording.into_trace(stats))
}

/// Like [`read_file`], repaired.
pub fn read_repaired(file: impl Read + Seek, name: &str, tasks_csv: &[u8]) -> Result<RecordedTrace, ImportError> {
    let mut recording = Recording::default();
    let stats = read_repaired_into(file, name, tasks_csv, &mut recording)?;
    Ok(recording.into_trace(stats))
}

/// Reads a format that goes to and fro from a source that does not: it is held in memory.
fn read_held(
    source: impl Read,
    name: &str,
    read: impl FnOnce(&mut dyn ReadSeek, &str, &mut dyn Sink) -> Result<ImportStats, ImportError>,
    sink: &mut dyn Sink,
) -> Result<ImportStats, ImportError> {
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

fn read_plain(source: Peeked<impl Read>, name: &str, tasks_csv: &[u8], sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    let head = source.head();
    if folder::archive(head) {
        let head = head.to_vec();
        return read_held(source, name, |held, name, sink| read_archive(held, &head, name, sink), sink);
    }
    match form_of(head, name) {
        Some(form) => read_form(form, source, Beside { name, tasks_csv }, sink),
        None => Err(not_read(head, name)),
    }
}

/// Why a file of no form is not read.
fn not_read(head: &[u8], name: &str) -> ImportError {
    let name = name.to_string();
    match foreign::seems(head, &name) {
        Some((why, hint)) => ImportError::Unusable { name, why, hint },
        None => ImportError::Unknown { name },
    }
}

fn read_form(form: &Form, source: impl Read, beside: Beside<'_>, sink: &mut dyn Sink) -> Result<ImportStats, ImportError> {
    match form.reader {
        Reader::Sought(read) => read_held(source, beside.name, read, sink),
        Reader::Streamed(read) => read(&mut BufReader::new(source), beside, sink),
        Reader::Parted(_, read) => {
            let read_parts = |held: &mut dyn ReadSeek, name: &str, sink: &mut dyn Sink| {
                let head = Peeked::new(&mut *held).head;
                match folder::open(held, head.get_ref()) {
                    Ok(Some(mut files)) => read(&mut *files, name, sink),
                    Ok(None) => Err(not_read(head.get_ref(), name)),
                    Err(error) => Err(ImportError::Unreadable { name: name.to_string(), error: error.to_string() }),
                }
            };
            read_held(source, beside.name, read_parts, sink)
        }
    }
}

/// Reads bytes as a format whatever they look like: the form that they show, or its last. None = the format has no reader of events.
pub fn read_as(format: &Format, bytes: &[u8], tasks_csv: &[u8], sink: &mut dyn Sink) -> Option<Result<ImportStats, ImportError>> {
    let forms = format.forms();
    let form = forms.iter().find(|form| (form.sniff)(bytes)).or(forms.last())?;
    Some(read_form(form, bytes, Beside { name: format.name, tasks_csv }, sink))
}

/// Whether a file looks like a trace that can be read, packed by zstd or gzip or not.
pub fn is_trace(source: impl Read, name: &str) -> bool {
    unpack(source, HEAD as u64).is_ok_and(|head| form_of(&head, name).is_some())
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
