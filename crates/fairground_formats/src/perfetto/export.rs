//! Events as a Perfetto trace. Packets are written as they come; scheduling events are held back
//! in one bundle per CPU, of bounded size.

use crate::export::{Output, Shown, TaskTable, TraceWriter, WriterOptions, sentence};
use crate::import::OWN_RELEASE;
use crate::perfetto::proto::*;
use crate::perfetto::tracks::Track;
use fairground_model::{
    Decision, LockAct, LockEvent, LockMode, MarkerUnit, PrevState, Reason, Section, Sink, TaskInfo, TraceEvent, WakeContext,
};
use fairground_stdx::{CpuId, Id, Instant, LockId, TaskId};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Scheduling events of one CPU held back before they are written as a bundle.
const BUNDLE: usize = 256;
/// The one sequence of packets that we write.
const SEQUENCE: u32 = 1;
/// TracePacket.SequenceFlags: interned names are told anew from here on; they are needed from here on.
const SEQ_INCREMENTAL_STATE_CLEARED: u32 = 1;
const SEQ_NEEDS_INCREMENTAL_STATE: u32 = 2;
/// BuiltinClock: all times are of this clock, which begins with the run.
const CLOCK_BOOTTIME: u32 = 6;
const CLOCK_MONOTONIC: u32 = 3;
/// The letters of `prev_state` are those of kernels from this release on; older ones had other bits.
const STATE_BITS_RELEASE: &str = "4.14.0";
/// Bits of common_flags (the kernel's TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ).
const FLAG_HARDIRQ: u32 = 0x08;
const FLAG_SOFTIRQ: u32 = 0x10;

const CATEGORY_DECISION: u64 = 1;
const CATEGORY_KERNEL: u64 = 2;
const CATEGORY_LOCK: u64 = 3;
const ANNOTATION_WHY: u64 = 1;
const ANNOTATION_A: u64 = 2;
const ANNOTATION_B: u64 = 3;
/// Interned names of sections follow those of reasons.
const SECTION_NAMES: u64 = 1000;
/// Those of what a task does with a lock follow.
const LOCK_NAMES: u64 = 2000;
/// In the order of [`lock_iid`].
const LOCK_ACTS: [&str; 4] = ["waits to read", "waits to write", "holds to read", "holds to write"];

/// What is known of a CPU.
#[derive(Default)]
struct Cpu {
    current: Option<TaskId>,
    bundle: Vec<FtraceEvent>,
}

/// Writes a Perfetto trace.
pub(crate) struct PerfettoWriter<'w> {
    output: Output<'w>,
    options: WriterOptions,
    tasks: TaskTable,
    cpus: Vec<Cpu>,
    /// Tracks that were introduced.
    introduced: BTreeSet<Track>,
    /// The last value of each counter that is written only when it changes.
    counters: BTreeMap<Track, i64>,
    /// Who waits for which lock, or holds it.
    lock_users: BTreeMap<(LockId, TaskId), LockAct>,
}

impl<'w> PerfettoWriter<'w> {
    pub(crate) fn new(out: Box<dyn Write + 'w>, options: &WriterOptions) -> PerfettoWriter<'w> {
        let mut writer = PerfettoWriter {
            output: Output::new(out),
            options: options.clone(),
            tasks: TaskTable::default(),
            cpus: Vec::new(),
            introduced: BTreeSet::new(),
            counters: BTreeMap::new(),
            lock_users: BTreeMap::new(),
        };
        writer.head();
        writer
    }

    /// Clocks, names and the meaning of the state bits.
    fn head(&mut self) {
        let clock = |id: u32| Clock { clock_id: Some(id), timestamp: Some(0) };
        let clocks = vec![clock(CLOCK_BOOTTIME), clock(CLOCK_MONOTONIC)];
        self.packet(TracePacket {
            data: Some(Data::ClockSnapshot(ClockSnapshot { clocks, primary_trace_clock: Some(CLOCK_BOOTTIME) })),
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            interned_data: Some(interned_names()),
            trace_packet_defaults: Some(TracePacketDefaults { timestamp_clock_id: Some(CLOCK_BOOTTIME) }),
            ..TracePacket::default()
        });
        let utsname = Utsname { sysname: Some("Linux".to_string()), release: Some(format!("{STATE_BITS_RELEASE}{OWN_RELEASE}")) };
        self.data(Data::SystemInfo(SystemInfo { utsname: Some(utsname) }));
    }
    fn packet(&mut self, packet: TracePacket) {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.output.write(&Trace { packet: vec![packet] }.encode_to_vec());
    }
    fn data(&mut self, data: Data) {
        self.packet(TracePacket { data: Some(data), ..TracePacket::default() });
    }

    /// Makes sure that a track and those above it are introduced.
    fn track(&mut self, track: Track) -> u64 {
        if self.introduced.insert(track) {
            if let Some(parent) = track.parent() {
                self.track(parent);
            }
            let shown = if let Track::Thread(task) = track { Some(self.tasks.get(task)) } else { None };
            let (name, unit) = self.name_and_unit(track);
            let descriptor = track.descriptor(name, unit, shown);
            self.data(Data::TrackDescriptor(descriptor));
        }
        track.uuid()
    }
    fn name_and_unit(&self, track: Track) -> (String, CounterUnit) {
        let plain = |name: &str, unit| (name.to_string(), unit);
        match track {
            Track::Cpu(cpu) => (format!("CPU {cpu} scheduler"), CounterUnit::Unspecified),
            Track::Decisions(_) => plain("decisions", CounterUnit::Unspecified),
            Track::Kernel(_) => plain("kernel", CounterUnit::Unspecified),
            Track::NrRunning(_) => plain("nr_running", CounterUnit::Count),
            Track::CpuUtil(_) | Track::TaskUtil(_) => plain("util_avg", CounterUnit::Unspecified),
            Track::CpuLoad(_) => plain("load_avg", CounterUnit::Unspecified),
            Track::Vruntime(_) => plain("vruntime", CounterUnit::TimeNs),
            Track::Thread(task) | Track::LockUser(_, task) => plain(self.tasks.get(task).name, CounterUnit::Unspecified),
            Track::Lock(lock) => (format!("lock {}", self.options.lock_name(lock)), CounterUnit::Unspecified),
            Track::LockHolders(_) => plain("holders", CounterUnit::Count),
            Track::LockWaiters(_) => plain("waiters", CounterUnit::Count),
            Track::Marker(_, marker) => {
                let is_time = self
                    .options
                    .markers
                    .get(marker)
                    .is_some_and(|spec| matches!(spec.unit, MarkerUnit::Ns | MarkerUnit::WholeUs | MarkerUnit::EachUs));
                let unit = if is_time { CounterUnit::TimeNs } else { CounterUnit::Count };
                (self.options.marker_name(marker), unit)
            }
        }
    }
    fn track_event(&mut self, at: Instant, track: Track, event: TrackEvent) {
        let event = TrackEvent { track_uuid: Some(self.track(track)), ..event };
        self.packet(TracePacket {
            timestamp: Some(at.ns()),
            sequence_flags: Some(SEQ_NEEDS_INCREMENTAL_STATE),
            data: Some(Data::TrackEvent(event)),
            ..TracePacket::default()
        });
    }
    fn counter(&mut self, at: Instant, track: Track, value: i64) {
        let r#type = Some(TrackEventType::Counter.into());
        self.track_event(at, track, TrackEvent { r#type, counter_value: Some(value), ..TrackEvent::default() });
    }
    /// A counter whose unchanged values are left out.
    fn counter_if_changed(&mut self, at: Instant, track: Track, value: u64) {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        if self.counters.insert(track, value) != Some(value) {
            self.counter(at, track, value);
        }
    }
    /// A section that begins at `at`.
    fn section(&mut self, at: Instant, cpu: CpuId, section: Section, took_ns: u64) {
        let end = Instant::from_ns(at.ns().saturating_add(took_ns));
        let edge = |r#type: TrackEventType| TrackEvent {
            r#type: Some(r#type.into()),
            category_iids: vec![CATEGORY_KERNEL],
            name_iid: (r#type == TrackEventType::SliceBegin).then_some(section_iid(section)),
            ..TrackEvent::default()
        };
        self.track_event(at, Track::Kernel(cpu), edge(TrackEventType::SliceBegin));
        self.track_event(end, Track::Kernel(cpu), edge(TrackEventType::SliceEnd));
    }
    /// The slices of a task on the track of a lock, and how many hold the lock and wait for it.
    fn lock_event(&mut self, at: Instant, event: &LockEvent) {
        let &LockEvent { lock, task, mode, act } = event;
        let edge = |r#type: TrackEventType, name_iid| TrackEvent {
            r#type: Some(r#type.into()),
            category_iids: vec![CATEGORY_LOCK],
            name_iid,
            ..TrackEvent::default()
        };
        if self.lock_users.remove(&(lock, task)).is_some() {
            self.track_event(at, Track::LockUser(lock, task), edge(TrackEventType::SliceEnd, None));
        }
        if act != LockAct::Releases {
            self.lock_users.insert((lock, task), act);
            self.track_event(at, Track::LockUser(lock, task), edge(TrackEventType::SliceBegin, Some(lock_iid(act, mode))));
        }
        let users = self.lock_users.iter().filter(|row| row.0.0 == lock);
        let [holds, waits] = users
            .fold([0, 0], |[holds, waits], row| if *row.1 == LockAct::Holds { [holds + 1, waits] } else { [holds, waits + 1] });
        self.counter_if_changed(at, Track::LockHolders(lock), holds);
        self.counter_if_changed(at, Track::LockWaiters(lock), waits);
    }
    fn decision(&mut self, at: Instant, cpu: CpuId, decision: &Decision) {
        let text = sentence(decision, &self.tasks);
        let number =
            |name, id: u32| DebugAnnotation { name_iid: Some(name), uint_value: Some(u64::from(id)), string_value: None };
        let why = DebugAnnotation { name_iid: Some(ANNOTATION_WHY), uint_value: None, string_value: Some(text) };
        let event = TrackEvent {
            r#type: Some(TrackEventType::Instant.into()),
            category_iids: vec![CATEGORY_DECISION],
            name_iid: Some(reason_iid(decision.reason)),
            debug_annotations: vec![why, number(ANNOTATION_A, decision.a), number(ANNOTATION_B, decision.b)],
            ..TrackEvent::default()
        };
        self.track_event(at, Track::Decisions(cpu), event);
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        if self.cpus.len() <= cpu.index() {
            self.cpus.resize_with(cpu.index() + 1, Cpu::default);
        }
        &mut self.cpus[cpu.index()]
    }
    /// Takes a scheduling event; `current` is the task of the CPU, `flags` tell of interrupts.
    fn ftrace(&mut self, at: Instant, cpu: CpuId, current: Option<TaskId>, flags: u32, event: FtraceBody) {
        let pid = current.map_or(0, |task| self.tasks.get(task).pid);
        let bundle = &mut self.cpu(cpu).bundle;
        bundle.push(FtraceEvent { timestamp: Some(at.ns()), pid: Some(pid), common_flags: Some(flags), event: Some(event) });
        if bundle.len() == BUNDLE {
            self.flush(cpu);
        }
    }
    fn flush(&mut self, cpu: CpuId) {
        let event = std::mem::take(&mut self.cpu(cpu).bundle);
        if !event.is_empty() {
            self.data(Data::FtraceEvents(FtraceEventBundle { cpu: Some(cpu.get()), event }));
        }
    }
    fn wakeup(&self, task: TaskId, target_cpu: CpuId) -> SchedWakeup {
        let Shown { name, pid, prio } = self.tasks.get(task);
        SchedWakeup {
            comm: Some(name.to_string()),
            pid: Some(pid as i32),
            prio: Some(prio),
            success: Some(1),
            target_cpu: Some(target_cpu.get() as i32),
        }
    }
    fn switch(&self, cpu: CpuId, prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) -> SchedSwitch {
        let idle = format!("swapper/{cpu}");
        let side = |task: Option<TaskId>| task.map_or(Shown { name: &idle, pid: 0, prio: 120 }, |task| self.tasks.get(task));
        let (prev, next) = (side(prev), side(next));
        SchedSwitch {
            prev_comm: Some(prev.name.to_string()),
            prev_pid: Some(prev.pid as i32),
            prev_prio: Some(prev.prio),
            prev_state: Some(state_bits(prev_state)),
            next_comm: Some(next.name.to_string()),
            next_pid: Some(next.pid as i32),
            next_prio: Some(next.prio),
        }
    }
    /// The events that have a message of their own among Perfetto's ftrace events.
    fn scheduling_event(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let mut current = self.cpu(cpu).current;
        let mut flags = 0;
        let body = match *event {
            TraceEvent::SchedWaking { task, target_cpu, waker, context } => {
                (current, flags) = match context {
                    WakeContext::Task => (waker.or(current), 0),
                    WakeContext::Softirq => (waker.or(current), FLAG_SOFTIRQ),
                    WakeContext::Hardirq => (current, FLAG_HARDIRQ),
                };
                FtraceBody::Waking(self.wakeup(task, target_cpu))
            }
            TraceEvent::SchedWakeup { task, target_cpu } => FtraceBody::Wakeup(self.wakeup(task, target_cpu)),
            TraceEvent::SchedWakeupNew { task, target_cpu } => FtraceBody::WakeupNew(self.wakeup(task, target_cpu)),
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                self.cpu(cpu).current = next;
                current = prev;
                FtraceBody::Switch(self.switch(cpu, prev, prev_state, next))
            }
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                let SchedWakeup { comm, pid, prio, .. } = self.wakeup(task, dest_cpu);
                let (orig_cpu, dest_cpu) = (Some(orig_cpu.get() as i32), Some(dest_cpu.get() as i32));
                FtraceBody::MigrateTask(SchedMigrateTask { comm, pid, prio, orig_cpu, dest_cpu })
            }
            TraceEvent::SchedProcessFork { parent, child } => {
                let parent = parent.map(|parent| self.tasks.get(parent));
                let child = self.tasks.get(child);
                FtraceBody::ProcessFork(SchedProcessFork {
                    parent_comm: Some(parent.as_ref().map_or("swapper", |parent| parent.name).to_string()),
                    parent_pid: Some(parent.map_or(0, |parent| parent.pid as i32)),
                    child_comm: Some(child.name.to_string()),
                    child_pid: Some(child.pid as i32),
                })
            }
            TraceEvent::SchedProcessExit { task } => {
                let Shown { name, pid, prio } = self.tasks.get(task);
                let (comm, pid) = (Some(name.to_string()), Some(pid as i32));
                FtraceBody::ProcessExit(SchedProcessExit { comm, pid, tgid: pid, prio: Some(prio) })
            }
            TraceEvent::CpuFrequency { cpu, khz } => {
                FtraceBody::CpuFrequency(CpuFrequency { state: Some(khz), cpu_id: Some(cpu.get()) })
            }
            _ => return,
        };
        self.ftrace(at, cpu, current, flags, body);
    }
}

/// All names that events use, told once.
fn interned_names() -> InternedData {
    let row = |iid: u64, name: &str| InternedName { iid: Some(iid), name: Some(name.to_string()) };
    let reasons = Reason::ALL.iter().map(|&reason| row(reason_iid(reason), reason.slug()));
    let sections = Section::ALL.iter().map(|&section| row(section_iid(section), section.name()));
    let locks = LOCK_ACTS.iter().zip(LOCK_NAMES..).map(|(name, iid)| row(iid, name));
    let categories = [(CATEGORY_DECISION, "decision"), (CATEGORY_KERNEL, "kernel"), (CATEGORY_LOCK, "lock")];
    InternedData {
        event_categories: categories.map(|(iid, name)| row(iid, name)).to_vec(),
        event_names: reasons.chain(sections).chain(locks).collect(),
        debug_annotation_names: vec![row(ANNOTATION_WHY, "why"), row(ANNOTATION_A, "a"), row(ANNOTATION_B, "b")],
    }
}
/// An interned id is never 0.
fn reason_iid(reason: Reason) -> u64 {
    reason as u64 + 1
}
fn section_iid(section: Section) -> u64 {
    SECTION_NAMES + section as u64
}
fn lock_iid(act: LockAct, mode: LockMode) -> u64 {
    LOCK_NAMES + 2 * u64::from(act == LockAct::Holds) + u64::from(mode == LockMode::Write)
}

/// Bits of prev_state from 4.14 on: TASK_INTERRUPTIBLE 1, TASK_UNINTERRUPTIBLE 2, EXIT_DEAD 0x10, TASK_REPORT_IDLE 0x80.
const fn state_bits(state: PrevState) -> i64 {
    match state {
        PrevState::Running => 0,
        PrevState::Sleeping => 0x01,
        PrevState::DiskSleep => 0x02,
        PrevState::Dead => 0x10,
        PrevState::IdleWait => 0x80,
    }
}

impl Sink for PerfettoWriter<'_> {
    fn task(&mut self, task: TaskId, info: &TaskInfo) {
        self.tasks.set(task, info);
        let Shown { name, pid, .. } = self.tasks.get(task);
        let (id, name) = (Some(pid as i32), name.to_string());
        let process = Process { pid: id, cmdline: vec![name.clone()] };
        let thread = Thread { tid: id, name: Some(name), tgid: id };
        self.data(Data::ProcessTree(ProcessTree { processes: vec![process], threads: vec![thread] }));
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Decision(decision) => self.decision(at, cpu, &decision),
            TraceEvent::KernelSection { section, took } => self.section(at, cpu, section, took.0),
            // A vruntime wraps and is compared by signed distance, so it is shown signed.
            TraceEvent::SchedStatRuntime { task, vruntime: Some(vruntime), .. } => {
                self.counter(at, Track::Vruntime(task), vruntime.0 as i64);
            }
            TraceEvent::Marker { task, marker, value } => {
                self.counter(at, Track::Marker(task, marker), i64::try_from(value).unwrap_or(i64::MAX));
            }
            TraceEvent::CfsSample { nr_running, util_avg, load_avg } => {
                self.counter_if_changed(at, Track::NrRunning(cpu), u64::from(nr_running));
                self.counter_if_changed(at, Track::CpuUtil(cpu), u64::from(util_avg));
                self.counter_if_changed(at, Track::CpuLoad(cpu), load_avg);
            }
            TraceEvent::SeSample { task, util_avg } => {
                self.counter_if_changed(at, Track::TaskUtil(task), u64::from(util_avg));
            }
            _ => self.scheduling_event(at, cpu, event),
        }
    }
    fn lock(&mut self, at: Instant, _cpu: CpuId, event: &LockEvent) {
        self.lock_event(at, event);
    }
    fn wants_samples(&self) -> bool {
        true
    }
}

impl TraceWriter for PerfettoWriter<'_> {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        for cpu in 0..self.cpus.len() {
            self.flush(CpuId::from_index(cpu));
        }
        self.output.finish()
    }
}
