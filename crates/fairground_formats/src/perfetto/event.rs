//! One FtraceEvent.

use crate::import::{NameId, NameTable, RawEvent, Who};
use crate::perfetto::state::StateBits;
use crate::perfetto::wire::{Fields, Value, WireError};
use fairground_model::WakeContext;
use std::borrow::Cow;

// Numbers of the fields of FtraceEvent.
const TIMESTAMP: u32 = 1;
const PID: u32 = 2;
const SCHED_SWITCH: u32 = 4;
const COMMON_FLAGS: u32 = 5;
const CPU_FREQUENCY: u32 = 11;
const SCHED_WAKEUP: u32 = 17;
const SCHED_WAKING: u32 = 20;
const CGROUP_ATTACH_TASK: u32 = 67;
const CGROUP_TRANSFER_TASKS: u32 = 71;
const SCHED_WAKEUP_NEW: u32 = 114;
const TASK_NEWTASK: u32 = 235;
const TASK_RENAME: u32 = 236;
const SCHED_PROCESS_EXIT: u32 = 238;
const SCHED_PROCESS_FORK: u32 = 239;
/// A tracepoint that has no message of its own: its name and a list of named fields.
const GENERIC: u32 = 327;
const SCHED_MIGRATE_TASK: u32 = 491;

// Bits of common_flags: include/linux/trace_events.h TRACE_FLAG_*.
const FLAG_HARDIRQ: u32 = 0x08;
const FLAG_SOFTIRQ: u32 = 0x10;
const FLAG_NMI: u32 = 0x40;

/// An event whose own fields were not read yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FtraceEvent<'a> {
    pub(super) at_ns: Option<u64>,
    /// The task that was current.
    pub(super) current_pid: Option<u32>,
    flags: Option<u32>,
    /// The number of the event's field, and the message in it.
    body: Option<(u32, &'a [u8])>,
}

/// What an event means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    /// Something that the scheduler did, or a change of frequency.
    Used(RawEvent),
    /// A task has this name from now on.
    Name(Who),
    /// Something of no use here.
    NotUsed,
    /// A tracepoint of the scheduler without the fields that it must have.
    Malformed(&'static str),
}

/// What events are read with.
pub(super) struct Reading<'r> {
    pub(super) names: &'r mut NameTable,
    pub(super) state_bits: StateBits,
    /// Names in which bytes had to be replaced.
    pub(super) replaced: &'r mut u64,
}

impl Reading<'_> {
    pub(super) fn name(&mut self, bytes: &[u8]) -> NameId {
        let text = String::from_utf8_lossy(bytes);
        *self.replaced += u64::from(matches!(text, Cow::Owned(_)));
        self.names.intern(&text)
    }
    /// A task as a record names it.
    fn who(&mut self, pid: u32, prio: Option<i32>, name: Option<&[u8]>) -> Who {
        Who { pid, prio, name: name.map(|name| self.name(name)), name_is_stale: false }
    }
}

impl<'a> FtraceEvent<'a> {
    pub(super) fn read(message: &'a [u8]) -> Result<FtraceEvent<'a>, WireError> {
        let mut event = FtraceEvent { at_ns: None, current_pid: None, flags: None, body: None };
        for field in Fields::of(message) {
            match field? {
                (TIMESTAMP, value) => event.at_ns = value.number(),
                (PID, value) => event.current_pid = value.natural(),
                (COMMON_FLAGS, value) => event.flags = value.int32().map(i32::cast_unsigned),
                (number, Value::Bytes(body)) => event.body = Some((number, body)),
                _ => {}
            }
        }
        Ok(event)
    }
    /// Reads the event's own fields. `current` is the task of the CPU.
    pub(super) fn meaning(&self, current: Who, reading: &mut Reading<'_>) -> Meaning {
        let Some((number, body)) = self.body else { return Meaning::NotUsed };
        if number == GENERIC {
            return generic(body, reading);
        }
        let Some(tracepoint) = tracepoint(number) else { return Meaning::NotUsed };
        let meaning = Body::read(body).ok().and_then(|body| {
            Some(match number {
                TASK_NEWTASK => Meaning::Name(body.task([2, 1, 0], reading)?),
                TASK_RENAME => Meaning::Name(body.task([3, 1, 0], reading)?),
                SCHED_WAKING => {
                    let task = body.task([1, 2, 3], reading)?;
                    let context = self.flags.map(wake_context);
                    Meaning::Used(RawEvent::Waking { task, target_cpu: body.natural(5)?, current, context })
                }
                SCHED_WAKEUP => {
                    let task = body.task([1, 2, 3], reading)?;
                    let context = self.flags.map(wake_context);
                    Meaning::Used(RawEvent::Wakeup { task, target_cpu: body.natural(5)?, context })
                }
                number => Meaning::Used(body.event(number, reading)?),
            })
        });
        meaning.unwrap_or(Meaning::Malformed(tracepoint))
    }
}

/// The kernel's name of an event that is read.
fn tracepoint(number: u32) -> Option<&'static str> {
    Some(match number {
        SCHED_SWITCH => "sched_switch",
        CPU_FREQUENCY => "cpu_frequency",
        SCHED_WAKING => "sched_waking",
        SCHED_WAKEUP => "sched_wakeup",
        SCHED_WAKEUP_NEW => "sched_wakeup_new",
        SCHED_MIGRATE_TASK => "sched_migrate_task",
        SCHED_PROCESS_FORK => "sched_process_fork",
        SCHED_PROCESS_EXIT => "sched_process_exit",
        CGROUP_ATTACH_TASK => "cgroup_attach_task",
        CGROUP_TRANSFER_TASKS => "cgroup_transfer_tasks",
        TASK_NEWTASK => "task_newtask",
        TASK_RENAME => "task_rename",
        _ => return None,
    })
}

/// Where the waking CPU was.
pub(super) fn wake_context(flags: u32) -> WakeContext {
    match () {
        () if flags & (FLAG_HARDIRQ | FLAG_NMI) != 0 => WakeContext::Hardirq,
        () if flags & FLAG_SOFTIRQ != 0 => WakeContext::Softirq,
        () => WakeContext::Task,
    }
}

/// Fields of an event's message by number; no message that is read has more than seven.
struct Body<'a>([Option<Value<'a>>; 8]);

impl<'a> Body<'a> {
    fn read(message: &'a [u8]) -> Result<Body<'a>, WireError> {
        let mut body = Body([None; 8]);
        for field in Fields::of(message) {
            let (number, value) = field?;
            if let Some(place) = body.0.get_mut(number as usize) {
                *place = Some(value);
            }
        }
        Ok(body)
    }
    fn int32(&self, number: usize) -> Option<i32> {
        self.0[number]?.int32()
    }
    fn natural(&self, number: usize) -> Option<u32> {
        self.0[number]?.natural()
    }
    /// The task whose name, process id and priority have these numbers; 0 stands for a field that
    /// the event does not have.
    fn task(&self, [name, pid, prio]: [usize; 3], reading: &mut Reading<'_>) -> Option<Who> {
        let name = self.0[name].and_then(Value::bytes);
        Some(reading.who(self.natural(pid)?, self.int32(prio), name))
    }
    fn event(&self, number: u32, reading: &mut Reading<'_>) -> Option<RawEvent> {
        Some(match number {
            SCHED_SWITCH => RawEvent::Switch {
                prev: self.task([1, 2, 3], reading)?,
                prev_state: reading.state_bits.state(self.0[4]?.number()?),
                next: self.task([5, 6, 7], reading)?,
            },
            SCHED_WAKEUP_NEW => RawEvent::WakeupNew { task: self.task([1, 2, 3], reading)?, target_cpu: self.natural(5)? },
            SCHED_MIGRATE_TASK => RawEvent::MigrateTask {
                task: self.task([1, 2, 3], reading)?,
                orig_cpu: self.natural(4)?,
                dest_cpu: self.natural(5)?,
            },
            SCHED_PROCESS_FORK => {
                RawEvent::Fork { parent: self.task([1, 2, 0], reading)?, child: self.task([3, 4, 0], reading)? }
            }
            CPU_FREQUENCY => RawEvent::CpuFrequency { cpu: self.natural(2)?, khz: self.0[1]?.number()?.try_into().ok()? },
            SCHED_PROCESS_EXIT => RawEvent::Exit { task: self.task([1, 2, 4], reading)? },
            CGROUP_ATTACH_TASK | CGROUP_TRANSFER_TASKS => RawEvent::Group {
                task: self.task([4, 3, 0], reading)?,
                path: reading.name(self.0[7]?.bytes()?),
                hierarchy: self.int32(1).and_then(|root| u64::try_from(root).ok()).unwrap_or(0),
                comes: true,
            },
            _ => return None,
        })
    }
}

/// A tracepoint without a message of its own: sched_stat_runtime, and sched_migrate_task as
/// recorders wrote it before 2022.
fn generic(message: &[u8], reading: &mut Reading<'_>) -> Meaning {
    let Some(name) = Fields::of(message).flatten().find_map(|(number, value)| value.bytes().filter(|_| number == 1)) else {
        return Meaning::NotUsed;
    };
    let (name, event) = match name {
        b"sched_stat_runtime" => ("sched_stat_runtime", generic_runtime(message, reading)),
        b"sched_migrate_task" => ("sched_migrate_task", generic_migrate(message, reading)),
        _ => return Meaning::NotUsed,
    };
    event.map_or(Meaning::Malformed(name), Meaning::Used)
}

fn generic_runtime(message: &[u8], reading: &mut Reading<'_>) -> Option<RawEvent> {
    Some(RawEvent::StatRuntime {
        task: reading.who(named(message, b"pid")?.natural()?, None, named(message, b"comm").and_then(Value::bytes)),
        runtime: named(message, b"runtime")?.number()?,
        vruntime: named(message, b"vruntime").and_then(Value::number),
    })
}

fn generic_migrate(message: &[u8], reading: &mut Reading<'_>) -> Option<RawEvent> {
    let prio = named(message, b"prio").and_then(Value::int32);
    Some(RawEvent::MigrateTask {
        task: reading.who(named(message, b"pid")?.natural()?, prio, named(message, b"comm").and_then(Value::bytes)),
        orig_cpu: named(message, b"orig_cpu")?.natural()?,
        dest_cpu: named(message, b"dest_cpu")?.natural()?,
    })
}

/// The value of the field of this name: GenericFtraceEvent.field (2) with name (1) and one of
/// str_value (3), int_value (4), uint_value (5).
fn named<'a>(message: &'a [u8], name: &[u8]) -> Option<Value<'a>> {
    let fields = Fields::of(message).flatten().filter_map(|(number, value)| value.bytes().filter(|_| number == 2));
    let mut fields = fields.filter(|field| Fields::of(field).flatten().any(|part| part == (1, Value::Bytes(name))));
    let parts = Fields::of(fields.next()?).flatten();
    parts.filter(|&(number, _)| (3..=5).contains(&number)).map(|(_, value)| value).next()
}
