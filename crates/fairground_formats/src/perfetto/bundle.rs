//! What stands around the events of a bundle.

use crate::import::NameId;
use crate::perfetto::clocks::BundleClock;
use crate::perfetto::compact::CompactSched;
use crate::perfetto::event::FtraceEvent;
use crate::perfetto::wire::{Fields, Value, WireError};

// FtraceEventBundle.
const CPU: u32 = 1;
const EVENT: u32 = 2;
const LOST_EVENTS: u32 = 3;
const COMPACT_SCHED: u32 = 4;
const FTRACE_CLOCK: u32 = 5;
const FTRACE_TIMESTAMP: u32 = 6;
const BOOT_TIMESTAMP: u32 = 7;
const ERROR: u32 = 8;

/// The fields of a bundle that are no events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct BundleHead {
    pub(super) cpu: Option<u32>,
    /// Events were lost between the bundle before and this one.
    pub(super) lost_events: bool,
    pub(super) clock: BundleClock,
    /// Places in the kernel's buffer that the recorder could not read.
    pub(super) errors: u64,
    /// The bundle could not be read to its end.
    pub(super) is_broken: bool,
}

/// Reads all of a bundle but its plain events; compact ones go to `compact`.
pub(super) fn read_head(bundle: &[u8], compact: &mut CompactSched, mut intern: impl FnMut(&[u8]) -> NameId) -> BundleHead {
    let mut head = BundleHead::default();
    for field in Fields::of(bundle) {
        match field {
            Ok((EVENT, _)) => {}
            Ok((CPU, value)) => head.cpu = value.natural(),
            Ok((LOST_EVENTS, value)) => head.lost_events = value.number() == Some(1),
            Ok((COMPACT_SCHED, Value::Bytes(message))) => head.is_broken |= !read_compact(message, compact, &mut intern),
            Ok((FTRACE_CLOCK, value)) => head.clock.clock = value.number().unwrap_or(0),
            Ok((FTRACE_TIMESTAMP, value)) => head.clock.own_ns = value.number(),
            Ok((BOOT_TIMESTAMP, value)) => head.clock.boot_ns = value.number(),
            Ok((ERROR, _)) => head.errors += 1,
            Ok(_) => {}
            Err(_) => head.is_broken = true,
        }
    }
    head
}

/// Whether the message could be read to its end.
fn read_compact(message: &[u8], compact: &mut CompactSched, mut intern: impl FnMut(&[u8]) -> NameId) -> bool {
    for field in Fields::of(message) {
        let Ok((number, value)) = field else { return false };
        compact.field(number, value, &mut intern);
    }
    true
}

/// The plain events of a bundle, those included that cannot be read.
pub(super) fn events(bundle: &[u8]) -> impl Iterator<Item = Result<FtraceEvent<'_>, WireError>> {
    let messages = Fields::of(bundle).flatten().filter(|&(number, _)| number == EVENT);
    messages.filter_map(|(_, value)| value.bytes()).map(FtraceEvent::read)
}
