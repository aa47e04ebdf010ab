//! From the binary record of a tracepoint of the scheduler, of frequencies or of interrupts to an event, by the names of its fields.

use crate::ftrace::{state_from_bits, state_from_letters};
use crate::import::event_format::{ByteOrder, EventFormat, Field};
use crate::import::interruptions::HandlerEvent;
use crate::import::{Assembler, RawEvent, Who};
use fairground_model::{PrevState, WakeContext};
use std::borrow::Cow;

// Bits of common_flags: include/linux/trace_events.h TRACE_FLAG_*.
const FLAG_HARDIRQ: u64 = 0x08;
const FLAG_SOFTIRQ: u64 = 0x10;
const FLAG_NMI: u64 = 0x40;

/// A description lacks a field without which its records mean nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MissingField(pub(crate) String);

/// The places of one task's fields.
#[derive(Clone, Debug)]
struct TaskFields {
    name: Option<Field>,
    pid: Field,
    prio: Option<Field>,
}

/// Which event a record is, with the places of its fields.
#[derive(Clone, Debug)]
enum Kind {
    Waking { task: TaskFields, target_cpu: Field, context: Option<Field> },
    Wakeup { task: TaskFields, target_cpu: Field, context: Option<Field> },
    WakeupNew { task: TaskFields, target_cpu: Field },
    Switch { prev: TaskFields, prev_state: StateField, next: TaskFields },
    MigrateTask { task: TaskFields, orig_cpu: Field, dest_cpu: Field },
    StatRuntime { task: TaskFields, runtime: Field, vruntime: Option<Field> },
    Fork { parent: TaskFields, child: TaskFields },
    Exit { task: TaskFields },
    CpuFrequency { cpu: Field, khz: Field },
    Handler { event: HandlerEvent, number: Field },
    Attach { task: TaskFields, root: Field, path: Field },
}

/// The place of `prev_state` and the letters of its bits, which differ between kernels.
#[derive(Clone, Debug)]
struct StateField {
    field: Field,
    letters: Vec<(u64, char)>,
}

/// How the records of one tracepoint are read.
#[derive(Clone, Debug)]
pub(crate) struct SchedRecord {
    kind: Kind,
    order: ByteOrder,
}

impl SchedRecord {
    /// How records of `format` are read; nothing if the tracepoint is not one of those used.
    pub(crate) fn new(format: &EventFormat, order: ByteOrder) -> Result<Option<SchedRecord>, MissingField> {
        let find = |name: &str| format.field(name).cloned().ok_or_else(|| MissingField(name.to_string()));
        let task = |prefix: &str| {
            let optional = |name: &str| format.field(&format!("{prefix}{name}")).cloned();
            Ok(TaskFields { name: optional("comm"), pid: find(&format!("{prefix}pid"))?, prio: optional("prio") })
        };
        let kind = match format.name.as_str() {
            "sched_waking" => {
                let context = format.field("common_flags").cloned();
                Kind::Waking { task: task("")?, target_cpu: find("target_cpu")?, context }
            }
            "sched_wakeup" => {
                let context = format.field("common_flags").cloned();
                Kind::Wakeup { task: task("")?, target_cpu: find("target_cpu")?, context }
            }
            "sched_wakeup_new" => Kind::WakeupNew { task: task("")?, target_cpu: find("target_cpu")? },
            "sched_switch" => {
                let prev_state = StateField { field: find("prev_state")?, letters: letters(format) };
                Kind::Switch { prev: task("prev_")?, prev_state, next: task("next_")? }
            }
            "sched_migrate_task" => {
                Kind::MigrateTask { task: task("")?, orig_cpu: find("orig_cpu")?, dest_cpu: find("dest_cpu")? }
            }
            "sched_stat_runtime" => {
                let vruntime = format.field("vruntime").cloned();
                Kind::StatRuntime { task: task("")?, runtime: find("runtime")?, vruntime }
            }
            "sched_process_fork" => Kind::Fork { parent: task("parent_")?, child: task("child_")? },
            "sched_process_exit" => Kind::Exit { task: task("")? },
            "cgroup_attach_task" | "cgroup_transfer_tasks" => {
                Kind::Attach { task: task("")?, root: find("dst_root")?, path: find("dst_path")? }
            }
            "cpu_frequency" => Kind::CpuFrequency { cpu: find("cpu_id")?, khz: find("state")? },
            name => match HandlerEvent::of(name) {
                Some(event) => Kind::Handler { event, number: find(event.field)? },
                None => return Ok(None),
            },
        };
        Ok(Some(SchedRecord { kind, order }))
    }
    /// Reads one record; `None` if it is too short or holds an impossible number. `current` is the
    /// task of the CPU when the record was written. `line` is for notes.
    pub(crate) fn event(&self, record: &[u8], current: Who, line: u64, import: &mut Assembler<'_>) -> Option<RawEvent> {
        let mut fields = Fields { record, order: self.order, line, import };
        Some(match &self.kind {
            Kind::Waking { task, target_cpu, context } => RawEvent::Waking {
                task: fields.who(task)?,
                target_cpu: fields.number(target_cpu)?,
                current,
                context: context.as_ref().and_then(|flags| fields.context(flags)),
            },
            Kind::Wakeup { task, target_cpu, context } => RawEvent::Wakeup {
                task: fields.who(task)?,
                target_cpu: fields.number(target_cpu)?,
                context: context.as_ref().and_then(|flags| fields.context(flags)),
            },
            Kind::WakeupNew { task, target_cpu } => {
                RawEvent::WakeupNew { task: fields.who(task)?, target_cpu: fields.number(target_cpu)? }
            }
            Kind::Switch { prev, prev_state, next } => {
                RawEvent::Switch { prev: fields.who(prev)?, prev_state: fields.state(prev_state)?, next: fields.who(next)? }
            }
            Kind::MigrateTask { task, orig_cpu, dest_cpu } => RawEvent::MigrateTask {
                task: fields.who(task)?,
                orig_cpu: fields.number(orig_cpu)?,
                dest_cpu: fields.number(dest_cpu)?,
            },
            Kind::StatRuntime { task, runtime, vruntime } => RawEvent::StatRuntime {
                task: fields.who(task)?,
                runtime: fields.integer(runtime)?,
                vruntime: match vruntime {
                    Some(vruntime) => Some(fields.integer(vruntime)?),
                    None => None,
                },
            },
            Kind::Fork { parent, child } => RawEvent::Fork { parent: fields.who(parent)?, child: fields.who(child)? },
            Kind::Exit { task } => RawEvent::Exit { task: fields.who(task)? },
            Kind::Attach { task, root, path } => {
                let path = String::from_utf8_lossy(path.text(record, self.order)?);
                let path = fields.import.names.intern_path(&path);
                RawEvent::Group { task: fields.who(task)?, path, hierarchy: fields.integer(root)?, comes: true }
            }
            Kind::Handler { event, number } => {
                let handler = event.handler(fields.number(number)?);
                if event.enters { RawEvent::Enters(handler) } else { RawEvent::Leaves(handler) }
            }
            Kind::CpuFrequency { cpu, khz } => {
                RawEvent::CpuFrequency { cpu: fields.number(cpu)?, khz: u32::try_from(fields.integer(khz)?).ok()? }
            }
        })
    }
}

/// Letters of the bits of `prev_state`, as the description's print format has them.
fn letters(format: &EventFormat) -> Vec<(u64, char)> {
    format.flags().iter().filter_map(|(mask, text)| Some((*mask, text.chars().next()?))).collect()
}

/// One record about to be read.
struct Fields<'r, 'i, 'a> {
    record: &'r [u8],
    order: ByteOrder,
    line: u64,
    import: &'i mut Assembler<'a>,
}

impl Fields<'_, '_, '_> {
    fn integer(&self, field: &Field) -> Option<u64> {
        field.integer(self.record, self.order)
    }
    /// A number that cannot be negative: a process id or a CPU.
    fn number(&self, field: &Field) -> Option<u32> {
        let number = self.integer(field)?;
        u32::try_from(number).ok().filter(|&number| number <= i32::MAX as u32)
    }
    fn who(&mut self, task: &TaskFields) -> Option<Who> {
        let pid = self.number(&task.pid)?;
        let prio = match &task.prio {
            Some(prio) => Some(i32::try_from(self.integer(prio)?.cast_signed()).ok()?),
            None => None,
        };
        let name = match &task.name {
            Some(name) => Some(name.text(self.record, self.order)?),
            None => None,
        };
        let name = name.map(|bytes| {
            let text = String::from_utf8_lossy(bytes);
            if matches!(text, Cow::Owned(_)) {
                self.import.stats().info(self.line, "some bytes are no UTF-8: they were replaced");
            }
            self.import.names.intern(&text)
        });
        Some(Who { pid, prio, name, name_is_stale: false })
    }
    fn state(&self, state: &StateField) -> Option<PrevState> {
        let bits = self.integer(&state.field)?;
        if state.letters.is_empty() {
            return Some(state_from_bits(bits));
        }
        let has = |wanted: char| state.letters.iter().any(|&(mask, letter)| letter == wanted && bits & mask != 0);
        Some(state_from_letters(has).unwrap_or(PrevState::Running))
    }
    fn context(&self, flags: &Field) -> Option<WakeContext> {
        self.integer(flags).map(context_of)
    }
}

/// What ran when a record with these `common_flags` was written.
pub(crate) fn context_of(flags: u64) -> WakeContext {
    match (flags & (FLAG_HARDIRQ | FLAG_NMI) != 0, flags & FLAG_SOFTIRQ != 0) {
        (true, _) => WakeContext::Hardirq,
        (_, true) => WakeContext::Softirq,
        _ => WakeContext::Task,
    }
}
