//! The tracepoints of a file by the number that their records carry.

use crate::import::event_format::{ByteOrder, EventFormat, Field};
use crate::import::sched_record::{MissingField, SchedRecord};
use crate::import::{Assembler, ImportStats, NameId, RawEvent, Who};
use std::collections::BTreeMap;

/// The systems of the tracepoints that are used.
const USED: [&str; 5] = ["sched", "power", "cgroup", "irq", "irq_vectors"];
/// Characters of an unused tracepoint's name that a note shows.
const NAME_SHOWN: usize = 60;

/// What is done with the records of one tracepoint.
enum Tracepoint {
    /// They are read.
    Sched { name: String, record: Box<SchedRecord> },
    /// They are counted, under this note.
    NotUsed { note: String },
    /// They cannot be read, as this note says.
    Unreadable { note: String },
}

/// All tracepoints that a file describes.
pub(super) struct Tracepoints {
    order: ByteOrder,
    by_id: BTreeMap<u64, Tracepoint>,
    common: Option<Common>,
    names: BTreeMap<u32, NameId>,
}

/// The fields that all records have.
struct Common {
    kind: Field,
    pid: Option<Field>,
}

impl Tracepoints {
    pub(super) fn new(order: ByteOrder) -> Tracepoints {
        Tracepoints { order, by_id: BTreeMap::new(), common: None, names: BTreeMap::new() }
    }
    /// Takes the description of a tracepoint of `system`.
    pub(super) fn add(&mut self, system: &str, text: &str, stats: &mut ImportStats) {
        let Some((name, id)) = EventFormat::heading(text) else {
            return stats.warn(0, "a description of an event without name or number was left out");
        };
        let not_used = || {
            let shown: String = name.chars().take(NAME_SHOWN).collect();
            Tracepoint::NotUsed { note: format!("events `{shown}` are not used") }
        };
        let format = EventFormat::parse(text).filter(|_| USED.contains(&system) || self.common.is_none());
        if let Some(format) = &format {
            self.learn_common(format);
        }
        let tracepoint = match format.filter(|_| USED.contains(&system)).map(|format| SchedRecord::new(&format, self.order)) {
            Some(Ok(Some(record))) => Tracepoint::Sched { name: name.to_string(), record: Box::new(record) },
            Some(Err(MissingField(field))) => {
                let note = format!("the description of `{name}` has no field `{field}`: such events were left out");
                Tracepoint::Unreadable { note }
            }
            Some(Ok(None)) | None => not_used(),
        };
        self.by_id.insert(u64::from(id), tracepoint);
    }
    fn learn_common(&mut self, format: &EventFormat) {
        if self.common.is_none() {
            let kind = format.field("common_type").cloned();
            self.common = kind.map(|kind| Common { kind, pid: format.field("common_pid").cloned() });
        }
    }
    /// Takes the lines `pid name` of the recorder's cache of names.
    pub(super) fn learn_names(&mut self, cmdlines: &[u8], import: &mut Assembler<'_>) {
        let lines = cmdlines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        for line in lines {
            let line = String::from_utf8_lossy(line);
            let (pid, name) = line.split_once(' ').unwrap_or((&line, ""));
            match pid.parse() {
                Ok(pid) => _ = self.names.insert(pid, import.names.intern(name)),
                Err(_) => import.stats().info(0, "a line of the list of names that is not `pid name` was left out"),
            }
        }
    }
    /// Reads a record; counts and notes it if it gives no event.
    pub(super) fn event(&self, record: &[u8], number: u64, import: &mut Assembler<'_>) -> Option<RawEvent> {
        let Some(id) = self.common.as_ref().and_then(|common| common.kind.integer(record, self.order)) else {
            import.stats().skip(number, "a record without its number was left out");
            return None;
        };
        match self.by_id.get(&id) {
            Some(Tracepoint::Sched { name, record: layout }) => {
                let event = layout.event(record, self.current(record), number, import);
                if event.is_none() {
                    import.stats().skip(number, &format!("the fields of a `{name}` could not be read: it was left out"));
                }
                event
            }
            Some(Tracepoint::NotUsed { note }) => {
                import.stats().unused(number, note);
                None
            }
            Some(Tracepoint::Unreadable { note }) => {
                import.stats().skip(number, note);
                None
            }
            None => {
                import.stats().skip(number, "a record of an event that the file does not describe was left out");
                None
            }
        }
    }
    /// The task that was current when the record was written.
    pub(super) fn current_pid(&self, record: &[u8]) -> Option<u32> {
        let field = self.common.as_ref().and_then(|common| common.pid.as_ref());
        let pid = field.and_then(|field| field.integer(record, self.order))?;
        u32::try_from(pid).ok().filter(|&pid| pid <= i32::MAX as u32)
    }
    fn current(&self, record: &[u8]) -> Who {
        let pid = self.current_pid(record).unwrap_or(0);
        Who { pid, prio: None, name: self.names.get(&pid).copied(), name_is_stale: true }
    }
}
