//! From the fields of an event to one of ours.

use super::bits::{Value, Values};
use super::current::CurrentTasks;
use crate::ftrace::state_from_bits;
use crate::import::interruptions::HandlerEvent;
use crate::import::sched_record::context_of;
use crate::import::{Assembler, RawEvent, Who};
use fairground_model::{PrevState, WakeContext};
use std::borrow::Cow;

/// LTTng writes priorities less MAX_RT_PRIO.
const MAX_RT_PRIO: i32 = 100;
// prev_state before Linux 4.14, whose bits LTTng writes as the task has them: include/linux/sched.h.
const OLD_DEAD: u64 = 16 | 32 | 64;
const OLD_PARKED: u64 = 512;
const OLD_UNINTERRUPTIBLE: u64 = 2;
const OLD_SLEEPS: u64 = 1 | 4 | 8;

/// What an event is to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Waking,
    Wakeup,
    WakeupNew,
    Switch,
    MigrateTask,
    StatRuntime,
    Fork,
    Exit,
    CpuFrequency,
    /// An interrupt begins (`true`) or ends: no event of ours, but whoever is woken in it is woken by it.
    Interrupt(WakeContext, bool),
    NotUsed,
}

impl Kind {
    /// By the event's name, of LTTng or of perf, which puts the group before it.
    pub(super) fn of(name: &str) -> Kind {
        let (group, own) = name.rsplit_once(':').unwrap_or(("", name));
        match own {
            "sched_waking" => Kind::Waking,
            "sched_wakeup" => Kind::Wakeup,
            "sched_wakeup_new" => Kind::WakeupNew,
            "sched_switch" => Kind::Switch,
            "sched_migrate_task" => Kind::MigrateTask,
            "sched_stat_runtime" => Kind::StatRuntime,
            "sched_process_fork" => Kind::Fork,
            "sched_process_exit" => Kind::Exit,
            "cpu_frequency" | "power_cpu_frequency" => Kind::CpuFrequency,
            "irq_softirq_entry" | "softirq_entry" => Kind::Interrupt(WakeContext::Softirq, true),
            "irq_softirq_exit" | "softirq_exit" => Kind::Interrupt(WakeContext::Softirq, false),
            _ => {
                let is_timer = |suffix: &str| matches!(own.strip_suffix(suffix), Some("hrtimer_expire" | "timer_hrtimer_expire"));
                let is_vector = group == "irq_vectors" || own.starts_with("x86_irq_vectors_");
                let is = |suffix: &str| {
                    own == format!("irq_handler{suffix}") || is_timer(suffix) || (is_vector && own.ends_with(suffix))
                };
                match () {
                    () if is("_entry") => Kind::Interrupt(WakeContext::Hardirq, true),
                    () if is("_exit") => Kind::Interrupt(WakeContext::Hardirq, false),
                    () => Kind::NotUsed,
                }
            }
        }
    }
}

/// The names of a task's fields: process id as LTTng and as the kernel calls it, priority, name.
struct TaskFields {
    tid: &'static str,
    pid: &'static str,
    prio: &'static str,
    comm: &'static str,
}

macro_rules! task_fields {
    ($prefix:literal) => {
        TaskFields {
            tid: concat!($prefix, "tid"),
            pid: concat!($prefix, "pid"),
            prio: concat!($prefix, "prio"),
            comm: concat!($prefix, "comm"),
        }
    };
}

const TASK: TaskFields = task_fields!("");
const PREV: TaskFields = task_fields!("prev_");
const NEXT: TaskFields = task_fields!("next_");
const PARENT: TaskFields = task_fields!("parent_");
const CHILD: TaskFields = task_fields!("child_");

/// One event about to be read.
pub(super) struct Reading<'r, 'm, 'a> {
    pub(super) values: &'r Values<'m>,
    /// What texts among the values lie in.
    pub(super) bytes: &'r [u8],
    /// The kernel is older than 4.14.
    pub(super) has_old_states: bool,
    pub(super) number: u64,
    pub(super) import: &'r mut Assembler<'a>,
}

impl Reading<'_, '_, '_> {
    fn integer(&self, name: &str) -> Option<u64> {
        self.values.own(name)?.number()
    }
    /// A number that cannot be negative.
    fn number(&self, name: &str) -> Option<u32> {
        u32::try_from(self.integer(name)?).ok().filter(|&number| number <= i32::MAX as u32)
    }
    /// The CPU, where the event itself tells it.
    pub(super) fn cpu(&self) -> Option<u32> {
        let number = self.values.get("perf_cpu").or_else(|| self.values.before("cpu_id"))?.number()?;
        u32::try_from(number).ok()
    }
    fn who(&mut self, fields: &TaskFields) -> Option<Who> {
        let (pid, prio_base) = match self.number(fields.tid) {
            Some(tid) => (tid, MAX_RT_PRIO),
            None => (self.number(fields.pid)?, 0),
        };
        let prio = self.integer(fields.prio).and_then(|prio| i32::try_from(prio.cast_signed()).ok()?.checked_add(prio_base));
        let name = match self.values.own(fields.comm) {
            Some(Value::Text(place)) => {
                let text = String::from_utf8_lossy(self.bytes.get(place.clone())?);
                if matches!(text, Cow::Owned(_)) {
                    self.import.stats().info(self.number, "some bytes are no UTF-8: they were replaced");
                }
                Some(self.import.names.intern(&text))
            }
            _ => None,
        };
        Some(Who { pid, prio, name, name_is_stale: false })
    }
    /// The process id of the task that the CPU ran, where the event tells: a context of LTTng, or a field of perf.
    pub(super) fn current_pid(&self) -> Option<u32> {
        let pid = self.values.before("tid").or_else(|| self.values.own("common_pid"))?.number()?;
        u32::try_from(pid).ok().filter(|&pid| pid <= i32::MAX as u32)
    }
    fn state(&self) -> Option<PrevState> {
        let bits = self.integer("prev_state")?;
        let has = |mask: u64| bits & mask != 0;
        Some(match () {
            () if !self.has_old_states => state_from_bits(bits),
            () if has(OLD_DEAD) => PrevState::Dead,
            () if has(OLD_PARKED) => PrevState::IdleWait,
            () if has(OLD_UNINTERRUPTIBLE) => PrevState::DiskSleep,
            () if has(OLD_SLEEPS) => PrevState::Sleeping,
            () => PrevState::Running,
        })
    }
    /// The beginning or end of a handler whose time counts, by the name of the event.
    pub(super) fn handler(&self, name: &str) -> Option<RawEvent> {
        let own = name.rsplit_once(':').map_or(name, |row| row.1);
        // LTTng puts the group before some names.
        let own = own.strip_prefix("x86_irq_vectors_").unwrap_or(own);
        let own = own.strip_prefix("irq_").filter(|rest| rest.starts_with("softirq_")).unwrap_or(own);
        let event = HandlerEvent::of(own)?;
        let handler = event.handler(self.number(event.field)?);
        Some(if event.enters { RawEvent::Enters(handler) } else { RawEvent::Leaves(handler) })
    }
    /// The event; `None` if a field is missing or holds an impossible number.
    pub(super) fn event(&mut self, kind: Kind, cpu: u32, running: &CurrentTasks) -> Option<RawEvent> {
        Some(match kind {
            Kind::Waking => {
                let told = self.current_pid().map(|pid| Who { pid, prio: None, name: None, name_is_stale: true });
                let nobody = Who { pid: 0, prio: None, name: None, name_is_stale: true };
                let flags = self.integer("common_flags").map(context_of);
                RawEvent::Waking {
                    task: self.who(&TASK)?,
                    target_cpu: self.number("target_cpu")?,
                    current: told.or_else(|| running.task(cpu)).unwrap_or(nobody),
                    context: flags.or_else(|| running.context(cpu)),
                }
            }
            Kind::Wakeup => RawEvent::Wakeup {
                task: self.who(&TASK)?,
                target_cpu: self.number("target_cpu")?,
                context: self.integer("common_flags").map(context_of).or_else(|| running.context(cpu)),
            },
            Kind::WakeupNew => RawEvent::WakeupNew { task: self.who(&TASK)?, target_cpu: self.number("target_cpu")? },
            Kind::Switch => RawEvent::Switch { prev: self.who(&PREV)?, prev_state: self.state()?, next: self.who(&NEXT)? },
            Kind::MigrateTask => RawEvent::MigrateTask {
                task: self.who(&TASK)?,
                orig_cpu: self.number("orig_cpu")?,
                dest_cpu: self.number("dest_cpu")?,
            },
            Kind::StatRuntime => RawEvent::StatRuntime {
                task: self.who(&TASK)?,
                runtime: self.integer("runtime")?,
                vruntime: self.integer("vruntime"),
            },
            Kind::Fork => RawEvent::Fork { parent: self.who(&PARENT)?, child: self.who(&CHILD)? },
            Kind::Exit => RawEvent::Exit { task: self.who(&TASK)? },
            Kind::CpuFrequency => {
                RawEvent::CpuFrequency { cpu: self.number("cpu_id")?, khz: u32::try_from(self.integer("state")?).ok()? }
            }
            Kind::Interrupt(..) | Kind::NotUsed => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_recorders() {
        let hard = |begins| Kind::Interrupt(WakeContext::Hardirq, begins);
        for (name, kind) in [
            ("sched_switch", Kind::Switch),
            ("sched:sched_switch", Kind::Switch),
            ("irq_handler_entry", hard(true)),
            ("irq:irq_handler_exit", hard(false)),
            ("timer_hrtimer_expire_entry", hard(true)),
            ("timer:hrtimer_expire_exit", hard(false)),
            ("x86_irq_vectors_local_timer_entry", hard(true)),
            ("irq_vectors:local_timer_exit", hard(false)),
            ("irq_softirq_exit", Kind::Interrupt(WakeContext::Softirq, false)),
            ("irq:softirq_entry", Kind::Interrupt(WakeContext::Softirq, true)),
            ("syscall_entry_read", Kind::NotUsed),
            ("syscalls:sys_enter_read", Kind::NotUsed),
            ("", Kind::NotUsed),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
