//! Some files of a folder as one source, one behind the other.

use super::Folder;
use std::io::{self, Read, Seek, SeekFrom};

/// The files, read as if they were one.
pub(crate) struct Joined<'f> {
    folder: &'f mut dyn Folder,
    /// The place of each in the folder, and where it begins and ends.
    files: Vec<(usize, u64, u64)>,
    at: u64,
}

impl<'f> Joined<'f> {
    /// Joins files, by their places in the folder.
    pub(crate) fn new(folder: &'f mut dyn Folder, parts: &[usize]) -> Joined<'f> {
        let mut end = 0_u64;
        let files = parts.iter().map(|&part| {
            let start = end;
            end = start.saturating_add(folder.size(part));
            (part, start, end)
        });
        Joined { files: files.collect(), folder, at: 0 }
    }
    /// Where each file begins and how long it is.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        self.files.iter().map(|&(_, start, end)| (start, end - start))
    }
}

impl Read for Joined<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(&(part, start, end)) = self.files.iter().find(|&&(_, start, end)| (start..end).contains(&self.at)) else {
            return Ok(0);
        };
        let mut bytes = Vec::new();
        let length = (end - self.at).min(out.len() as u64) as usize;
        self.folder.read_at(part, self.at - start, length, &mut bytes)?;
        // A file that is shorter than it was said to be ends in zeros, so that the next one keeps its place.
        bytes.resize(length, 0);
        out[..length].copy_from_slice(&bytes);
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for Joined<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.files.last().map_or(0, |file| file.2);
        let from =
            |base: u64, by: i64| base.checked_add_signed(by).ok_or_else(|| io::Error::other("a place before the beginning"));
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(by) => from(end, by)?,
            SeekFrom::Current(by) => from(self.at, by)?,
        };
        Ok(self.at)
    }
}
