//! The header of the file and the parts that it points to.

use crate::import::event_format::ByteOrder;
use crate::perf_data::bytes::Bytes;
use crate::registry::ReadSeek;
use std::io::{self, Read, SeekFrom};

const MAGIC_LITTLE: &[u8] = b"PERFILE2";
const MAGIC_BIG: &[u8] = b"2ELIFREP";
/// Length of the header of a file that perf wrote to a pipe: magic and length only.
const PIPE_HEADER: u64 = 16;
/// Length of the header of any other file: 5 numbers or sections of 16 bytes and 256 bits for the features.
const FILE_HEADER: u64 = 104;
/// Longest table of attributes or of their ids that is read: 4096 events on 1024 CPUs.
const TABLE_MAX: u64 = 32 * 1024 * 1024;
/// Longest tracing data that is read. All tracepoints of a kernel are 3 MB, the symbols beside them about 10 MB.
const TRACING_DATA_MAX: u64 = 64 * 1024 * 1024;

/// A part that a file may have beside its data, perf's HEADER_…: the number of its bit in the header. Only those that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    /// The formats of the tracepoints.
    TracingData = 1,
    /// The kernel's release.
    OsRelease = 4,
    /// The file is one of a folder of files.
    DirFormat = 24,
}

/// A place in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Section {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// What the file begins with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Header {
    /// perf wrote to a pipe: all there is to know comes as records.
    Pipe(ByteOrder),
    /// perf wrote to a file.
    File(FileHeader),
}

/// The header of a file with sections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FileHeader {
    pub(super) order: ByteOrder,
    pub(super) data: Section,
    attr_size: u64,
    attrs: Section,
    features: u64,
}

/// The byte order that the first bytes show, if they are those of a perf.data.
pub(super) fn order_of(head: &[u8]) -> Option<ByteOrder> {
    match head.get(..8)? {
        MAGIC_LITTLE => Some(ByteOrder::Little),
        MAGIC_BIG => Some(ByteOrder::Big),
        _ => None,
    }
}

/// Whether the first bytes are those of a perf.data that was written to a pipe.
pub(super) fn is_pipe(head: &[u8]) -> bool {
    let size = |order: ByteOrder| head.get(8..16).map(|size| order.unsigned(size));
    order_of(head).and_then(size) == Some(PIPE_HEADER)
}

impl Header {
    /// Reads the header; `None` if it is cut off.
    pub(super) fn read(source: &mut (impl Read + ?Sized)) -> io::Result<Option<Header>> {
        let mut head = Vec::new();
        source.take(PIPE_HEADER).read_to_end(&mut head)?;
        let Some(order) = order_of(&head) else { return Ok(None) };
        if is_pipe(&head) {
            return Ok(Some(Header::Pipe(order)));
        }
        source.take(FILE_HEADER - PIPE_HEADER).read_to_end(&mut head)?;
        Ok(FileHeader::parse(&head, order).map(Header::File))
    }
}

impl FileHeader {
    fn parse(head: &[u8], order: ByteOrder) -> Option<FileHeader> {
        let mut bytes = Bytes::new(head, order);
        bytes.take(PIPE_HEADER)?; // the length that newer headers may have beyond ours does not matter: all is found by offset
        let attr_size = bytes.u64()?;
        let (attrs, data, _event_types) = (section(&mut bytes)?, section(&mut bytes)?, section(&mut bytes)?);
        Some(FileHeader { order, data, attr_size, attrs, features: bytes.u64()? })
    }
    /// Whether the file has a part of this kind.
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.features >> feature as u32 & 1 == 1
    }
    /// The attributes of each event, followed by its ids: as they stand in the record that a pipe would hold.
    pub(super) fn attrs(&self, file: &mut dyn ReadSeek) -> io::Result<Vec<Vec<u8>>> {
        let table = read_section(file, self.attrs, TABLE_MAX)?;
        let row = usize::try_from(self.attr_size).ok().filter(|&size| size > 16).unwrap_or(usize::MAX);
        let mut left = TABLE_MAX;
        let mut rows = Vec::new();
        for row in table.chunks_exact(row.min(table.len().max(1))) {
            let (attr, ids) = row.split_at(row.len().saturating_sub(16));
            let ids = match section(&mut Bytes::new(ids, self.order)) {
                Some(place) => read_section(file, place, left)?,
                None => Vec::new(),
            };
            left -= ids.len() as u64;
            let own_size = attr.get(4..8).map_or(0, |size| self.order.unsigned(size) as usize);
            rows.push([&attr[..own_size.min(attr.len())], &ids].concat());
        }
        Ok(rows)
    }
    /// A part of the file: the formats of the tracepoints, the kernel's release.
    pub(super) fn part(&self, feature: Feature, file: &mut dyn ReadSeek) -> io::Result<Option<Vec<u8>>> {
        if !self.has(feature) {
            return Ok(None);
        }
        let earlier = (self.features & ((1 << feature as u32) - 1)).count_ones();
        let table = self.data.offset.saturating_add(self.data.size).saturating_add(16 * u64::from(earlier));
        let place = read_section(file, Section { offset: table, size: 16 }, 16)?;
        match section(&mut Bytes::new(&place, self.order)) {
            Some(place) => read_section(file, place, TRACING_DATA_MAX).map(Some),
            None => Ok(None),
        }
    }
}

fn section(bytes: &mut Bytes<'_>) -> Option<Section> {
    Some(Section { offset: bytes.u64()?, size: bytes.u64()? })
}

/// What there is of a section, up to `max` bytes.
fn read_section(file: &mut dyn ReadSeek, section: Section, max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(section.offset))?;
    file.take(section.size.min(max)).read_to_end(&mut content)?;
    Ok(content)
}
