//! A zip archive (PKWARE APPNOTE): its files are unpacked one by one, and held in memory.

use super::{Folder, PARTS_MAX, read_source_at};
use crate::import::event_format::ByteOrder;
use crate::registry::ReadSeek;
use flate2::bufread::DeflateDecoder;
use std::io::{self, Read, SeekFrom};

/// The first bytes of a file's own header, of a row of the list, and of its end.
const LOCAL: &[u8] = b"PK\x03\x04";
const ROW: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
/// Length of the end, and of the longest comment behind it.
const END_LENGTH: u64 = 22;
const COMMENT_MAX: u64 = u16::MAX as u64;
const ROW_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
/// Longest list that is read.
const LIST_MAX: u64 = 16 << 20;
/// Bytes of unpacked files that are held.
const HELD_MAX: u64 = 1 << 30;

/// Whether the first bytes are those of a zip archive.
pub(super) fn sniff(head: &[u8]) -> bool {
    head.starts_with(LOCAL)
}

/// A file of the archive.
#[derive(Clone, Copy)]
struct Member {
    local: u64,
    packed: u64,
    size: u64,
    method: u64,
}

/// The files of an archive.
pub(crate) struct Zip<'s> {
    source: &'s mut dyn ReadSeek,
    names: Vec<String>,
    members: Vec<Member>,
    unpacked: Vec<Option<Vec<u8>>>,
    held: u64,
}

impl<'s> Zip<'s> {
    /// Reads the list of files, which stands at the end.
    pub(crate) fn new(source: &'s mut dyn ReadSeek) -> io::Result<Zip<'s>> {
        let length = source.seek(SeekFrom::End(0))?;
        let tail_at = length.saturating_sub(END_LENGTH + COMMENT_MAX);
        let mut tail = Vec::new();
        read_source_at(source, tail_at, (length - tail_at) as usize, &mut tail)?;
        let end = tail.windows(END.len()).rposition(|window| window == END);
        let number =
            |bytes: &[u8], at: usize, length: usize| bytes.get(at..at + length).map(|field| ByteOrder::Little.unsigned(field));
        let list = end.and_then(|at| Some((number(&tail, at + 16, 4)?, number(&tail, at + 12, 4)?)));
        let Some((list_at, list_length)) = list else { return Err(io::Error::other("the list at its end is cut off")) };
        let mut list = Vec::new();
        read_source_at(source, list_at, list_length.min(LIST_MAX) as usize, &mut list)?;
        let mut zip = Zip { source, names: Vec::new(), members: Vec::new(), unpacked: Vec::new(), held: 0 };
        let mut rest = list.as_slice();
        while rest.starts_with(ROW) && rest.len() >= ROW_LENGTH && zip.names.len() < PARTS_MAX {
            let field = |at: usize, length: usize| ByteOrder::Little.unsigned(&rest[at..at + length]);
            let member = Member { local: field(42, 4), packed: field(20, 4), size: field(24, 4), method: field(10, 2) };
            let name_end = ROW_LENGTH + field(28, 2) as usize;
            let Some(name) = rest.get(ROW_LENGTH..name_end) else { break };
            if !name.ends_with(b"/") {
                zip.names.push(String::from_utf8_lossy(name).trim_start_matches("./").to_string());
                zip.members.push(member);
            }
            rest = rest.get(name_end + (field(30, 2) + field(32, 2)) as usize..).unwrap_or(&[]);
        }
        zip.unpacked = vec![None; zip.names.len()];
        Ok(zip)
    }
    fn unpack(&mut self, part: usize) -> io::Result<Vec<u8>> {
        let member = self.members[part];
        if self.held.saturating_add(member.size) > HELD_MAX || member.packed > HELD_MAX {
            return Err(io::Error::other("the archive holds more than the 1 GiB that are held in memory: unpack it"));
        }
        let mut local = Vec::new();
        read_source_at(self.source, member.local, LOCAL_LENGTH, &mut local)?;
        if !sniff(&local) || local.len() < LOCAL_LENGTH {
            return Err(io::Error::other("a file of the archive is cut off"));
        }
        let length = |at: usize| ByteOrder::Little.unsigned(&local[at..at + 2]);
        let data = member.local + LOCAL_LENGTH as u64 + length(26) + length(28);
        let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
        read_source_at(self.source, data, member.packed as usize, &mut packed)?;
        match member.method {
            0 => unpacked = packed,
            8 => _ = DeflateDecoder::new(&packed[..]).take(member.size).read_to_end(&mut unpacked)?,
            method => return Err(io::Error::other(format!("a file of the archive is packed by method {method}: unpack it"))),
        }
        self.held += unpacked.len() as u64;
        Ok(unpacked)
    }
}

impl Folder for Zip<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }
    fn size(&self, part: usize) -> u64 {
        self.members[part].size
    }
    fn read_at(&mut self, part: usize, offset: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        if self.unpacked[part].is_none() {
            self.unpacked[part] = Some(self.unpack(part)?);
        }
        let bytes = self.unpacked[part].as_deref().unwrap_or_default();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        into.clear();
        into.extend_from_slice(&bytes[start..start.saturating_add(length).min(bytes.len())]);
        Ok(())
    }
}
