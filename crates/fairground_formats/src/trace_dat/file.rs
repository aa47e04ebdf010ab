//! The file as a whole: its first bytes, and reading at any place.

use crate::import::event_format::ByteOrder;
use crate::registry::ReadSeek;
use crate::trace_dat::fields::{Broken, Fields};
use std::io::{self, BufReader, ErrorKind, Read, SeekFrom};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// Largest page of a ring buffer that is taken for one: 2^7 pages of 64 KiB.
const PAGE_MAX: u64 = 8 << 20;
/// Smallest page that is taken for one.
const PAGE_MIN: u64 = 64;

/// A source that may be read from anywhere; the trace begins at `base`.
pub(super) struct File<'f> {
    source: &'f mut dyn ReadSeek,
    base: u64,
}

/// What stands at the beginning of every version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) version: String,
    pub(super) order: ByteOrder,
    pub(super) page_size: u64,
    /// Where the version's own part begins.
    pub(super) rest: u64,
}

impl<'f> File<'f> {
    /// The trace begins where the source stands now.
    pub(super) fn new(source: &'f mut dyn ReadSeek) -> io::Result<File<'f>> {
        let base = source.stream_position()?;
        Ok(File { source, base })
    }
    /// Values from a place on.
    pub(super) fn fields_at(&mut self, offset: u64, order: ByteOrder) -> Result<Fields<impl Read>, Broken> {
        self.source.seek(SeekFrom::Start(self.base.saturating_add(offset)))?;
        Ok(Fields::new(BufReader::new(&mut *self.source), order))
    }
    /// Reads `length` bytes into `into`; fewer at the end of the file.
    pub(super) fn read_at(&mut self, offset: u64, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        self.source.seek(SeekFrom::Start(self.base.saturating_add(offset)))?;
        into.resize(length, 0);
        let mut filled = 0;
        while filled < length {
            match self.source.read(&mut into[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        into.truncate(filled);
        Ok(())
    }
    /// Reads the first bytes.
    pub(super) fn head(&mut self) -> Result<Head, Broken> {
        let mut fields = self.fields_at(0, ByteOrder::Little)?;
        fields.expect(MAGIC)?;
        let version = fields.string()?;
        let order = match fields.u8()? {
            0 => ByteOrder::Little,
            1 => ByteOrder::Big,
            other => return Err(Broken(format!("has the unknown byte order {other}"))),
        };
        let long_size = fields.u8()?;
        if !matches!(long_size, 4 | 8) {
            return Err(Broken(format!("says that a `long` has {long_size} bytes")));
        }
        fields.order = order;
        let page_size = u64::from(fields.u32()?);
        let rest = (MAGIC.len() + version.len() + 1 + 2 + 4) as u64;
        Ok(Head { version, order, page_size: checked_page_size(page_size)?, rest })
    }
}

/// A page's length, if it can be one.
pub(super) fn checked_page_size(page_size: u64) -> Result<u64, Broken> {
    if (PAGE_MIN..=PAGE_MAX).contains(&page_size) {
        return Ok(page_size);
    }
    Err(Broken(format!("says that a page of the ring buffer has {page_size} bytes")))
}
