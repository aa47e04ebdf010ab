//! The files of a kernel below a root: `/`, or a folder with the same files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longest file of the kernel that is read.
const TEXT_MAX: u64 = 8 << 20;

/// Where the files of the kernel are.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Root {
        Root(PathBuf::from("/"))
    }
}

impl Root {
    /// The files below a folder that holds `proc`, `sys` and so on.
    pub fn at(folder: impl Into<PathBuf>) -> Root {
        Root(folder.into())
    }
    /// The path of a file, given from the root.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }
    /// The text of a file.
    pub(super) fn text(&self, path: &str) -> io::Result<String> {
        text_of(&self.path(path))
    }
    /// Its first line, if there is anything in it.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        first_line(&self.text(path).ok()?)
    }
    /// The names in a folder, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        names_of(&self.path(path))
    }
}

/// The text of a file; bytes that are no UTF-8 are replaced.
pub(super) fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(TEXT_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line of a text without blanks around it; none if it is empty.
pub(super) fn first_line(text: &str) -> Option<String> {
    text.lines().next().map(|line| line.trim().to_string()).filter(|line| !line.is_empty())
}

/// The names in a folder, sorted; none if it is not readable.
pub(super) fn names_of(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
