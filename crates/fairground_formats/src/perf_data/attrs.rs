//! The events that were recorded: their attributes and the ids by which samples name them.

use crate::import::event_format::ByteOrder;
use crate::perf_data::sample::SampleLayout;
use byteorder::{BigEndian, LittleEndian};
use linux_perf_event_reader::{ClockId, Endianness, PerfClock, PerfEventAttr, PerfEventType, RecordParseInfo};
use std::collections::BTreeMap;

/// Place of `read_format` in perf_event_attr.
const READ_FORMAT: std::ops::Range<usize> = 32..40;
/// Place of the flags in perf_event_attr.
const FLAGS: std::ops::Range<usize> = 40..48;

/// Length of an event's id.
const ID: usize = 8;

/// One event that was recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventAttr {
    /// The number of its tracepoint, if it is one.
    pub(super) tracepoint: Option<u64>,
    /// How its samples are laid out.
    pub(super) layout: SampleLayout,
    /// The clock of its times, unless it is the default one.
    pub(super) clock: Option<ClockId>,
    /// How its other records are laid out.
    pub(super) parse_info: RecordParseInfo,
}

impl EventAttr {
    fn id_place(&self) -> Option<usize> {
        self.parse_info.id_parse_info.sample_record_id_offset_from_start.map(usize::from)
    }
}

/// All events of a file.
pub(super) struct Attrs {
    order: ByteOrder,
    events: Vec<EventAttr>,
    by_id: BTreeMap<u64, usize>,
    /// Where samples have their id; nearly always one place.
    id_places: Vec<usize>,
}

impl Attrs {
    pub(super) fn new(order: ByteOrder) -> Attrs {
        Attrs { order, events: Vec::new(), by_id: BTreeMap::new(), id_places: Vec::new() }
    }
    pub(super) fn events(&self) -> &[EventAttr] {
        &self.events
    }
    /// Takes the attributes of one event, followed by its ids; says whether they could be read.
    pub(super) fn add(&mut self, body: &[u8]) -> bool {
        let mut body = body.to_vec();
        let (Some(read_format), Some(flags)) = (body.get(READ_FORMAT), body.get(FLAGS)) else { return false };
        let (read_format, flags) = (self.order.unsigned(read_format), self.order.unsigned(flags));
        if self.order == ByteOrder::Big {
            // The flags are a bit field, whose first bit is the highest one on such machines.
            body[FLAGS].copy_from_slice(&flags.reverse_bits().to_be_bytes());
        }
        let mut ids = body.as_slice();
        let (read, endian) = match self.order {
            ByteOrder::Little => (PerfEventAttr::parse::<_, LittleEndian>(&mut ids), Endianness::LittleEndian),
            ByteOrder::Big => (PerfEventAttr::parse::<_, BigEndian>(&mut ids), Endianness::BigEndian),
        };
        let Ok((attr, _size)) = read else { return false };
        if !ids.len().is_multiple_of(ID) {
            return false;
        }
        let event = EventAttr {
            tracepoint: match attr.type_ {
                PerfEventType::Tracepoint(id) => Some(id),
                _ => None,
            },
            layout: SampleLayout::new(attr.sample_format, read_format),
            clock: match attr.clock {
                PerfClock::Default => None,
                PerfClock::ClockId(clock) => Some(clock),
            },
            parse_info: RecordParseInfo::new(&attr, endian),
        };
        self.by_id.extend(ids.chunks_exact(ID).map(|id| (self.order.unsigned(id), self.events.len())));
        self.id_places.extend(event.id_place().filter(|place| !self.id_places.contains(place)));
        self.events.push(event);
        true
    }
    /// The event that a sample belongs to. An id counts only if its event puts ids at that place.
    pub(super) fn of_sample(&self, body: &[u8]) -> Option<&EventAttr> {
        if let [only] = self.events.as_slice() {
            return Some(only);
        }
        self.id_places.iter().find_map(|&place| {
            let id = self.order.unsigned(body.get(place..place + 8)?);
            let event = &self.events[*self.by_id.get(&id)?];
            (event.id_place() == Some(place)).then_some(event)
        })
    }
}
