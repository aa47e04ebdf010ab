//! What stands before the events of a packet.

use super::bits::{Bits, Malformed, Values};
use super::tsdl::Description;
use crate::import::event_format::ByteOrder;

/// The first number of a packet.
const MAGIC: u64 = 0xc1fc_1fc1;

/// Whether a stream begins with these 4 bytes.
pub(super) fn begins_packet(bytes: &[u8]) -> bool {
    [ByteOrder::Little, ByteOrder::Big].into_iter().any(|order| order.unsigned(bytes) == MAGIC)
}

/// What a packet says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    /// The kind of its stream.
    pub(super) class: u64,
    pub(super) cpu: Option<u32>,
    /// Lengths in bits of the packet and of what counts of it, where it tells them.
    pub(super) whole: Option<u64>,
    pub(super) content: Option<u64>,
    pub(super) begins_at: Option<u64>,
    /// Events that the stream lost from its beginning to the end of this packet, and the bits of that number.
    pub(super) discarded: Option<u64>,
    pub(super) sequence: Option<u64>,
    /// Where events begin, in bits.
    pub(super) events_from: u64,
}

/// Reads what stands before the events. None = no packet begins here.
pub(super) fn read<'m>(
    window: &[u8],
    order: ByteOrder,
    trace: &'m Description,
    values: &mut Values<'m>,
) -> Result<Option<Packet>, Malformed> {
    let mut bits = Bits::new(window, 0, u64::MAX, order);
    values.clear();
    if let Some(header) = &trace.packet_header {
        bits.read("packet.header", header, values)?;
        if values.get("magic").is_some_and(|magic| magic.number() != Some(MAGIC)) {
            return Ok(None);
        }
    }
    let only = || trace.streams.keys().next().copied().unwrap_or(0);
    let class = values.get("stream_id").and_then(|id| id.number()).unwrap_or_else(only);
    if let Some(context) = trace.streams.get(&class).and_then(|stream| stream.packet_context.as_ref()) {
        bits.read("packet.context", context, values)?;
    }
    let number = |name: &str| values.get(name).and_then(|value| value.number());
    Ok(Some(Packet {
        class,
        cpu: number("cpu_id").and_then(|cpu| u32::try_from(cpu).ok()),
        whole: number("packet_size"),
        content: number("content_size"),
        begins_at: number("timestamp_begin"),
        discarded: number("events_discarded"),
        sequence: number("packet_seq_num"),
        events_from: bits.at,
    }))
}
