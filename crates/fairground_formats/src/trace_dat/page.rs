//! One page of the kernel's ring buffer.
//!
//! A page begins with the time of its first record and the number of bytes committed to it; then
//! come records, each behind a word of 32 bits: 5 bits of type or length, 27 bits of time since the
//! record before (ns of the trace clock). On big-endian machines the 5 bits are the upper ones.

use crate::import::event_format::{ByteOrder, Field, fields_of};
use crate::trace_dat::fields::Broken;
use std::ops::Range;

// kernel/trace/ring_buffer.c: flags in the word `commit` of a page that a reader was given.
const RB_MISSED_EVENTS: u64 = 1 << 31;
const RB_MISSED_STORED: u64 = 1 << 30;
/// Bits of `commit` that count bytes.
const COMMIT_MASK: u64 = (1 << 27) - 1;

// include/linux/ring_buffer.h enum ring_buffer_type; below them the length of the data in words.
const RINGBUF_TYPE_PADDING: u32 = 29;
const RINGBUF_TYPE_TIME_EXTEND: u32 = 30;
const RINGBUF_TYPE_TIME_STAMP: u32 = 31;

/// Bits of time in a record's first word.
const TS_SHIFT: u32 = 27;
/// The upper bits of a time, which do not fit into an absolute time stamp (27 + 32 bits).
const TS_MSB: u64 = 0xf8 << 56;

/// Where the parts of a page stand, as `events/header_page` tells.
#[derive(Clone, Debug)]
pub(super) struct PageLayout {
    timestamp: Field,
    commit: Field,
    data: Field,
}

/// The header of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageHeader {
    /// Time of the first record.
    pub(super) time: u64,
    /// Where records begin and end in the page.
    pub(super) records: (usize, usize),
    /// Records were lost before this page: how many, if the kernel could say.
    pub(super) lost: Option<Option<u64>>,
}

impl PageLayout {
    /// Reads the text of `events/header_page`.
    pub(super) fn parse(text: &str) -> Result<PageLayout, Broken> {
        let fields = fields_of(text);
        let field = |name: &str| {
            let found = fields.iter().find(|field| field.name == name).cloned();
            found.ok_or_else(|| Broken(format!("describes ring-buffer pages without a field `{name}`")))
        };
        Ok(PageLayout { timestamp: field("timestamp")?, commit: field("commit")?, data: field("data")? })
    }
    /// The length of a page that this header describes.
    pub(super) fn page_size(&self) -> u64 {
        self.data.offset.saturating_add(self.data.size) as u64
    }
    /// Reads the header of a page, which may be cut off; `None` if it makes no sense.
    pub(super) fn header(&self, page: &[u8], page_size: usize, order: ByteOrder) -> Option<PageHeader> {
        let commit = self.commit.integer(page, order)?;
        let start = self.data.offset;
        let end = start.checked_add((commit & COMMIT_MASK) as usize).filter(|&end| end <= page_size)?;
        let lost = (commit & RB_MISSED_EVENTS != 0).then(|| {
            // The kernel puts the number, an unsigned long, behind the last record if there is room.
            let stored = page.get(end..end + self.commit.size).filter(|_| commit & RB_MISSED_STORED != 0);
            stored.map(|bytes| order.unsigned(bytes))
        });
        Some(PageHeader { time: self.timestamp.integer(page, order)?, records: (start, end.min(page.len())), lost })
    }
}

/// A place in a page's records.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct PageCursor {
    /// Time of the record read last.
    pub(super) time: u64,
    at: usize,
    end: usize,
}

impl PageCursor {
    pub(super) fn new(header: &PageHeader) -> PageCursor {
        PageCursor { time: header.time, at: header.records.0, end: header.records.1 }
    }
    /// The place of the next record's data; `None` at the end of the page.
    pub(super) fn next(&mut self, page: &[u8], order: ByteOrder) -> Option<Result<Range<usize>, Malformed>> {
        while self.at < self.end {
            match self.step(page, order) {
                Some(Step::Data(range)) => return Some(Ok(range)),
                Some(Step::Time) => {}
                Some(Step::End) => self.at = self.end,
                None => {
                    self.at = self.end;
                    return Some(Err(Malformed));
                }
            }
        }
        None
    }
    fn step(&mut self, page: &[u8], order: ByteOrder) -> Option<Step> {
        let word = |at: usize| page.get(at..at.checked_add(4)?).map(|bytes| order.unsigned(bytes) as u32);
        let (first, second) = (word(self.at)?, self.at + 4);
        let (kind, delta) = match order {
            ByteOrder::Little => (first & 0x1f, u64::from(first >> 5)),
            ByteOrder::Big => (first >> TS_SHIFT, u64::from(first & 0x07ff_ffff)),
        };
        match kind {
            // A padding without time fills the rest of the page; one with time is a discarded record.
            RINGBUF_TYPE_PADDING if delta == 0 => Some(Step::End),
            RINGBUF_TYPE_PADDING => {
                let length = word(second)? as usize;
                self.pass(delta, second.checked_add(length)?)?;
                Some(Step::Time)
            }
            RINGBUF_TYPE_TIME_EXTEND => {
                self.pass((u64::from(word(second)?) << TS_SHIFT) + delta, second + 4)?;
                Some(Step::Time)
            }
            RINGBUF_TYPE_TIME_STAMP => {
                let stamp = (u64::from(word(second)?) << TS_SHIFT) + delta;
                self.time = with_upper_bits(stamp, self.time);
                self.pass(0, second + 4)?;
                Some(Step::Time)
            }
            // Data too long for the 5 bits: the next word is the length, itself included.
            0 => {
                let length = (word(second)? as usize).checked_sub(4)?;
                self.data(delta, second + 4, length)
            }
            words => self.data(delta, second, 4 * words as usize),
        }
    }
    fn data(&mut self, delta: u64, start: usize, length: usize) -> Option<Step> {
        let end = start.checked_add(length)?;
        self.pass(delta, end)?;
        Some(Step::Data(start..end))
    }
    /// Goes on to `next`, which is `None` behind the end of the page.
    fn pass(&mut self, delta: u64, next: usize) -> Option<()> {
        if next > self.end {
            return None;
        }
        self.time = self.time.wrapping_add(delta);
        self.at = next;
        Some(())
    }
}

/// What stands at a place of a page.
enum Step {
    /// A record whose data lie there.
    Data(Range<usize>),
    /// Nothing but time passed.
    Time,
    /// The rest of the page is empty.
    End,
}

/// A record that ends behind its page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// An absolute time stamp has 59 bits; the upper 5 are those of the time before it.
/// Kernel: ring_buffer.c rb_fix_abs_ts(), v5.18–
fn with_upper_bits(stamp: u64, before: u64) -> u64 {
    if before & TS_MSB == 0 {
        return stamp;
    }
    let whole = stamp | (before & TS_MSB);
    if whole < before { whole.wrapping_add(1 << 59) } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:112;\tsigned:0;\n";

    fn word(order: ByteOrder, number: u32) -> [u8; 4] {
        if order == ByteOrder::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
    fn first(order: ByteOrder, kind: u32, delta: u32) -> [u8; 4] {
        word(order, if order == ByteOrder::Little { delta << 5 | kind } else { kind << 27 | delta })
    }
    fn page(order: ByteOrder, time: u64, flags: u64, records: &[[u8; 4]]) -> Vec<u8> {
        let number = |number: u64| if order == ByteOrder::Little { number.to_le_bytes() } else { number.to_be_bytes() };
        let data: Vec<u8> = records.concat();
        let mut page = [number(time), number(data.len() as u64 | flags)].concat();
        page.extend(data);
        page.resize(128, 0);
        page
    }
    fn records(page: &[u8], order: ByteOrder) -> Vec<Option<(u64, Vec<u8>)>> {
        let header = PageLayout::parse(HEADER).unwrap().header(page, 128, order).unwrap();
        let mut cursor = PageCursor::new(&header);
        let mut found = Vec::new();
        while let Some(next) = cursor.next(page, order) {
            found.push(next.ok().map(|range| (cursor.time, page[range].to_vec())));
        }
        found
    }

    #[test]
    fn records_of_every_type_in_both_byte_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let page = page(
                order,
                1000,
                0,
                &[
                    first(order, 1, 5),
                    *b"data",
                    first(order, 30, 7), // 7 + 2 * 2^27 ns
                    word(order, 2),
                    first(order, 29, 3), // discarded: 3 ns, 4 bytes of length and 4 of data
                    word(order, 8),
                    *b"gone",
                    first(order, 0, 1), // 8 bytes of data behind a length word
                    word(order, 12),
                    *b"long",
                    *b"data",
                    first(order, 31, 9), // absolute: 9 + 5 * 2^27 ns
                    word(order, 5),
                    first(order, 1, 2),
                    *b"last",
                    first(order, 29, 0),
                    *b"none",
                ],
            );
            let long = 1000 + 5 + 7 + (2 << 27) + 3 + 1;
            let expected =
                [(1005, b"data".to_vec()), (long, b"longdata".to_vec()), (9 + (5 << 27) + 2, b"last".to_vec())].map(Some);
            assert_eq!(records(&page, order), expected);
        }
    }

    #[test]
    fn records_that_do_not_fit() {
        let order = ByteOrder::Little;
        let good = [first(order, 1, 5), *b"data"];
        for bad in [
            vec![first(order, 2, 1), *b"half"],
            vec![first(order, 0, 1)],
            vec![first(order, 0, 1), word(order, 3)],
            vec![first(order, 0, 1), word(order, u32::MAX)],
            vec![first(order, 29, 1), word(order, u32::MAX)],
            vec![first(order, 30, 1)],
        ] {
            let page = page(order, 0, 0, &[good.to_vec(), bad].concat());
            assert_eq!(records(&page, order), [Some((5, b"data".to_vec())), None]);
        }
    }

    #[test]
    fn headers_with_lost_records() {
        let order = ByteOrder::Little;
        let layout = PageLayout::parse(HEADER).unwrap();
        let lost = |flags| {
            let mut page = page(order, 0, flags, &[first(order, 1, 5), *b"data"]);
            page[24] = 42;
            layout.header(&page, 128, order).map(|header| header.lost)
        };
        assert_eq!(lost(0), Some(None));
        assert_eq!(lost(RB_MISSED_EVENTS), Some(Some(None)));
        assert_eq!(lost(RB_MISSED_EVENTS | RB_MISSED_STORED), Some(Some(Some(42))));
        assert_eq!(layout.header(&page(order, 0, 113, &[]), 128, order), None, "longer than the page");
        assert_eq!(layout.header(&[0; 15], 128, order), None);
        assert_eq!(layout.page_size(), 128);
        assert!(PageLayout::parse("\tfield: u64 timestamp;\toffset:0;\tsize:8;").unwrap_err().0.contains("`commit`"));
    }

    #[test]
    fn time_stamps_keep_the_upper_bits() {
        assert_eq!(with_upper_bits(5, 1 << 58), 5);
        assert_eq!(with_upper_bits(5, (3 << 59) + 4), (3 << 59) + 5);
        assert_eq!(with_upper_bits(5, (3 << 59) + 6), (4 << 59) + 5);
    }
}
