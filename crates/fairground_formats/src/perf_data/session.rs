//! From perf's records to events.

use crate::import::event_format::ByteOrder;
use crate::import::{Assembler, Feed, ImportStats, NameId, RawEvent, RawRecord, Who};
use crate::perf_data::attrs::{Attrs, EventAttr};
use crate::perf_data::bytes::Bytes;
use crate::perf_data::cgroups::Cgroups;
use crate::perf_data::header::Feature;
use crate::perf_data::inflater::Inflater;
use crate::perf_data::notes;
use crate::perf_data::record_kinds::{COMPRESSED, COMPRESSED2, FINISHED_ROUND, HEADER_ATTR, HEADER_FEATURE};
use crate::perf_data::rounds::Rounds;
use crate::perf_data::tracepoints::{Records, Tracepoints};
use crate::perf_data::tracing_data;
use fairground_model::Sink;
use linux_perf_event_reader::{EventRecord, RawData, RawEventRecord, RecordType};
use std::collections::BTreeMap;

/// Length of a record's head: type (u32), misc (u16), length with the head (u16).
pub(super) const RECORD_HEAD: usize = 8;
/// Largest process id that a kernel gives out (include/linux/threads.h PID_MAX_LIMIT): bounds the table of names.
const PID_MAX_LIMIT: u32 = 4 * 1024 * 1024;
/// In `misc` of LOST_SAMPLES: a filter dropped them on purpose.
const MISC_LOST_SAMPLES_BPF: u16 = 1 << 15;

/// One record of the file.
#[derive(Clone, Copy)]
pub(super) struct PerfRecord<'a> {
    pub(super) kind: RecordType,
    pub(super) misc: u16,
    pub(super) body: &'a [u8],
}

/// Why a sample gives no event.
enum Refusal {
    /// It is of no use here.
    NotUsed(String),
    /// It should be an event.
    Unreadable(String),
}

/// Lost events, which newer kernels and perfs report twice: in a record where it happened, and as a sum of each
/// event at the end.
#[derive(Default)]
struct Lost {
    records: u64,
    samples: u64,
}

/// What is known of a recording while it is read.
pub(super) struct Session<'a> {
    order: ByteOrder,
    attrs: Attrs,
    tracepoints: Tracepoints,
    comms: BTreeMap<u32, NameId>,
    cgroups: Cgroups,
    rounds: Rounds,
    /// Of a packed recording.
    inflater: Option<Inflater>,
    inflated: Vec<u8>,
    lost: Lost,
    /// Number of the record at hand.
    number: u64,
    import: Assembler<'a>,
}

impl<'a> Session<'a> {
    pub(super) fn new(order: ByteOrder, sink: &'a mut dyn Sink) -> Session<'a> {
        let mut import = Assembler::new(Feed::new(super::NAME, sink));
        import.stats().count_records();
        Session {
            order,
            attrs: Attrs::new(order),
            tracepoints: Tracepoints::default(),
            comms: BTreeMap::new(),
            cgroups: Cgroups::default(),
            rounds: Rounds::new(),
            inflater: None,
            inflated: Vec::new(),
            lost: Lost::default(),
            number: 0,
            import,
        }
    }
    /// Where notes go.
    pub(super) fn stats(&mut self) -> &mut ImportStats {
        self.import.stats()
    }
    /// The number of the record at hand, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }
    /// Takes the attributes of one event, followed by its ids.
    pub(super) fn add_attr(&mut self, body: &[u8]) {
        if !self.attrs.add(body) {
            self.import.stats().warn(self.number, "the attributes of an event could not be read: its samples are left out");
        }
    }
    /// Takes the formats of the tracepoints.
    pub(super) fn add_tracing_data(&mut self, data: &[u8]) {
        let (tracepoints, number) = (&mut self.tracepoints, self.number);
        let mut unreadable = 0;
        let is_whole = tracing_data::for_each_format(data, |order, text| unreadable += u32::from(!tracepoints.add(order, text)));
        if !is_whole {
            self.import.stats().warn(number, "the formats of the tracepoints are cut off or broken");
        }
        if unreadable > 0 {
            self.import.stats().warn(number, "the format of a tracepoint could not be read");
        }
    }
    /// Takes the kernel's release: a text with its length before it, filled up with zeros.
    pub(super) fn add_release(&mut self, data: &[u8]) {
        let mut bytes = Bytes::new(data, self.order);
        if let Some(text) = bytes.u32().and_then(|length| bytes.take(u64::from(length))) {
            let text = String::from_utf8_lossy(text);
            self.import.stats().recorded_on(text.trim_end_matches('\0'));
        }
    }
    /// A part of the header that came as a record, through a pipe.
    fn part(&mut self, body: &[u8]) {
        let mut bytes = Bytes::new(body, self.order);
        match bytes.u64() {
            Some(kind) if kind == Feature::OsRelease as u64 => self.add_release(&body[size_of::<u64>()..]),
            _ => self.not_used(),
        }
    }
    /// Takes the next record of the file.
    pub(super) fn record(&mut self, record: PerfRecord<'_>) {
        self.number += 1;
        match record.kind {
            HEADER_ATTR => self.add_attr(record.body),
            HEADER_FEATURE => self.part(record.body),
            FINISHED_ROUND => self.end_round(),
            COMPRESSED => self.packed(record.body),
            COMPRESSED2 => self.packed_with_length(record.body),
            kind if kind.is_user_type() => self.not_used(),
            _ => self.kernel_record(record),
        }
    }
    fn kernel_record(&mut self, record: PerfRecord<'_>) {
        match record.kind {
            RecordType::SAMPLE => self.sample(record.body),
            RecordType::LOST | RecordType::COMM => self.lost_or_comm(record),
            RecordType::LOST_SAMPLES => self.lost_samples(record),
            RecordType::CGROUP => self.cgroup(record.body),
            RecordType::THROTTLE => self.import.stats().lost(self.number, None),
            _ => self.not_used(),
        }
    }
    fn cgroup(&mut self, body: &[u8]) {
        let mut bytes = Bytes::new(body, self.order);
        match (bytes.u64(), bytes.until_zero()) {
            (Some(number), Some(path)) => {
                self.cgroups.learn(number, self.import.names.intern_path(&String::from_utf8_lossy(path)));
            }
            _ => self.too_short(),
        }
    }
    fn not_used(&mut self) {
        self.import.stats().unused(self.number, "records beside the samples (memory maps, symbols, threads) are not used");
    }
    fn sample(&mut self, body: &[u8]) {
        match self.event(body) {
            Ok(record) => self.rounds.push(record, |record| self.import.push(record)),
            Err(Refusal::NotUsed(what)) => self.import.stats().unused(self.number, &what),
            Err(Refusal::Unreadable(what)) => self.import.stats().skip(self.number, &what),
        }
    }
    fn event(&mut self, body: &[u8]) -> Result<RawRecord, Refusal> {
        let unreadable = |what: &str| Refusal::Unreadable(what.to_string());
        let attr = self.attrs.of_sample(body).ok_or_else(|| unreadable("a sample whose event is not described was left out"))?;
        let Some(tracepoint) = attr.tracepoint else {
            return Err(Refusal::NotUsed("samples of other events than tracepoints are not used".to_string()));
        };
        let tracepoint = self.tracepoints.get(tracepoint);
        let tracepoint = tracepoint.ok_or_else(|| unreadable("a sample of a tracepoint without a format was left out"))?;
        let name = &tracepoint.name;
        let left_out = |why: &str| Refusal::Unreadable(format!("a `{name}` was left out: {why}"));
        let fields = match &tracepoint.records {
            Records::Used(fields) => fields,
            Records::NotUsed => return Err(Refusal::NotUsed(format!("events `{name}` are not used"))),
            Records::Without(field) => return Err(left_out(&format!("its format has no field `{field}`"))),
        };
        if let Some(lacking) = attr.layout.lacks() {
            return Err(left_out(&format!("it was recorded without {lacking}")));
        }
        let sample = attr.layout.parse(body, self.order).ok_or_else(|| left_out("it is too short"))?;
        // perf's own number may be that of a process id space, and is none for a task that is about to end.
        let recorded = tracepoint.current_pid(sample.raw).filter(|&pid| pid <= i32::MAX as u32);
        let pid = recorded.or(sample.tid).filter(|&pid| pid <= i32::MAX as u32).unwrap_or(0);
        let current = Who { pid, prio: None, name: self.comms.get(&pid).copied(), name_is_stale: true };
        let event = fields.event(sample.raw, current, self.number, &mut self.import);
        let event = event.ok_or_else(|| left_out("its fields could not be read"))?;
        let record = RawRecord { at_ns: sample.at_ns, cpu: sample.cpu, line: self.number, event, current: recorded };
        let changed = sample.cgroup.zip(recorded).and_then(|(number, pid)| self.cgroups.of_current(pid, number, &event));
        if let Some(path) = changed {
            let event = RawEvent::Group { task: current, path, hierarchy: 0, comes: false };
            self.rounds.push(RawRecord { event, current: None, ..record }, |record| self.import.push(record));
        }
        Ok(record)
    }
    fn lost_or_comm(&mut self, record: PerfRecord<'_>) {
        let Some(&EventAttr { parse_info, .. }) = self.attrs.events().first() else {
            return self.import.stats().skip(self.number, "a record before any event was described was left out");
        };
        match RawEventRecord::new(record.kind, record.misc, RawData::Single(record.body), parse_info).parse() {
            Ok(EventRecord::Lost(lost)) => {
                self.lost.records = self.lost.records.saturating_add(lost.count);
                self.import.stats().lost(self.number, Some(lost.count));
            }
            Ok(EventRecord::Comm(comm)) => {
                if let Some(pid) = u32::try_from(comm.tid).ok().filter(|&pid| pid <= PID_MAX_LIMIT) {
                    self.comms.insert(pid, self.import.names.intern(&String::from_utf8_lossy(&comm.name.as_slice())));
                }
            }
            _ => self.too_short(),
        }
    }
    fn lost_samples(&mut self, record: PerfRecord<'_>) {
        match Bytes::new(record.body, self.order).u64() {
            Some(_) if record.misc & MISC_LOST_SAMPLES_BPF != 0 => self.not_used(),
            Some(count) => self.lost.samples = self.lost.samples.saturating_add(count),
            None => self.too_short(),
        }
    }
    fn too_short(&mut self) {
        self.import.stats().skip(self.number, "a record that is too short was left out");
    }
    /// The end of a round; of no meaning in a packed recording, where unpacked bytes come later than the mark.
    fn end_round(&mut self) {
        if self.inflater.is_none() {
            self.rounds.end_round(|record| self.import.push(record));
        }
    }
    fn packed_with_length(&mut self, body: &[u8]) {
        let mut bytes = Bytes::new(body, self.order);
        match bytes.u64().and_then(|length| bytes.take(length)) {
            Some(piece) => self.packed(piece),
            None => self.too_short(),
        }
    }
    fn packed(&mut self, piece: &[u8]) {
        let mut inflater = self.inflater.take().unwrap_or_else(Inflater::new);
        inflater.push(piece);
        loop {
            match inflater.next_block(&mut self.inflated) {
                Ok(true) => self.inflated_records(),
                Ok(false) => break,
                Err(error) => {
                    self.import
                        .stats()
                        .skip(self.number, &format!("a packed part that could not be unpacked was left out: {error}"));
                    inflater = Inflater::new();
                    self.inflated.clear();
                    break;
                }
            }
        }
        self.inflater = Some(inflater);
    }
    /// Takes the whole records among the unpacked bytes.
    fn inflated_records(&mut self) {
        let inflated = std::mem::take(&mut self.inflated);
        let mut rest = inflated.as_slice();
        while let Some((head, behind)) = rest.split_at_checked(RECORD_HEAD) {
            let (kind, misc, length) = record_head(head, self.order);
            let Some(length) = length else {
                self.import.stats().skip(self.number, "unpacked bytes that are no records were left out");
                rest = &[];
                break;
            };
            let Some((body, behind)) = behind.split_at_checked(length) else { break };
            rest = behind;
            match kind {
                kind if kind.is_builtin_type() => self.record(PerfRecord { kind, misc, body }),
                _ => self.not_used(),
            }
        }
        self.inflated = rest.to_vec();
    }
    /// Why nothing could be read, if so: a clause about the file.
    fn nothing_because(&mut self) -> Option<String> {
        if self.import.stats().events > 0 || !self.rounds.is_empty() {
            return None;
        }
        let used =
            |attr: &EventAttr| matches!(self.tracepoints.get(attr.tracepoint?)?.records, Records::Used(_)).then_some(*attr);
        let recorded = self.attrs.events();
        match recorded.iter().filter_map(used).find_map(|attr| attr.layout.lacks()) {
            _ if recorded.is_empty() => Some("describes no event".to_string()),
            _ if recorded.iter().all(|attr| attr.tracepoint.is_none()) => Some("has no samples of tracepoints".to_string()),
            _ if self.tracepoints.is_empty() => {
                Some("has lost the formats of its tracepoints: it is cut off, or perf was killed".to_string())
            }
            Some(lacking) => Some(format!("was recorded without {lacking}")),
            None => None,
        }
    }
    /// Nothing follows. If there is no event in the file and a reason for it, that reason is given.
    pub(super) fn finish(mut self) -> Result<ImportStats, String> {
        self.end_packed();
        if let Some(why) = self.nothing_because() {
            return Err(why);
        }
        self.rounds.finish(|record| self.import.push(record));
        let more = self.lost.samples.saturating_sub(self.lost.records);
        if more > 0 {
            self.import.stats().lost(0, Some(more));
        }
        notes::on_recording(&self.attrs, &self.tracepoints, self.import.stats());
        Ok(self.import.finish())
    }
    fn end_packed(&mut self) {
        let Some(mut inflater) = self.inflater.take() else { return };
        let outcome = inflater.finish(&mut self.inflated);
        self.inflated_records();
        match outcome {
            Ok(true) if self.inflated.is_empty() => {}
            Ok(_) => self.import.stats().warn(self.number, "the last packed part is cut off"),
            Err(error) => self.import.stats().warn(self.number, &format!("the last packed part could not be unpacked: {error}")),
        }
    }
}

/// Type, misc and length of the body; no length if it is impossible.
pub(super) fn record_head(head: &[u8], order: ByteOrder) -> (RecordType, u16, Option<usize>) {
    let number = |range: std::ops::Range<usize>| head.get(range).map_or(0, |bytes| order.unsigned(bytes));
    let length = (number(6..8) as usize).checked_sub(RECORD_HEAD);
    (RecordType(number(0..4) as u32), number(4..6) as u16, length)
}
