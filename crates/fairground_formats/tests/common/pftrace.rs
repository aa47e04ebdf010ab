//! Perfetto traces made of events with Perfetto's own message definitions, as a recorder would make them.

use fairground_formats::RecordedTrace;
use fairground_model::{PrevState, TraceEvent, WakeContext};
use fairground_stdx::TaskId;
use perfetto_protos::ftrace_event::FtraceEvent;
use perfetto_protos::ftrace_event::ftrace_event::Event;
use perfetto_protos::ftrace_event_bundle::FtraceEventBundle;
use perfetto_protos::ftrace_event_bundle::ftrace_event_bundle::CompactSched;
use perfetto_protos::generic::GenericFtraceEvent;
use perfetto_protos::generic::generic_ftrace_event::{Field, field};
use perfetto_protos::power::CpuFrequencyFtraceEvent;
use perfetto_protos::sched::{
    SchedMigrateTaskFtraceEvent, SchedProcessExitFtraceEvent, SchedProcessForkFtraceEvent, SchedSwitchFtraceEvent,
    SchedWakeupFtraceEvent, SchedWakeupNewFtraceEvent, SchedWakingFtraceEvent,
};
use perfetto_protos::trace::Trace;
use perfetto_protos::trace_packet::TracePacket;
use perfetto_protos::trace_packet::trace_packet::{Data, Optional_trusted_packet_sequence_id};
use protobuf::{Message, MessageField};

/// How scheduling events are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    Plain,
    /// Switches and wakings in columns.
    Compact,
}

/// Events of one CPU in one bundle.
pub(crate) const BUNDLE: usize = 500;
/// Events of all CPUs between two rounds in which the recorder empties the buffers.
pub(crate) const ROUND: usize = 20_000;

/// A packet of the recorder's one writer.
pub(crate) fn packet(data: Data) -> TracePacket {
    let sequence = Some(Optional_trusted_packet_sequence_id::TrustedPacketSequenceId(7));
    TracePacket { data: Some(data), optional_trusted_packet_sequence_id: sequence, ..TracePacket::default() }
}
pub(crate) fn file(packets: Vec<TracePacket>) -> Vec<u8> {
    Trace { packet: packets, ..Trace::default() }.write_to_bytes().unwrap()
}

/// The trace as a recorder's file: in each round the bundles of one CPU after those of the other.
pub(crate) fn encode(trace: &RecordedTrace, form: Form) -> Vec<u8> {
    let mut encoder = Encoder { trace, current: vec![None; 1024] };
    let mut packets = Vec::new();
    for round in trace.events.chunks(ROUND) {
        for cpu in trace.stats.cpus.iter() {
            let of_cpu: Vec<&Row> = round.iter().filter(|row| row.1 == cpu).collect();
            for rows in of_cpu.chunks(BUNDLE) {
                packets.push(packet(Data::FtraceEvents(encoder.bundle(cpu.get(), rows, form))));
            }
        }
    }
    file(packets)
}

pub(crate) type Row = (fairground_stdx::Instant, fairground_stdx::CpuId, TraceEvent);

struct Encoder<'t> {
    trace: &'t RecordedTrace,
    /// The task of each CPU after its last switch; the inner `None` is the idle task.
    current: Vec<Option<Option<TaskId>>>,
}

impl Encoder<'_> {
    fn bundle(&mut self, cpu: u32, rows: &[&Row], form: Form) -> FtraceEventBundle {
        let mut bundle = FtraceEventBundle { cpu: Some(cpu), ..FtraceEventBundle::default() };
        let mut compact = CompactSched::default();
        let (mut last_switch, mut last_waking) = (0, 0);
        for &&(at, _, event) in rows {
            match event {
                TraceEvent::SchedSwitch { prev_state, next, .. } if form == Form::Compact => {
                    compact.switch_timestamp.push(at.ns() - std::mem::replace(&mut last_switch, at.ns()));
                    compact.switch_prev_state.push(bits(prev_state));
                    compact.switch_next_pid.push(self.pid(next));
                    compact.switch_next_prio.push(self.prio(next));
                    let index = intern(&mut compact.intern_table, self.name(next));
                    compact.switch_next_comm_index.push(index);
                }
                TraceEvent::SchedWaking { task, target_cpu, context, .. } if form == Form::Compact => {
                    compact.waking_timestamp.push(at.ns() - std::mem::replace(&mut last_waking, at.ns()));
                    compact.waking_pid.push(self.pid(Some(task)));
                    compact.waking_target_cpu.push(target_cpu.get() as i32);
                    compact.waking_prio.push(self.prio(Some(task)));
                    compact.waking_common_flags.push(flags(context));
                    let index = intern(&mut compact.intern_table, self.name(Some(task)));
                    compact.waking_comm_index.push(index);
                }
                _ => bundle.event.push(self.plain(cpu, at.ns(), &event)),
            }
            if let TraceEvent::SchedSwitch { next, .. } = event {
                self.current[cpu as usize] = Some(next);
            }
        }
        if !compact.switch_timestamp.is_empty() || !compact.waking_timestamp.is_empty() {
            bundle.compact_sched = MessageField::some(compact);
        }
        bundle
    }
    fn plain(&self, cpu: u32, at_ns: u64, event: &TraceEvent) -> FtraceEvent {
        let known = self.current[cpu as usize];
        let (current, common_flags) = match *event {
            TraceEvent::SchedSwitch { prev, .. } => (Some(prev), None),
            TraceEvent::SchedWaking { waker: None, context: WakeContext::Hardirq, .. } => {
                (known, Some(flags(WakeContext::Hardirq)))
            }
            TraceEvent::SchedWaking { waker, context, .. } => (Some(waker), Some(flags(context))),
            _ => (known, None),
        };
        FtraceEvent {
            timestamp: Some(at_ns),
            pid: current.map(|current| self.pid(current) as u32),
            common_flags,
            event: Some(self.body(event)),
            ..FtraceEvent::default()
        }
    }
    fn body(&self, event: &TraceEvent) -> Event {
        macro_rules! wakeup {
            ($variant:ident, $message:ident, $task:expr, $target_cpu:expr) => {
                Event::$variant($message {
                    comm: Some(self.name(Some($task))),
                    pid: Some(self.pid(Some($task))),
                    prio: Some(self.prio(Some($task))),
                    success: Some(1),
                    target_cpu: Some($target_cpu.get() as i32),
                    ..$message::default()
                })
            };
        }
        match *event {
            TraceEvent::SchedSwitch { prev, prev_state, next } => Event::SchedSwitch(SchedSwitchFtraceEvent {
                prev_comm: Some(self.name(prev)),
                prev_pid: Some(self.pid(prev)),
                prev_prio: Some(self.prio(prev)),
                prev_state: Some(bits(prev_state)),
                next_comm: Some(self.name(next)),
                next_pid: Some(self.pid(next)),
                next_prio: Some(self.prio(next)),
                ..SchedSwitchFtraceEvent::default()
            }),
            TraceEvent::SchedWaking { task, target_cpu, .. } => {
                wakeup!(SchedWaking, SchedWakingFtraceEvent, task, target_cpu)
            }
            TraceEvent::SchedWakeup { task, target_cpu } => wakeup!(SchedWakeup, SchedWakeupFtraceEvent, task, target_cpu),
            TraceEvent::SchedWakeupNew { task, target_cpu } => {
                wakeup!(SchedWakeupNew, SchedWakeupNewFtraceEvent, task, target_cpu)
            }
            TraceEvent::SchedMigrateTask { task, orig_cpu, dest_cpu } => Event::SchedMigrateTask(SchedMigrateTaskFtraceEvent {
                comm: Some(self.name(Some(task))),
                pid: Some(self.pid(Some(task))),
                prio: Some(self.prio(Some(task))),
                orig_cpu: Some(orig_cpu.get() as i32),
                dest_cpu: Some(dest_cpu.get() as i32),
                ..SchedMigrateTaskFtraceEvent::default()
            }),
            TraceEvent::SchedProcessFork { parent, child } => Event::SchedProcessFork(SchedProcessForkFtraceEvent {
                parent_comm: Some(self.name(parent)),
                parent_pid: Some(self.pid(parent)),
                child_comm: Some(self.name(Some(child))),
                child_pid: Some(self.pid(Some(child))),
                ..SchedProcessForkFtraceEvent::default()
            }),
            TraceEvent::SchedProcessExit { task } => Event::SchedProcessExit(SchedProcessExitFtraceEvent {
                comm: Some(self.name(Some(task))),
                pid: Some(self.pid(Some(task))),
                tgid: Some(self.pid(Some(task))),
                prio: Some(self.prio(Some(task))),
                ..SchedProcessExitFtraceEvent::default()
            }),
            TraceEvent::CpuFrequency { cpu, khz } => Event::CpuFrequency(CpuFrequencyFtraceEvent {
                state: Some(khz),
                cpu_id: Some(cpu.get()),
                ..CpuFrequencyFtraceEvent::default()
            }),
            TraceEvent::SchedStatRuntime { task, runtime, vruntime } => {
                let mut fields = vec![
                    field("comm", field::Value::StrValue(self.name(Some(task)))),
                    field("pid", field::Value::IntValue(self.pid(Some(task)).into())),
                    field("runtime", field::Value::UintValue(runtime.0)),
                ];
                fields.extend(vruntime.map(|vruntime| field("vruntime", field::Value::UintValue(vruntime.0))));
                let event_name = Some("sched_stat_runtime".to_string());
                Event::Generic(GenericFtraceEvent { event_name, field: fields, ..GenericFtraceEvent::default() })
            }
            ref other => panic!("{other:?} is no tracepoint"),
        }
    }
    fn pid(&self, task: Option<TaskId>) -> i32 {
        task.map_or(0, |task| self.trace.tasks[task].pid as i32)
    }
    fn prio(&self, task: Option<TaskId>) -> i32 {
        task.map_or(120, |task| self.trace.tasks[task].prio)
    }
    fn name(&self, task: Option<TaskId>) -> String {
        task.map_or("swapper/0", |task| &self.trace.tasks[task].name).to_string()
    }
}

fn intern(table: &mut Vec<String>, name: String) -> u32 {
    let index = table.iter().position(|known| *known == name).unwrap_or_else(|| {
        table.push(name);
        table.len() - 1
    });
    index as u32
}

fn field(name: &str, value: field::Value) -> Field {
    Field { name: Some(name.to_string()), value: Some(value), ..Field::default() }
}

/// Bits of prev_state of kernels from 4.14 on.
pub(crate) fn bits(state: PrevState) -> i64 {
    match state {
        PrevState::Running => 0x100, // preempted
        PrevState::Sleeping => 0x01,
        PrevState::DiskSleep => 0x02,
        PrevState::Dead => 0x20,
        PrevState::IdleWait => 0x80,
    }
}

fn flags(context: WakeContext) -> u32 {
    match context {
        WakeContext::Task => 0x01,
        WakeContext::Softirq => 0x11,
        WakeContext::Hardirq => 0x0d,
    }
}
