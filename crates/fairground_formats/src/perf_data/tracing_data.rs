//! The tracing data of the file: the formats of the tracepoints, as perf copied them from tracefs.
//!
//! | part | content |
//! | --- | --- |
//! | head | 23, 8, 68, `tracing`, version with a zero byte, byte order (1: big), length of a `long`, page size (u32) |
//! | `header_page`, `header_event` | name with a zero byte, length (u64), text; not used here |
//! | formats of the group `ftrace` | count (u32), then length (u64) and text of each |
//! | other groups | count (u32), then name with a zero byte, count (u32), then length (u64) and text of each |
//! | symbols, formats of printk, names of tasks | not used here |

use crate::import::event_format::ByteOrder;
use crate::perf_data::bytes::Bytes;

const MAGIC: [u8; 10] = *b"\x17\x08\x44tracing";

/// Hands each format's text to `each`, and tells it the byte order of the recording machine. Says whether all
/// of the formats could be read.
pub(super) fn for_each_format(data: &[u8], mut each: impl FnMut(ByteOrder, &[u8])) -> bool {
    walk(data, &mut each).is_some()
}

fn walk(data: &[u8], each: &mut impl FnMut(ByteOrder, &[u8])) -> Option<()> {
    let mut head = Bytes::new(data, ByteOrder::Little);
    if head.take(MAGIC.len() as u64)? != MAGIC {
        return None;
    }
    let _version = head.until_zero()?;
    let order = if head.u8()? == 1 { ByteOrder::Big } else { ByteOrder::Little };
    let mut bytes = head.in_order(order);
    let (_long_size, _page_size) = (bytes.u8()?, bytes.u32()?);
    for _ in ["header_page", "header_event"] {
        bytes.until_zero()?;
        text(&mut bytes)?;
    }
    formats(&mut bytes, order, each)?;
    let groups = bytes.u32()?;
    for _ in 0..groups {
        bytes.until_zero()?;
        formats(&mut bytes, order, each)?;
    }
    Some(())
}

fn formats(bytes: &mut Bytes<'_>, order: ByteOrder, each: &mut impl FnMut(ByteOrder, &[u8])) -> Option<()> {
    let count = bytes.u32()?;
    for _ in 0..count {
        each(order, text(bytes)?);
    }
    Some(())
}

fn text<'a>(bytes: &mut Bytes<'a>) -> Option<&'a [u8]> {
    let length = bytes.u64()?;
    bytes.take(length)
}
