//! The few messages of Perfetto's public trace format that we write: each function names one and its fields with
//! the numbers of protos/perfetto/trace/*.proto. Everything else of those messages is left out.

use crate::export::Shown;
use crate::perfetto::wire::Message;
use fairground_stdx::CpuId;

/// TracePacket without the field that says what it is about.
#[derive(Default)]
pub(super) struct TracePacket {
    pub(super) timestamp: Option<u64>,
    pub(super) interned_data: Option<Message>,
    pub(super) sequence_flags: Option<u64>,
    pub(super) trace_packet_defaults: Option<Message>,
}

/// What a TracePacket is about, by the number of its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Data {
    FtraceEvents = 1,
    ProcessTree = 2,
    ClockSnapshot = 6,
    TrackEvent = 11,
    SystemInfo = 45,
    TrackDescriptor = 60,
}

impl TracePacket {
    /// Trace: packet (1). TracePacket: `kind`, timestamp (8), trusted_packet_sequence_id (10), interned_data (12),
    /// sequence_flags (13), trace_packet_defaults (59).
    pub(super) fn in_trace(self, kind: Data, data: Message, sequence: u64) -> Message {
        let packet = Message::new()
            .message(kind as u32, data)
            .number(8, self.timestamp)
            .number(10, sequence)
            .message(12, self.interned_data)
            .number(13, self.sequence_flags)
            .message(59, self.trace_packet_defaults);
        Message::new().message(1, packet)
    }
}

/// TracePacketDefaults: timestamp_clock_id (58).
pub(super) fn trace_packet_defaults(timestamp_clock_id: u64) -> Message {
    Message::new().number(58, timestamp_clock_id)
}

/// ClockSnapshot: clocks (1), primary_trace_clock (2). Clock: clock_id (1), timestamp (2).
pub(super) fn clock_snapshot(clocks: &[(u64, u64)], primary_trace_clock: u64) -> Message {
    let clock = |&(id, timestamp): &(u64, u64)| Message::new().number(1, id).number(2, timestamp);
    Message::new().messages(1, clocks.iter().map(clock)).number(2, primary_trace_clock)
}

/// SystemInfo: utsname (1). Utsname: sysname (1), release (3).
pub(super) fn system_info(sysname: &str, release: &str) -> Message {
    Message::new().message(1, Message::new().text(1, sysname).text(3, release))
}

/// ProcessTree: processes (1), threads (2). Process: pid (1), cmdline (3). Thread: tid (1), name (2), tgid (3).
pub(super) fn process_tree(pid: u32, name: &str) -> Message {
    let pid = i64::from(pid);
    let process = Message::new().signed(1, pid).text(3, name);
    let thread = Message::new().signed(1, pid).text(2, name).signed(3, pid);
    Message::new().message(1, process).message(2, thread)
}

/// InternedData: event_categories (1), event_names (2), debug_annotation_names (3).
/// EventCategory, EventName, DebugAnnotationName: iid (1), name (2).
pub(super) fn interned_data<'n>(
    categories: impl IntoIterator<Item = (u64, &'n str)>,
    names: impl IntoIterator<Item = (u64, &'n str)>,
    annotations: impl IntoIterator<Item = (u64, &'n str)>,
) -> Message {
    let row = |(iid, name): (u64, &'n str)| Message::new().number(1, iid).text(2, name);
    Message::new()
        .messages(1, categories.into_iter().map(row))
        .messages(2, names.into_iter().map(row))
        .messages(3, annotations.into_iter().map(row))
}

/// TrackDescriptor.
pub(super) struct TrackDescriptor<'n> {
    pub(super) uuid: u64,
    pub(super) name: Option<&'n str>,
    pub(super) thread: Option<Message>,
    pub(super) parent_uuid: Option<u64>,
    pub(super) counter: Option<CounterUnit>,
}

impl TrackDescriptor<'_> {
    /// TrackDescriptor: uuid (1), name (2), thread (4), parent_uuid (5), counter (8). CounterDescriptor: unit (3).
    pub(super) fn message(self) -> Message {
        Message::new()
            .number(1, self.uuid)
            .text(2, self.name)
            .message(4, self.thread)
            .number(5, self.parent_uuid)
            .message(8, self.counter.map(|unit| Message::new().number(3, unit as u64)))
    }
}

/// CounterDescriptor.Unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CounterUnit {
    Unspecified = 0,
    TimeNs = 1,
    Count = 2,
}

/// ThreadDescriptor: pid (1), tid (2), thread_name (5).
pub(super) fn thread_descriptor(pid: u32, name: &str) -> Message {
    let pid = i64::from(pid);
    Message::new().signed(1, pid).signed(2, pid).text(5, name)
}

/// TrackEvent.
pub(super) struct TrackEvent {
    pub(super) kind: TrackEventType,
    pub(super) category_iid: Option<u64>,
    pub(super) debug_annotations: Vec<Message>,
    pub(super) name_iid: Option<u64>,
    pub(super) counter_value: Option<i64>,
}

/// TrackEvent.Type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrackEventType {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

impl TrackEvent {
    /// An event of which only the kind is known so far.
    pub(super) fn new(kind: TrackEventType) -> TrackEvent {
        TrackEvent { kind, category_iid: None, debug_annotations: Vec::new(), name_iid: None, counter_value: None }
    }
    /// TrackEvent: category_iids (3), debug_annotations (4), type (9), name_iid (10), track_uuid (11), counter_value (30).
    pub(super) fn message(self, track_uuid: u64) -> Message {
        Message::new()
            .number(3, self.category_iid)
            .messages(4, self.debug_annotations)
            .number(9, self.kind as u64)
            .number(10, self.name_iid)
            .number(11, track_uuid)
            .signed(30, self.counter_value)
    }
}

/// DebugAnnotation: name_iid (1), uint_value (3).
pub(super) fn number_annotation(name_iid: u64, value: u64) -> Message {
    Message::new().number(1, name_iid).number(3, value)
}

/// DebugAnnotation: name_iid (1), string_value (6).
pub(super) fn text_annotation(name_iid: u64, value: &str) -> Message {
    Message::new().number(1, name_iid).text(6, value)
}

/// FtraceEventBundle: cpu (1), event (2).
pub(super) fn ftrace_event_bundle(cpu: CpuId, events: Vec<Message>) -> Message {
    Message::new().number(1, u64::from(cpu.get())).messages(2, events)
}

/// FtraceEvent: timestamp (1), pid (2), `kind`, common_flags (5). `pid` is that of the task that was current.
pub(super) fn ftrace_event(timestamp: u64, pid: u64, kind: FtraceKind, body: Message, common_flags: u64) -> Message {
    Message::new().number(1, timestamp).number(2, pid).message(kind as u32, body).number(5, common_flags)
}

/// What an FtraceEvent is, by the number of its field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FtraceKind {
    SchedSwitch = 4,
    CpuFrequency = 11,
    SchedWakeup = 17,
    SchedWaking = 20,
    SchedWakeupNew = 114,
    SchedProcessExit = 238,
    SchedProcessFork = 239,
    SchedMigrateTask = 491,
}

/// Name, pid and priority of a task, which many messages have in fields that follow each other.
fn task(message: Message, first: u32, task: &Shown<'_>) -> Message {
    let Shown { name, pid, prio } = *task;
    message.text(first, name).signed(first + 1, i64::from(pid)).signed(first + 2, i64::from(prio))
}

/// SchedSwitchFtraceEvent: prev_comm (1), prev_pid (2), prev_prio (3), prev_state (4), next_comm (5), next_pid (6), next_prio (7).
pub(super) fn sched_switch(prev: &Shown<'_>, prev_state: i64, next: &Shown<'_>) -> Message {
    task(task(Message::new(), 1, prev).signed(4, prev_state), 5, next)
}

/// CpuFrequencyFtraceEvent: state (1), which is the frequency, kHz; cpu_id (2).
pub(super) fn cpu_frequency(khz: u32, cpu: CpuId) -> Message {
    Message::new().number(1, u64::from(khz)).number(2, u64::from(cpu.get()))
}

/// SchedWakeupFtraceEvent, SchedWakingFtraceEvent, SchedWakeupNewFtraceEvent: comm (1), pid (2), prio (3), success (4),
/// target_cpu (5).
pub(super) fn sched_wakeup(woken: &Shown<'_>, target_cpu: CpuId) -> Message {
    task(Message::new(), 1, woken).number(4, 1).number(5, u64::from(target_cpu.get()))
}

/// SchedMigrateTaskFtraceEvent: comm (1), pid (2), prio (3), orig_cpu (4), dest_cpu (5).
pub(super) fn sched_migrate_task(moved: &Shown<'_>, orig_cpu: CpuId, dest_cpu: CpuId) -> Message {
    task(Message::new(), 1, moved).number(4, u64::from(orig_cpu.get())).number(5, u64::from(dest_cpu.get()))
}

/// SchedProcessExitFtraceEvent: comm (1), pid (2), tgid (3), prio (4).
pub(super) fn sched_process_exit(task: &Shown<'_>) -> Message {
    let pid = i64::from(task.pid);
    Message::new().text(1, task.name).signed(2, pid).signed(3, pid).signed(4, i64::from(task.prio))
}

/// SchedProcessForkFtraceEvent: parent_comm (1), parent_pid (2), child_comm (3), child_pid (4).
pub(super) fn sched_process_fork(parent: &Shown<'_>, child: &Shown<'_>) -> Message {
    let parent = Message::new().text(1, parent.name).signed(2, i64::from(parent.pid));
    parent.text(3, child.name).signed(4, i64::from(child.pid))
}
