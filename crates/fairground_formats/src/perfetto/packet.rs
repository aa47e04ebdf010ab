//! The parts of a TracePacket that are read.

use crate::perfetto::wire::{Fields, Value};

// TracePacket.
const FTRACE_EVENTS: u32 = 1;
const PROCESS_TREE: u32 = 2;
const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
const FTRACE_STATS: u32 = 34;
const PREVIOUS_PACKET_DROPPED: u32 = 42;
const SYSTEM_INFO: u32 = 45;
const COMPRESSED_PACKETS: u32 = 50;
const MACHINE_ID: u32 = 98;

/// What a packet holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content<'a> {
    /// FtraceEventBundle: events of one CPU.
    FtraceEvents(&'a [u8]),
    /// ProcessTree: names.
    ProcessTree(&'a [u8]),
    /// FtraceStats: counters of the kernel's buffers.
    FtraceStats(&'a [u8]),
    /// SystemInfo: the kernel's release.
    SystemInfo(&'a [u8]),
    /// More packets, packed by deflate.
    CompressedPackets(&'a [u8]),
    /// Something of no use here.
    Other,
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TracePacket<'a> {
    pub(super) content: Content<'a>,
    /// The writer that the packet comes from.
    pub(super) sequence: u64,
    /// The recorder dropped packets of this writer before this one, or this is its first one.
    pub(super) previous_packet_dropped: bool,
    /// It comes from another machine than the one that recorded.
    pub(super) is_remote: bool,
    /// It could not be read to its end.
    pub(super) is_broken: bool,
}

impl<'a> TracePacket<'a> {
    pub(super) fn read(message: &'a [u8]) -> TracePacket<'a> {
        let mut packet = TracePacket {
            content: Content::Other,
            sequence: 0,
            previous_packet_dropped: false,
            is_remote: false,
            is_broken: false,
        };
        for field in Fields::of(message) {
            match field {
                Ok((FTRACE_EVENTS, Value::Bytes(bytes))) => packet.content = Content::FtraceEvents(bytes),
                Ok((PROCESS_TREE, Value::Bytes(bytes))) => packet.content = Content::ProcessTree(bytes),
                Ok((FTRACE_STATS, Value::Bytes(bytes))) => packet.content = Content::FtraceStats(bytes),
                Ok((SYSTEM_INFO, Value::Bytes(bytes))) => packet.content = Content::SystemInfo(bytes),
                Ok((COMPRESSED_PACKETS, Value::Bytes(bytes))) => packet.content = Content::CompressedPackets(bytes),
                Ok((TRUSTED_PACKET_SEQUENCE_ID, value)) => packet.sequence = value.number().unwrap_or(0),
                Ok((PREVIOUS_PACKET_DROPPED, value)) => packet.previous_packet_dropped = value.number() == Some(1),
                Ok((MACHINE_ID, value)) => packet.is_remote = value.number().is_some_and(|id| id != 0),
                Ok(_) => {}
                Err(_) => packet.is_broken = true,
            }
        }
        packet
    }
}

/// The kernel's release: SystemInfo.utsname (1), Utsname.release (3).
pub(super) fn release(system_info: &[u8]) -> Option<&str> {
    let message =
        |bytes, number| Fields::of(bytes).flatten().find(|field| field.0 == number).and_then(|(_, value)| value.bytes());
    std::str::from_utf8(message(message(system_info, 1)?, 3)?).ok()
}
