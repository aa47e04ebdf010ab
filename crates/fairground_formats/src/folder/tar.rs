//! A tar archive (POSIX.1 ustar, with the long names of GNU tar and pax), read in place.

use super::{Folder, PARTS_MAX, read_source_at};
use crate::registry::ReadSeek;
use std::io::{self, SeekFrom};

/// Everything lies in blocks of this many bytes.
const BLOCK: u64 = 512;
/// Where a header says that it is one.
const MAGIC_AT: usize = 257;
const MAGIC: &[u8] = b"ustar";
/// Longest name that is looked at.
const NAME_MAX: u64 = 1 << 16;

/// Whether the first bytes are those of a tar archive.
pub(super) fn sniff(head: &[u8]) -> bool {
    head.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// The plain files of an archive.
pub(crate) struct Tar<'s> {
    source: &'s mut dyn ReadSeek,
    names: Vec<String>,
    /// Where each begins, and its length.
    places: Vec<(u64, u64)>,
}

impl<'s> Tar<'s> {
    /// Reads the list of files. A list that is cut off or broken ends there.
    pub(crate) fn new(source: &'s mut dyn ReadSeek) -> io::Result<Tar<'s>> {
        let end = source.seek(SeekFrom::End(0))?;
        let mut tar = Tar { source, names: Vec::new(), places: Vec::new() };
        let (mut at, mut block, mut long_name) = (0, Vec::new(), None);
        while tar.names.len() < PARTS_MAX {
            read_source_at(tar.source, at, BLOCK as usize, &mut block)?;
            if block.len() < BLOCK as usize || !sniff(&block) {
                break;
            }
            let Some(size) = number(&block[124..136]) else { break };
            let data = at + BLOCK;
            match block[156] {
                b'0' | 0 => {
                    tar.names.push(long_name.take().unwrap_or_else(|| name(&block)).trim_start_matches("./").to_string());
                    tar.places.push((data, size.min(end.saturating_sub(data))));
                }
                // The next file's name: of GNU tar as it is, of pax as a line `length path=name`.
                kind @ (b'L' | b'x') => {
                    let mut text = Vec::new();
                    read_source_at(tar.source, data, size.min(NAME_MAX) as usize, &mut text)?;
                    let text = String::from_utf8_lossy(&text);
                    let path = || text.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("path="));
                    let found = if kind == b'L' { Some(text.trim_end_matches('\0')) } else { path() };
                    long_name = found.map(str::to_string).or(long_name);
                }
                _ => long_name = None,
            }
            let Some(next) = size.checked_next_multiple_of(BLOCK).and_then(|size| data.checked_add(size)) else { break };
            at = next;
        }
        Ok(tar)
    }
}

impl Folder for Tar<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }
    fn size(&self, part: usize) -> u64 {
        self.places[part].1
    }
    fn read_at(&mut self, part: usize, offset: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let (start, size) = self.places[part];
        let length = size.saturating_sub(offset).min(length as u64) as usize;
        read_source_at(self.source, start + offset.min(size), length, into)
    }
}

/// A number in octal digits, or where it is too large for them, in the bytes behind one of 0x80.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        let (upper, lower) = field.split_at(field.len() - 8);
        return upper[1..].iter().all(|&byte| byte == 0).then(|| lower.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)));
    }
    let digits = field.iter().skip_while(|&&byte| byte == b' ').take_while(|&&byte| byte != 0 && byte != b' ');
    digits.copied().try_fold(0, |sum: u64, digit| matches!(digit, b'0'..=b'7').then(|| sum * 8 + u64::from(digit - b'0')))
}

/// Prefix and name of a header.
fn name(block: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or(bytes)).into_owned();
    // The old form of GNU tar has other fields where the prefix stands.
    let prefix = if block[MAGIC_AT + 5] == 0 { text(&block[345..500]) } else { String::new() };
    match prefix.as_str() {
        "" => text(&block[..100]),
        prefix => format!("{prefix}/{}", text(&block[..100])),
    }
}
