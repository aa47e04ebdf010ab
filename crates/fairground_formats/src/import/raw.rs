//! A record as it stands in a trace: tasks are process ids with names.

use crate::import::interruptions::Handler;
use fairground_model::{PrevState, QueueAct, Section, WakeContext};
use fairground_stdx::outside::{is_steering, shown};
use std::collections::BTreeMap;

/// One record before its process ids are turned into task rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawRecord {
    /// The input's own time, in ns.
    pub(crate) at_ns: u64,
    /// The CPU on which it was written.
    pub(crate) cpu: u32,
    /// The line that it stands on.
    pub(crate) line: u64,
    /// What happened.
    pub(crate) event: RawEvent,
    /// Process id of the task that the CPU ran when it wrote this, where the format tells; 0 is the idle task.
    pub(crate) current: Option<u32>,
}

/// The kernel's tracepoints with their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawEvent {
    Waking {
        task: Who,
        target_cpu: u32,
        current: Who,
        context: Option<WakeContext>,
    },
    Wakeup {
        task: Who,
        target_cpu: u32,
        context: Option<WakeContext>,
    },
    WakeupNew {
        task: Who,
        target_cpu: u32,
    },
    Switch {
        prev: Who,
        prev_state: PrevState,
        next: Who,
    },
    MigrateTask {
        task: Who,
        orig_cpu: u32,
        dest_cpu: u32,
    },
    StatRuntime {
        task: Who,
        runtime: u64,
        vruntime: Option<u64>,
    },
    Fork {
        parent: Who,
        child: Who,
    },
    Exit {
        task: Who,
    },
    CpuFrequency {
        cpu: u32,
        khz: u32,
    },
    /// A handler of interrupts begins.
    Enters(Handler),
    /// It is done.
    Leaves(Handler),
    /// For so long it had the CPU.
    Took {
        section: Section,
        took_ns: u64,
    },
    /// What our own runs tell of quotas.
    Throttle {
        group: u32,
        debt_ns: u32,
    },
    Unthrottle {
        group: u32,
        cpu: u32,
    },
    ThrottleWork {
        task: Who,
    },
    /// What our own runs tell of run queues; `hrtick` stands in kernels' traces too.
    QueueAct {
        act: QueueAct,
        cpu: u32,
        clock: u64,
        group: Option<u32>,
        task: Option<Who>,
    },
    /// No event: the task is in the group of this path from there on. Each hierarchy of cgroup v1 has its own groups; 0 is cgroup v2.
    Group {
        task: Who,
        path: NameId,
        hierarchy: u64,
        /// It comes there at this moment; else since when it is there is not told.
        comes: bool,
    },
}

impl RawEvent {
    /// The CPU numbers among the fields.
    pub(crate) fn cpus(&self) -> [Option<u32>; 2] {
        match *self {
            RawEvent::Waking { target_cpu, .. }
            | RawEvent::Wakeup { target_cpu, .. }
            | RawEvent::WakeupNew { target_cpu, .. } => [Some(target_cpu), None],
            RawEvent::MigrateTask { orig_cpu, dest_cpu, .. } => [Some(orig_cpu), Some(dest_cpu)],
            RawEvent::CpuFrequency { cpu, .. } | RawEvent::Unthrottle { cpu, .. } | RawEvent::QueueAct { cpu, .. } => {
                [Some(cpu), None]
            }
            _ => [None, None],
        }
    }
}

/// A task as a record names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    /// Process id; 0 is the idle task.
    pub(crate) pid: u32,
    /// Priority, where the record has it.
    pub(crate) prio: Option<i32>,
    /// Command name, where the record has it.
    pub(crate) name: Option<NameId>,
    /// The name comes from a cache of the recorder (the first column of ftrace text) and may be
    /// out of date: it counts only where no other is known.
    pub(crate) name_is_stale: bool,
}

/// A row of [`NameTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameId(u32);

/// Names from outside, each kept once, as they may be shown: records are copied through the window without allocation.
pub(crate) struct NameTable {
    rows: Vec<String>,
    ids: BTreeMap<String, NameId>,
    /// The name met last in each class of [`recent_class`]: most records name a task that was just named.
    recent: [NameId; RECENT],
}

/// Classes of names.
const RECENT: usize = 256;

/// A name's class: FNV-1a over its bytes, of which a kernel's names have 15 at most.
fn recent_class(name: &str) -> usize {
    let hash = name.bytes().take(16).fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize % RECENT
}

impl Default for NameTable {
    fn default() -> NameTable {
        NameTable { rows: Vec::new(), ids: BTreeMap::new(), recent: [NameId(0); RECENT] }
    }
}

impl NameTable {
    /// The row of `name`.
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        let class = recent_class(name);
        let recent = self.recent[class];
        if self.rows.get(recent.0 as usize).is_some_and(|row| row == name) {
            return recent;
        }
        let id = self.ids.get(name).copied().unwrap_or_else(|| self.add(name));
        self.recent[class] = id;
        id
    }
    /// The row of the path of a group. It stands as it is, since no group has a path with letters that steer: one with an escape would
    /// be taken for a group.
    pub(crate) fn intern_path(&mut self, path: &str) -> NameId {
        if !path.contains(is_steering) {
            return self.intern(path);
        }
        // No name and no path holds a NUL.
        let key = format!("\0{path}");
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = NameId(self.rows.len() as u32);
        self.rows.push(path.to_string());
        self.ids.insert(key, id);
        id
    }
    fn add(&mut self, name: &str) -> NameId {
        let id = NameId(self.rows.len() as u32);
        self.rows.push(shown(name).into_owned());
        self.ids.insert(name.to_string(), id);
        id
    }
    /// The name of a row.
    pub(crate) fn get(&self, id: NameId) -> &str {
        &self.rows[id.0 as usize]
    }
}
