//! Traces that consist of several files: a folder, or an archive of one.

mod joined;
mod tar;
mod zip;

pub(crate) use joined::Joined;
pub(crate) use tar::Tar;
pub(crate) use zip::Zip;

use crate::registry::ReadSeek;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// Files that one folder may have.
pub(crate) const PARTS_MAX: usize = 1 << 16;

/// The files of a folder, each of which can be read from anywhere.
pub trait Folder {
    /// Their paths below the folder, with `/` between names.
    fn names(&self) -> &[String];
    /// The length of a file, by its place among the names.
    fn size(&self, part: usize) -> u64;
    /// Reads `length` bytes from a place of a file; fewer at its end.
    fn read_at(&mut self, part: usize, offset: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()>;
}

/// The whole of a file, if it is not longer than that.
pub(crate) fn read_whole(folder: &mut dyn Folder, part: usize, most: u64) -> io::Result<Vec<u8>> {
    let size = folder.size(part);
    if size > most {
        return Err(io::Error::other(format!("`{}` has {size} bytes where {most} at most can be", folder.names()[part])));
    }
    let mut bytes = Vec::new();
    folder.read_at(part, 0, size as usize, &mut bytes)?;
    Ok(bytes)
}

/// The part of a path before its last name, and that name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Reads from a place of a source; fewer bytes at its end.
pub fn read_source_at(source: &mut (impl Read + Seek + ?Sized), at: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
    source.seek(SeekFrom::Start(at))?;
    into.clear();
    match source.take(length as u64).read_to_end(into) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// What an archive is told by.
pub(crate) fn archive(head: &[u8]) -> bool {
    tar::sniff(head) || zip::sniff(head)
}

/// The files of an archive. None = it is none.
pub(crate) fn open<'s>(source: &'s mut dyn ReadSeek, head: &[u8]) -> io::Result<Option<Box<dyn Folder + 's>>> {
    Ok(match () {
        () if tar::sniff(head) => Some(Box::new(Tar::new(source)?)),
        () if zip::sniff(head) => Some(Box::new(Zip::new(source)?)),
        () => None,
    })
}
