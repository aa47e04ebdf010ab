//! Events as a Perfetto trace. Packets are written as they come; scheduling events are held back
//! in one bundle per CPU, of bounded size.

use crate::export::{Output, Shown, TaskTable, TraceWriter, WriterOptions, sentence};
use crate::import::OWN_RELEASE;
use crate::perfetto::proto::{self, CounterUnit, Data, FtraceKind, TracePacket, TrackEvent, TrackEventType};
use crate::perfetto::tracks::Track;
use crate::perfetto::wire::Message;
use fairground_model::{
    Decision, KernelWarn, LockAct, LockEvent, LockMode, MarkerUnit, PrevState, Reason, Section, Sink, TaskInfo, TraceEvent,
    WakeContext,
};
use fairground_stdx::{CpuId, Id, Instant, LockId, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Scheduling events of one CPU held back before they are written as a bundle.
const BUNDLE: usize = 256;
/// The one sequence of packets that we write.
const SEQUENCE: u64 = 1;
/// TracePacket.SequenceFlags: interned names are told anew from here on; they are needed from here on.
const SEQ_INCREMENTAL_STATE_CLEARED: u64 = 1;
const SEQ_NEEDS_INCREMENTAL_STATE: u64 = 2;
/// BuiltinClock: all times are of this clock, which begins with the run.
const CLOCK_BOOTTIME: u64 = 6;
const CLOCK_MONOTONIC: u64 = 3;
/// The letters of `prev_state` are those of kernels from this release on; older ones had other bits.
const STATE_BITS_RELEASE: &str = "4.14.0";
/// Bits of common_flags (the kernel's TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ).
const FLAG_HARDIRQ: u64 = 0x08;
const FLAG_SOFTIRQ: u64 = 0x10;

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
/// Names of warnings of the kernel begin here.
const WARN_NAMES: u64 = 3000;
/// In the order of [`lock_iid`].
const LOCK_ACTS: [&str; 4] = ["waits to read", "waits to write", "holds to read", "holds to write"];

/// What is known of a CPU.
#[derive(Default)]
struct Cpu {
    current: Option<TaskId>,
    bundle: Vec<Message>,
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
        let packet = TracePacket {
            sequence_flags: Some(SEQ_INCREMENTAL_STATE_CLEARED),
            interned_data: Some(interned_names()),
            trace_packet_defaults: Some(proto::trace_packet_defaults(CLOCK_BOOTTIME)),
            ..TracePacket::default()
        };
        let clocks = proto::clock_snapshot(&[(CLOCK_BOOTTIME, 0), (CLOCK_MONOTONIC, 0)], CLOCK_BOOTTIME);
        self.packet(packet, Data::ClockSnapshot, clocks);
        self.data(Data::SystemInfo, proto::system_info("Linux", &format!("{STATE_BITS_RELEASE}{OWN_RELEASE}")));
    }
    fn packet(&mut self, packet: TracePacket, kind: Data, data: Message) {
        self.output.write(packet.in_trace(kind, data, SEQUENCE).bytes());
    }
    fn data(&mut self, kind: Data, data: Message) {
        self.packet(TracePacket::default(), kind, data);
    }

    /// Makes sure that a track and those above it are introduced.
    fn track(&mut self, track: Track) -> u64 {
        if self.introduced.insert(track) {
            if let Some(parent) = track.parent() {
                self.track(parent);
            }
            let shown = if let Track::Thread(task) = track { Some(self.tasks.get(task)) } else { None };
            let (name, unit) = self.name_and_unit(track);
            let descriptor = track.descriptor(&name, unit, shown);
            self.data(Data::TrackDescriptor, descriptor);
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
                    .is_some_and(|spec| !matches!(spec.unit, MarkerUnit::Count | MarkerUnit::Event | MarkerUnit::PerSecond));
                let unit = if is_time { CounterUnit::TimeNs } else { CounterUnit::Count };
                (self.options.marker_name(marker), unit)
            }
        }
    }
    fn track_event(&mut self, at: Instant, track: Track, event: TrackEvent) {
        let event = event.message(self.track(track));
        let packet =
            TracePacket { timestamp: Some(at.ns()), sequence_flags: Some(SEQ_NEEDS_INCREMENTAL_STATE), ..TracePacket::default() };
        self.packet(packet, Data::TrackEvent, event);
    }
    fn counter(&mut self, at: Instant, track: Track, value: i64) {
        self.track_event(at, track, TrackEvent { counter_value: Some(value), ..TrackEvent::new(TrackEventType::Counter) });
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
        let edge = |kind, name_iid| TrackEvent { category_iid: Some(CATEGORY_KERNEL), name_iid, ..TrackEvent::new(kind) };
        self.track_event(at, Track::Kernel(cpu), edge(TrackEventType::SliceBegin, Some(section_iid(section))));
        self.track_event(end, Track::Kernel(cpu), edge(TrackEventType::SliceEnd, None));
    }
    /// The slices of a task on the track of a lock, and how many hold the lock and wait for it.
    fn lock_event(&mut self, at: Instant, event: &LockEvent) {
        let &LockEvent { lock, task, mode, act } = event;
        let edge = |kind, name_iid| TrackEvent { category_iid: Some(CATEGORY_LOCK), name_iid, ..TrackEvent::new(kind) };
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
        let debug_annotations = vec![
            proto::text_annotation(ANNOTATION_WHY, &text),
            proto::number_annotation(ANNOTATION_A, u64::from(decision.a)),
            proto::number_annotation(ANNOTATION_B, u64::from(decision.b)),
        ];
        let event = TrackEvent {
            category_iid: Some(CATEGORY_DECISION),
            name_iid: Some(reason_iid(decision.reason)),
            debug_annotations,
            ..TrackEvent::new(TrackEventType::Instant)
        };
        self.track_event(at, Track::Decisions(cpu), event);
    }

    /// A warning of the kernel is an instant among the decisions of its CPU.
    fn kernel_warn(&mut self, at: Instant, cpu: CpuId, warn: KernelWarn) {
        let why = format!("{}: {}", warn.function(), warn.condition());
        let event = TrackEvent {
            category_iid: Some(CATEGORY_KERNEL),
            name_iid: Some(WARN_NAMES + warn as u64),
            debug_annotations: vec![proto::text_annotation(ANNOTATION_WHY, &why)],
            ..TrackEvent::new(TrackEventType::Instant)
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
    fn ftrace(&mut self, at: Instant, cpu: CpuId, current: Option<TaskId>, flags: u64, (kind, body): (FtraceKind, Message)) {
        let pid = current.map_or(0, |task| self.tasks.get(task).pid);
        let bundle = &mut self.cpu(cpu).bundle;
        bundle.push(proto::ftrace_event(at.ns(), u64::from(pid), kind, body, flags));
        if bundle.len() == BUNDLE {
            self.flush(cpu);
        }
    }
    fn flush(&mut self, cpu: CpuId) {
        let events = std::mem::take(&mut self.cpu(cpu).bundle);
        if !events.is_empty() {
            self.data(Data::FtraceEvents, proto::ftrace_event_bundle(cpu, events));
        }
    }
    fn wakeup(&self, task: TaskId, target_cpu: CpuId) -> Message {
        proto::sched_wakeup(&self.tasks.get(task), target_cpu)
    }
    fn switch(&self, cpu: CpuId, prev: Option<TaskId>, prev_state: PrevState, next: Option<TaskId>) -> Message {
        let idle = format!("swapper/{cpu}");
        let side = |task: Option<TaskId>| task.map_or(Shown { name: &idle, pid: 0, prio: 120 }, |task| self.tasks.get(task));
        proto::sched_switch(&side(prev), state_bits(prev_state), &side(next))
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
                (FtraceKind::SchedWaking, self.wakeup(task, target_cpu))
            }
            TraceEvent::SchedWakeup { task, target_cpu } => (FtraceKind::SchedWakeup, self.wakeup(task, target_cpu)),
            TraceEvent::SchedWakeupNew { task, target_cpu } => (FtraceKind::SchedWakeupNew, self.wakeup(task, target_cpu)),
            TraceEvent::SchedSwitch { prev, prev_state, next } => {
                self.cpu(cpu).current = next;
                current = prev;
                (FtraceKind::SchedSwitch, self.switch(cpu, prev, prev_state, next))
            }
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => {
                (FtraceKind::SchedMigrateTask, proto::sched_migrate_task(&self.tasks.get(task), orig_cpu, dest_cpu))
            }
            TraceEvent::SchedProcessFork { parent, child } => {
                let boot = Shown { name: "swapper", pid: 0, prio: 120 };
                let parent = parent.map_or(boot, |parent| self.tasks.get(parent));
                (FtraceKind::SchedProcessFork, proto::sched_process_fork(&parent, &self.tasks.get(child)))
            }
            TraceEvent::SchedProcessExit { task } => {
                (FtraceKind::SchedProcessExit, proto::sched_process_exit(&self.tasks.get(task)))
            }
            TraceEvent::CpuFrequency { cpu, khz } => (FtraceKind::CpuFrequency, proto::cpu_frequency(khz, cpu)),
            _ => return,
        };
        self.ftrace(at, cpu, current, flags, body);
    }
}

/// All names that events use, told once.
fn interned_names() -> Message {
    let reasons = Reason::ALL.iter().map(|&reason| (reason_iid(reason), reason.slug()));
    let sections = Section::ALL.iter().map(|&section| (section_iid(section), section.name()));
    let locks = LOCK_ACTS.iter().zip(LOCK_NAMES..).map(|(&name, iid)| (iid, name));
    let categories = [(CATEGORY_DECISION, "decision"), (CATEGORY_KERNEL, "kernel"), (CATEGORY_LOCK, "lock")];
    let annotations = [(ANNOTATION_WHY, "why"), (ANNOTATION_A, "a"), (ANNOTATION_B, "b")];
    let warns = KernelWarn::ALL.iter().map(|&warn| (WARN_NAMES + warn as u64, warn.slug()));
    proto::interned_data(categories, reasons.chain(sections).chain(locks).chain(warns), annotations)
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
        let tree = proto::process_tree(pid, name);
        self.data(Data::ProcessTree, tree);
    }
    fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        match *event {
            TraceEvent::Decision(decision) => self.decision(at, cpu, &decision),
            TraceEvent::KernelWarn(warn) => self.kernel_warn(at, cpu, warn),
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
            TraceEvent::QueueAct { .. } => {}
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
