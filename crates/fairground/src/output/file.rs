//! A file that bears the ending `.partial` until it is complete.

use fairground_model::Mistakes;
use fairground_scenario::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file being written.
#[derive(Debug)]
pub(super) struct OutputFile {
    pub(super) target: PathBuf,
    partial: PathBuf,
}

impl OutputFile {
    /// Begins `target` under its partial name.
    pub(super) fn create(target: &Path) -> Result<(OutputFile, BufWriter<File>), Error> {
        let mut name = target.as_os_str().to_os_string();
        name.push(".partial");
        let partial = PathBuf::from(name);
        let file = File::create(&partial).map_err(|cause| Error::world("write", &partial, cause))?;
        Ok((OutputFile { target: target.to_path_buf(), partial }, BufWriter::new(file)))
    }
    /// Gives a complete file its name.
    pub(super) fn complete(self) -> Result<PathBuf, Error> {
        fs::rename(&self.partial, &self.target).map_err(|cause| Error::world("write", &self.target, cause))?;
        Ok(self.target)
    }
    /// Leaves an incomplete file under its partial name.
    pub(super) fn leave_partial(self) -> PathBuf {
        self.partial
    }
}

/// Writes a result under its name, or under its partial name if it is not complete. Returns the path.
pub fn write_result(target: &Path, text: &str, complete: bool) -> Result<PathBuf, Error> {
    let (file, mut out) = OutputFile::create(target)?;
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|cause| Error::world("write", target, cause))?;
    if complete { file.complete() } else { Ok(file.leave_partial()) }
}

/// No file may be given twice.
pub(super) fn refuse_twice(paths: &[PathBuf]) -> Result<(), Error> {
    let mut wrong = Mistakes::default();
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].contains(path) {
            wrong.whole(format!("-o {} is given twice", path.display()), "Give each file once.");
        }
    }
    wrong.or(()).map_err(|wrong| Error::input("command line", "", wrong))
}

/// What stands behind the last dot of a name.
pub(super) fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or("")
}
