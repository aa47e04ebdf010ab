//! The files of a folder that is a trace.

use super::{Digest, add_file};
use crate::error::Error;
use fairground_formats::{Folder, read_source_at};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Folders in folders that are looked at: `session/kernel/channel0_0`, `traces/cpu0`, `formats/sched/sched_switch/format`.
const DEPTH_MAX: u32 = 5;
/// Files that are looked at.
const FILES_MAX: usize = 1 << 16;
/// Files that are open at once.
const OPEN_MAX: usize = 256;

/// All files below a folder, in the order of their names.
pub(super) struct Files {
    folder: PathBuf,
    names: Vec<String>,
    sizes: Vec<u64>,
    open: Vec<Option<File>>,
    nr_open: usize,
}

impl Files {
    /// Lists a folder.
    pub(super) fn of(folder: &Path) -> Result<Files, Error> {
        let mut found = Vec::new();
        list(folder, "", DEPTH_MAX, &mut found).map_err(|cause| Error::world("read", folder, cause))?;
        found.sort();
        let open = found.iter().map(|_| None).collect();
        let (names, sizes) = found.into_iter().unzip();
        Ok(Files { folder: folder.to_path_buf(), names, sizes, open, nr_open: 0 })
    }
    /// Of all names and contents.
    pub(super) fn digest(&self) -> Result<u128, Error> {
        let mut digest = Digest::default();
        for name in &self.names {
            digest.bytes(name.as_bytes());
            add_file(&mut digest, &self.folder.join(name))?;
        }
        Ok(digest.value())
    }
    fn file(&mut self, part: usize) -> io::Result<&mut File> {
        if self.open[part].is_none() {
            if self.nr_open == OPEN_MAX {
                self.open.iter_mut().for_each(|file| *file = None);
                self.nr_open = 0;
            }
            self.nr_open += 1;
            self.open[part] = Some(File::open(self.folder.join(&self.names[part]))?);
        }
        self.open[part].as_mut().ok_or_else(|| io::Error::other("it is not open"))
    }
}

/// Adds the plain files of a folder and of those in it.
fn list(folder: &Path, before: &str, depth: u32, found: &mut Vec<(String, u64)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, entry.file_name().to_string_lossy().into_owned());
        if kind.is_dir() && depth > 1 {
            list(&entry.path(), &format!("{before}{name}/"), depth - 1, found)?;
        } else if kind.is_file() && found.len() < FILES_MAX {
            found.push((format!("{before}{name}"), entry.metadata()?.len()));
        }
    }
    Ok(())
}

impl Folder for Files {
    fn names(&self) -> &[String] {
        &self.names
    }
    fn size(&self, part: usize) -> u64 {
        self.sizes[part]
    }
    fn read_at(&mut self, part: usize, offset: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        read_source_at(self.file(part)?, offset, length, into)
    }
}
