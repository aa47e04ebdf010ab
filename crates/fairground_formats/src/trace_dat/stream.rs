//! The records of one CPU, page after page, in bounded memory.

use crate::import::ImportStats;
use crate::import::event_format::ByteOrder;
use crate::trace_dat::description::{Buffer, CpuData};
use crate::trace_dat::fields::Broken;
use crate::trace_dat::file::File;
use crate::trace_dat::packing::Packing;
use crate::trace_dat::page::{Malformed, PageCursor, PageLayout};
use std::ops::Range;

/// Bytes of unpacked pages that are held for all CPUs together.
const HELD_MAX: usize = 256 << 20;
/// Bytes that are read at once where pages are not packed.
const READ_AHEAD: usize = 64 << 10;
/// Bytes of the number of chunks before packed pages.
const CHUNK_COUNT: u64 = 4;

/// What all CPUs of a buffer share.
pub(super) struct Pages {
    pub(super) order: ByteOrder,
    layout: PageLayout,
    page_size: usize,
    /// How pages are packed, if they are.
    packing: Option<Packing>,
    /// Most bytes that are held for one CPU.
    block_max: usize,
}

impl Pages {
    pub(super) fn new(buffer: &Buffer, layout: PageLayout, packing: Packing, order: ByteOrder) -> Pages {
        let page_size = buffer.page_size as usize;
        let block_max = (HELD_MAX / buffer.cpus.len().max(1)).max(page_size);
        Pages { order, layout, page_size, packing: buffer.packed.then_some(packing), block_max }
    }
}

/// The records of one CPU.
pub(super) struct CpuStream {
    pub(super) cpu: u32,
    /// The rest of its data in the file.
    data: Range<u64>,
    /// Packed parts that follow; `None` until their number was read.
    chunks_left: Option<u32>,
    /// Some pages.
    block: Vec<u8>,
    /// The pages of it that follow the current one.
    next_page: usize,
    page: Range<usize>,
    cursor: PageCursor,
    /// The current record, within the page.
    record: Range<usize>,
}

impl CpuStream {
    pub(super) fn new(data: CpuData, pages: &Pages) -> CpuStream {
        // The size of packed data does not count the number of chunks before them.
        let before = if pages.packing.is_some() && data.size > 0 { CHUNK_COUNT } else { 0 };
        CpuStream {
            cpu: data.cpu,
            data: data.offset..data.offset.saturating_add(data.size).saturating_add(before),
            chunks_left: None,
            block: Vec::new(),
            next_page: 0,
            page: 0..0,
            cursor: PageCursor::default(),
            record: 0..0,
        }
    }
    /// Time of the current record.
    pub(super) fn time(&self) -> u64 {
        self.cursor.time
    }
    /// The current record.
    pub(super) fn record(&self) -> &[u8] {
        &self.block[self.page.clone()][self.record.clone()]
    }
    /// Goes to the next record; `false` at the end. `number` is that of the record, for notes.
    pub(super) fn advance(&mut self, file: &mut File<'_>, pages: &Pages, number: u64, stats: &mut ImportStats) -> bool {
        loop {
            match self.cursor.next(&self.block[self.page.clone()], pages.order) {
                Some(Ok(record)) => {
                    self.record = record;
                    return true;
                }
                Some(Err(Malformed)) => stats.skip(number, "the rest of a page was left out: a record does not fit into it"),
                None if !self.turn_page(file, pages, number, stats) => return false,
                None => {}
            }
        }
    }
    /// Goes to the next page that makes sense.
    fn turn_page(&mut self, file: &mut File<'_>, pages: &Pages, number: u64, stats: &mut ImportStats) -> bool {
        loop {
            if self.next_page >= self.block.len() {
                match self.next_block(file, pages) {
                    Ok(true) => self.next_page = 0,
                    Ok(false) => return false,
                    Err(Broken(why)) => {
                        stats.skip(number, &format!("the rest of the data of CPU {} was left out: the file {why}", self.cpu));
                        (self.data, self.chunks_left) = (0..0, Some(0));
                        self.block.clear();
                        return false;
                    }
                }
                continue;
            }
            let end = self.block.len().min(self.next_page + pages.page_size);
            self.page = self.next_page..end;
            self.next_page = end;
            if self.page.len() < pages.page_size {
                stats.warn(number, "the data of a CPU end in the middle of a page");
            }
            match pages.layout.header(&self.block[self.page.clone()], pages.page_size, pages.order) {
                Some(header) => {
                    if let Some(lost) = header.lost {
                        stats.lost(number, lost);
                    }
                    self.cursor = PageCursor::new(&header);
                    return true;
                }
                None => stats.skip(number, "a page with an impossible header was left out"),
            }
        }
    }
    /// Gets more pages; `false` if there are none.
    fn next_block(&mut self, file: &mut File<'_>, pages: &Pages) -> Result<bool, Broken> {
        (self.page, self.cursor) = (0..0, PageCursor::default());
        match pages.packing {
            None => self.read_pages(file, pages),
            Some(packing) => self.unpack_chunk(file, packing, pages),
        }
    }
    fn read_pages(&mut self, file: &mut File<'_>, pages: &Pages) -> Result<bool, Broken> {
        let whole = READ_AHEAD.min(pages.block_max) / pages.page_size * pages.page_size;
        let left = self.data.end.saturating_sub(self.data.start);
        let length = left.min(whole.max(pages.page_size) as u64) as usize;
        file.read_at(self.data.start, length, &mut self.block)?;
        if self.block.is_empty() && length > 0 {
            return Err(cut_off());
        }
        self.data.start += self.block.len() as u64;
        Ok(length > 0)
    }
    fn unpack_chunk(&mut self, file: &mut File<'_>, packing: Packing, pages: &Pages) -> Result<bool, Broken> {
        if self.data.is_empty() {
            return Ok(false);
        }
        let chunks = match self.chunks_left {
            Some(chunks) => chunks,
            None => self.number(file, pages)?,
        };
        let Some(left) = chunks.checked_sub(1) else { return Ok(false) };
        self.chunks_left = Some(left);
        let (packed, unpacked) = (self.number(file, pages)? as usize, self.number(file, pages)? as usize);
        if packed.max(unpacked) > pages.block_max {
            return Err(Broken(format!("has packed pages of {} bytes together", packed.max(unpacked))));
        }
        let mut bytes = Vec::new();
        self.take(file, packed, &mut bytes)?;
        self.block = packing.unpack(&bytes, unpacked)?;
        Ok(true)
    }
    /// A number of 4 bytes before packed data.
    fn number(&mut self, file: &mut File<'_>, pages: &Pages) -> Result<u32, Broken> {
        let mut bytes = Vec::new();
        self.take(file, 4, &mut bytes)?;
        Ok(pages.order.unsigned(&bytes) as u32)
    }
    /// The next bytes of this CPU's data.
    fn take(&mut self, file: &mut File<'_>, length: usize, into: &mut Vec<u8>) -> Result<(), Broken> {
        if self.data.end.saturating_sub(self.data.start) < length as u64 {
            return Err(Broken("has packed pages that are longer than their place".to_string()));
        }
        file.read_at(self.data.start, length, into)?;
        if into.len() < length {
            return Err(cut_off());
        }
        self.data.start += length as u64;
        Ok(())
    }
}

fn cut_off() -> Broken {
    Broken("is cut off before the end of it".to_string())
}
