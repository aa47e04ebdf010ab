//! A container being made: a folder beside its target, under a name that nobody else has, which gets the name of the target when it is
//! complete.

use fairground_scenario::{Error, inputs};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A folder that is not complete. One that goes away before that leaves its recording, if there is one, and nothing else.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
    target: PathBuf,
    is_complete: bool,
}

impl Unfinished {
    /// Begins a container. One that is there already is not replaced: a folder may hold more than what this command wrote.
    pub(super) fn create(target: &Path) -> Result<Unfinished, Error> {
        if target.symlink_metadata().is_ok() || inputs::is_input(target) {
            let message = "this is there already, and a container does not replace it";
            return Err(Error::one(format!("-o {}", target.display()), message, "Name another one, or remove it first."));
        }
        for number in 0_u32.. {
            let mut name = target.as_os_str().to_os_string();
            name.push(format!(".{}-{number}.partial", std::process::id()));
            let path = PathBuf::from(name);
            match fs::create_dir(&path) {
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(Error::world("write", target, cause)),
                Ok(()) => return Ok(Unfinished { path, target: target.to_path_buf(), is_complete: false }),
            }
        }
        Err(Error::world("write", target, ErrorKind::AlreadyExists.into()))
    }
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
    /// Writes something into it.
    pub(super) fn write(&self, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), Error> {
        write(&self.path).map_err(|cause| Error::world("write", &self.target, cause))
    }
    /// Removes it with its recording: what should have been masked is kept nowhere.
    pub(super) fn discard(mut self) {
        // What cannot be removed bears a name that says that it is not complete.
        let _ = fs::remove_dir_all(&self.path);
        self.is_complete = true;
    }
    /// Gives it its name, if nobody took that meanwhile.
    pub(super) fn complete(mut self) -> Result<PathBuf, Error> {
        fs::rename(&self.path, &self.target).map_err(|cause| Error::world("write", &self.target, cause))?;
        self.is_complete = true;
        Ok(self.target.clone())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let has_recording = || {
            let recordings = fairground_formats::fgr::RECORDINGS.iter();
            recordings.map(|name| self.path.join(name)).any(|file| fs::metadata(file).is_ok_and(|found| found.len() > 0))
        };
        if !self.is_complete && !has_recording() {
            // What cannot be removed bears a name that says that it is not complete.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
