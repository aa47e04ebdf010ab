//! The tracepoints of one file, by their number.

use crate::import::event_format::{ByteOrder, EventFormat, Field};
use crate::import::sched_record::{MissingField, SchedRecord};
use std::collections::BTreeMap;

/// One tracepoint.
pub(super) struct Tracepoint {
    /// Its name without the group.
    pub(super) name: String,
    /// What its records are to us.
    pub(super) records: Records,
    order: ByteOrder,
    current_pid: Option<Field>,
}

/// What the records of a tracepoint are to us.
pub(super) enum Records {
    /// Events.
    Used(Box<SchedRecord>),
    /// Events, were this field in them.
    Without(String),
    /// Of no use.
    NotUsed,
}

impl Tracepoint {
    /// The process id that the record gives for the task that was current when it was written.
    pub(super) fn current_pid(&self, record: &[u8]) -> Option<u32> {
        u32::try_from(self.current_pid.as_ref()?.integer(record, self.order)?).ok()
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct Tracepoints {
    by_number: BTreeMap<u64, Tracepoint>,
}

impl Tracepoints {
    /// Takes the format of one tracepoint; says whether it could be read.
    pub(super) fn add(&mut self, order: ByteOrder, text: &[u8]) -> bool {
        let Some(format) = EventFormat::parse(&String::from_utf8_lossy(text)) else { return false };
        let records = match SchedRecord::new(&format, order) {
            Ok(Some(record)) => Records::Used(Box::new(record)),
            Ok(None) => Records::NotUsed,
            Err(MissingField(field)) => Records::Without(field),
        };
        let current_pid = format.field("common_pid").cloned();
        self.by_number.insert(u64::from(format.id), Tracepoint { name: format.name, records, order, current_pid });
        true
    }
    /// The tracepoint of this number.
    pub(super) fn get(&self, number: u64) -> Option<&Tracepoint> {
        self.by_number.get(&number)
    }
    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }
}
