//! The events of one stream, packet after packet, in bounded memory.

use super::bits::{Bits, Malformed, Value, Values};
use super::clock::Clock;
use super::event::Kind;
use super::packet;
use super::tsdl::{ClockClass, Description, EventClass, StreamClass};
use crate::folder::Folder;
use crate::import::ImportStats;
use crate::import::event_format::ByteOrder;
use std::collections::BTreeMap;

/// Bytes to whose multiples a window begins: every alignment divides them.
const WINDOW_STEP: u64 = 512;
/// Most and fewest bytes of a stream that are held.
const WINDOW_MAX: usize = 256 << 10;
const WINDOW_MIN: usize = 16 << 10;
/// Bytes that are held of all streams together.
const HELD_MAX: usize = 256 << 20;

/// What all streams share.
pub(super) struct Trace<'m> {
    description: &'m Description,
    order: ByteOrder,
    kinds: BTreeMap<(u64, u64), Kind>,
    window: usize,
}

impl<'m> Trace<'m> {
    /// A trace of so many streams.
    pub(super) fn new(description: &'m Description, order: ByteOrder, streams: usize) -> Trace<'m> {
        let classes = description.streams.iter().flat_map(|(&stream, class)| class.events.iter().map(move |row| (stream, row)));
        let kinds = classes.map(|(stream, (&id, event))| ((stream, id), Kind::of(&event.name))).collect();
        let window = (HELD_MAX / streams.max(1)).clamp(WINDOW_MIN, WINDOW_MAX);
        Trace { description, order, kinds, window }
    }
}

/// The event at hand.
#[derive(Clone, Copy)]
pub(super) struct Current<'m> {
    pub(super) class: &'m EventClass,
    pub(super) kind: Kind,
    pub(super) at_ns: u64,
    /// The CPU that the packet names.
    pub(super) cpu: Option<u32>,
}

/// A stream of events: one file.
pub(super) struct Stream<'m> {
    part: usize,
    size: u64,
    /// Where the packet at hand begins in the file, and its length in bytes.
    packet_at: u64,
    packet_length: u64,
    /// The place in the packet and the end of its events, in bits.
    at: u64,
    end: u64,
    /// Some bytes of the packet, and where they begin in it.
    window: Vec<u8>,
    window_at: u64,
    class: Option<(u64, &'m StreamClass)>,
    cpu: Option<u32>,
    clock: Clock,
    clock_class: Option<&'m ClockClass>,
    discarded: u64,
    sequence: Option<u64>,
    pub(super) values: Values<'m>,
    pub(super) event: Option<Current<'m>>,
}

impl<'m> Stream<'m> {
    pub(super) fn new(part: usize, size: u64) -> Stream<'m> {
        Stream {
            part,
            size,
            packet_at: 0,
            packet_length: 0,
            at: 0,
            end: 0,
            window: Vec::new(),
            window_at: 0,
            class: None,
            cpu: None,
            clock: Clock::default(),
            clock_class: None,
            discarded: 0,
            sequence: None,
            values: Values::default(),
            event: None,
        }
    }
    /// The bytes that texts among the values lie in.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.window
    }
    /// Goes to the next event; `false` at the end. `number` is that of the event, for notes.
    pub(super) fn advance(&mut self, folder: &mut dyn Folder, trace: &Trace<'m>, number: u64, stats: &mut ImportStats) -> bool {
        loop {
            if self.at >= self.end {
                if !self.turn_packet(folder, trace, number, stats) {
                    return false;
                }
                continue;
            }
            match self.read_event(folder, trace) {
                Ok(()) => return true,
                Err(why) => {
                    stats.skip(number, &format!("the rest of a packet was left out: {why}"));
                    self.at = self.end;
                }
            }
        }
    }
    /// Goes to the next packet; `false` at the end.
    fn turn_packet(&mut self, folder: &mut dyn Folder, trace: &Trace<'m>, number: u64, stats: &mut ImportStats) -> bool {
        (self.packet_at, self.event) = (self.packet_at + self.packet_length, None);
        if self.packet_at >= self.size {
            return false;
        }
        match self.read_packet(folder, trace, number, stats) {
            Ok(()) => true,
            Err(why) => {
                stats.skip(number, &format!("the rest of a stream was left out: {why}"));
                (self.packet_at, self.packet_length, self.at, self.end) = (self.size, 0, 0, 0);
                false
            }
        }
    }
    fn read_packet(
        &mut self,
        folder: &mut dyn Folder,
        trace: &Trace<'m>,
        number: u64,
        stats: &mut ImportStats,
    ) -> Result<(), String> {
        self.packet_length = self.size - self.packet_at;
        self.load(folder, trace, 0).map_err(|error| error.to_string())?;
        let packet = packet::read(&self.window, trace.order, trace.description, &mut self.values);
        let packet = packet.map_err(|Malformed| "the beginning of a packet is cut off".to_string())?;
        let packet = packet.ok_or("there is no packet where one should begin")?;
        let class = trace.description.streams.get(&packet.class).ok_or("it is of a kind that the trace does not describe")?;
        (self.class, self.cpu) = (Some((packet.class, class)), packet.cpu.or(self.cpu));
        let left = self.size - self.packet_at;
        let whole = packet.whole.or(packet.content.map(|bits| bits.next_multiple_of(8))).unwrap_or(8 * left);
        let content = packet.content.unwrap_or(whole);
        if whole < packet.events_from || whole % 8 != 0 || content > whole {
            return Err("a packet has an impossible length".to_string());
        }
        if whole / 8 > left {
            stats.warn(number, "a stream is cut off in the middle of a packet");
        }
        self.packet_length = (whole / 8).min(left);
        (self.at, self.end) = (packet.events_from, content.min(8 * self.packet_length));
        if let Some(begins_at) = packet.begins_at {
            self.clock.advance(begins_at, u64::BITS);
        }
        self.count_lost(&packet, number, stats);
        Ok(())
    }
    fn count_lost(&mut self, packet: &packet::Packet, number: u64, stats: &mut ImportStats) {
        if let Some(discarded) = packet.discarded {
            // A number that is smaller than the last one began again at 0.
            let more = discarded.checked_sub(self.discarded).unwrap_or(discarded);
            if more > 0 {
                stats.lost(number, Some(more));
            }
            self.discarded = discarded;
        }
        let expected = self.sequence.map(|sequence| sequence.wrapping_add(1));
        if expected.is_some() && packet.sequence.is_some() && packet.sequence != expected {
            stats.lost(number, None);
        }
        self.sequence = packet.sequence;
    }
    /// Holds the bytes of the packet from a place on.
    fn load(&mut self, folder: &mut dyn Folder, trace: &Trace<'_>, from: u64) -> std::io::Result<()> {
        self.window_at = from / WINDOW_STEP * WINDOW_STEP;
        let length = (self.packet_length - self.window_at).min(trace.window as u64) as usize;
        folder.read_at(self.part, self.packet_at + self.window_at, length, &mut self.window)
    }
    fn read_event(&mut self, folder: &mut dyn Folder, trace: &Trace<'m>) -> Result<(), String> {
        let held_to = self.window_at + self.window.len() as u64;
        let is_near_end = held_to.saturating_sub(self.at / 8) < trace.window as u64 / 2;
        if is_near_end && held_to < self.packet_length && self.at / 8 - self.window_at >= WINDOW_STEP {
            self.load(folder, trace, self.at / 8).map_err(|error| error.to_string())?;
        }
        let before = self.at;
        self.decode(trace)?;
        if self.at == before { Err("it holds events without a length".to_string()) } else { Ok(()) }
    }
    fn decode(&mut self, trace: &Trace<'m>) -> Result<(), String> {
        let too_long = |Malformed| "an event does not fit into it".to_string();
        let (stream, class) = self.class.ok_or("its kind is not known")?;
        let base = 8 * self.window_at;
        let mut bits = Bits::new(&self.window, self.at - base, self.end - base, trace.order);
        self.values.clear();
        if let Some(header) = &class.event_header {
            bits.read("event.header", header, &mut self.values).map_err(too_long)?;
        }
        if let Some((int, lower)) = self.values.time {
            self.clock.advance(lower, int.bits);
            self.clock_class = int.clock.as_ref().and_then(|name| trace.description.clocks.get(name));
        }
        let only = || class.events.keys().next().copied().unwrap_or(0);
        let id = self.values.get("id").and_then(Value::number).unwrap_or_else(only);
        let event = class.events.get(&id).ok_or("it holds an event that the trace does not describe")?;
        for context in [&class.event_context, &event.context].into_iter().flatten() {
            bits.read("event.context", context, &mut self.values).map_err(too_long)?;
        }
        self.values.begin_own();
        if let Some(fields) = &event.fields {
            bits.read("event.fields", fields, &mut self.values).map_err(too_long)?;
        }
        self.at = base + bits.at;
        let kind = trace.kinds.get(&(stream, id)).copied().unwrap_or(Kind::NotUsed);
        let at_ns = self.clock.ns(self.clock_class);
        self.event = Some(Current { class: event, kind, at_ns, cpu: self.cpu });
        Ok(())
    }
}
