//! An output of a command. A file is made beside its target under a name that nobody else has, and gets the name of the target when
//! it is complete. So a reader never sees half a file, two commands never write into one, and no link is followed.
//! A pipe, a device or stdout is written directly.

use fairground_model::Mistakes;
use fairground_scenario::Error;
use fairground_scenario::inputs::{self, FileId, is_device};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// What `-o` calls stdout; `-.txt` is stdout in the format of that ending.
const STDOUT: &str = "-";
/// Files of this system that are stdout.
const STDOUT_FILES: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
/// The format of stdout, and of a pipe or device whose name has no ending.
const PLAIN_ENDING: &str = "csv";
/// Formats that a terminal cannot show.
const BINARY: [&str; 2] = ["pftrace", "parquet"];

/// Where the bytes of an output go.
#[derive(Debug)]
pub(super) enum Stream {
    File(File),
    Stdout(Stdout),
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::File(file) => file.write(bytes),
            Stream::Stdout(out) => gone_is_fine(out.write(bytes), bytes.len()),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::File(file) => file.flush(),
            Stream::Stdout(out) => gone_is_fine(out.flush(), ()),
        }
    }
}

/// A reader of stdout that went away is no failure: `fairground … | head` is a habit.
fn gone_is_fine<T>(written: io::Result<T>, all: T) -> io::Result<T> {
    match written {
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(all),
        other => other,
    }
}

/// An output being written. One that goes away before its end is known leaves what was written as [`OutputFile::leave_partial`]
/// does, and nothing if nothing was written.
#[derive(Debug)]
pub(super) struct OutputFile {
    pub(super) target: PathBuf,
    /// The unfinished file and a handle of it; none where the target is written directly.
    unfinished: Option<(PathBuf, File)>,
}

impl OutputFile {
    /// Begins an output. What cannot be written is told here, before a command does its work.
    pub(super) fn create(target: &Path) -> Result<(OutputFile, BufWriter<Stream>), Error> {
        let wrong = |cause: io::Error| Error::world("write", target, cause);
        let direct = |stream| (OutputFile { target: target.to_path_buf(), unfinished: None }, BufWriter::new(stream));
        if is_stdout(target) {
            return Ok(direct(Stream::Stdout(io::stdout())));
        }
        let there = match fs::metadata(target) {
            Ok(found) => Some(found),
            Err(cause) if cause.kind() == ErrorKind::NotFound => None,
            Err(cause) => return Err(wrong(cause)),
        };
        if let Some(found) = &there {
            if found.is_dir() {
                return Err(wrong(ErrorKind::IsADirectory.into()));
            }
            if !found.is_file() {
                return Ok(direct(Stream::File(OpenOptions::new().write(true).open(target).map_err(wrong)?)));
            }
            if found.permissions().readonly() {
                return Err(wrong(ErrorKind::PermissionDenied.into()));
            }
        }
        let (path, file) = exclusive(target).map_err(wrong)?;
        let handle = file.try_clone().map_err(wrong)?;
        let made = OutputFile { target: target.to_path_buf(), unfinished: Some((path, handle)) };
        if let Some(found) = there {
            file.set_permissions(found.permissions()).map_err(wrong)?;
        }
        Ok((made, BufWriter::new(Stream::File(file))))
    }
    /// Gives a complete file its name. Where it replaces another one it reaches the disk before that goes.
    pub(super) fn complete(mut self) -> Result<PathBuf, Error> {
        let wrong = |cause| Error::world("write", &self.target, cause);
        if let Some((path, file)) = &self.unfinished {
            if self.target.exists() {
                file.sync_all().map_err(wrong)?;
            }
            fs::rename(path, &self.target).map_err(wrong)?;
            self.unfinished = None;
        }
        Ok(self.target.clone())
    }
    /// Leaves an incomplete file as FILE.partial, or under its present name if that would overwrite an input.
    pub(super) fn leave_partial(mut self) -> PathBuf {
        self.leave()
    }
    fn leave(&mut self) -> PathBuf {
        let Some((path, _)) = self.unfinished.take() else { return self.target.clone() };
        let marked = with_suffix(&self.target, ".partial");
        if !inputs::is_input(&marked) && fs::rename(&path, &marked).is_ok() { marked } else { path }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        let Some((path, file)) = &self.unfinished else { return };
        if file.metadata().is_ok_and(|found| found.len() > 0) {
            self.leave();
        } else {
            // What cannot be removed is an empty file whose name says that it is not complete.
            let _ = fs::remove_file(path);
        }
    }
}

fn with_suffix(target: &Path, suffix: &str) -> PathBuf {
    let mut name = target.as_os_str().to_os_string();
    name.push(suffix);
    PathBuf::from(name)
}

/// A new file beside `target`: FILE.PROCESS-NUMBER.partial. It is made exclusively, so that a link of that name is no way elsewhere.
fn exclusive(target: &Path) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = with_suffix(target, &format!(".{}-{number}.partial", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (path, file)),
        }
    }
}

/// An output that gets one text at the end of the work; none if there is nothing to say.
#[derive(Debug)]
pub struct TextOutput {
    out: BufWriter<Stream>,
    file: OutputFile,
}

impl TextOutput {
    /// Begins it, before the work.
    pub fn open(target: &Path) -> Result<TextOutput, Error> {
        check(&[target.to_path_buf()], None)?;
        let (file, out) = OutputFile::create(target)?;
        Ok(TextOutput { out, file })
    }
    /// Writes all of it and returns the path.
    pub fn write(mut self, text: &str) -> Result<PathBuf, Error> {
        let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        written.map_err(|cause| Error::world("write", &self.file.target, cause))?;
        self.file.complete()
    }
}

/// Whether an output is stdout.
pub fn is_stdout(path: &Path) -> bool {
    let Some(name) = path.to_str() else { return false };
    let is_ending = |ending: &str| !ending.contains(['/', '.']);
    name == STDOUT || STDOUT_FILES.contains(&name) || name.strip_prefix("-.").is_some_and(is_ending)
}

/// What two names of one output have in common.
#[derive(PartialEq)]
enum Place {
    Stdout,
    There(FileId),
    New(PathBuf),
}

impl Place {
    /// None for a device, which takes several outputs.
    fn of(path: &Path) -> Option<Place> {
        if is_stdout(path) {
            return Some(Place::Stdout);
        }
        if fs::metadata(path).is_ok_and(|found| is_device(&found)) {
            return None;
        }
        if let Some(id) = FileId::of(path) {
            return Some(Place::There(id));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default();
        Some(Place::New(fs::canonicalize(folder).map_or_else(|_| path.to_path_buf(), |folder| folder.join(name))))
    }
}

/// Refuses outputs that would be lost or would destroy something: one given twice, an input, the journal, bytes for a terminal.
pub(super) fn check(paths: &[PathBuf], journal: Option<&Path>) -> Result<(), Error> {
    let mut wrong = Mistakes::default();
    let mut places: Vec<Place> = Vec::new();
    let kept = journal.and_then(Place::of);
    for path in paths {
        let shown = path.display();
        let place = Place::of(path);
        if place.as_ref().is_some_and(|place| places.contains(place)) {
            wrong.whole(format!("-o {shown} is given twice"), "Give each file once.");
        } else if place.is_some() && place == kept {
            wrong.whole(format!("-o {shown} is the journal"), "Name two files.");
        } else if !is_stdout(path) && inputs::is_input(path) {
            wrong.whole(format!("-o {shown} is an input of this command"), "Name another file: the input would be lost.");
        } else if is_stdout(path) && BINARY.contains(&ending(path)) && io::stdout().is_terminal() {
            wrong.whole(format!("-o {shown}: a terminal cannot show this format"), "Write it into a file or a pipe.");
        }
        places.extend(place);
    }
    wrong.or(()).map_err(|wrong| Error::input("command line", "", wrong))
}

/// What stands behind the last dot of a name: it chooses the format.
pub(super) fn ending(path: &Path) -> &str {
    if let Some(ending) = path.to_str().filter(|_| is_stdout(path)).and_then(|name| name.strip_prefix("-.")) {
        return ending;
    }
    let is_bare = is_stdout(path) || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    match path.extension() {
        None if is_bare => PLAIN_ENDING,
        ending => ending.and_then(|ending| ending.to_str()).unwrap_or(""),
    }
}
