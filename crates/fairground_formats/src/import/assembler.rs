//! From raw records in any order to events in order.

use crate::import::interruptions::{Interruptions, Stretch};
use crate::import::order::OrderWindow;
use crate::import::tasks::{Role, TaskDirectory};
use crate::import::{Feed, ImportStats, NameId, NameTable, RawEvent, RawRecord, Who};
use fairground_model::{Decision, InGroup, PrevState, Reason, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Ns, TaskId, TgId, Vruntime};
use std::collections::BTreeMap;

/// Sorts records, finds their tasks and hands them on as events.
pub(crate) struct Assembler<'a> {
    pub(crate) names: NameTable,
    feed: Feed<'a>,
    window: OrderWindow,
    tasks: TaskDirectory,
    /// The group of each task that is known to be in one.
    groups: BTreeMap<TaskId, NameId>,
    newest_ns: u64,
    /// The time of the latest record that was handed on.
    delivered_ns: u64,
    interruptions: Interruptions,
}

impl<'a> Assembler<'a> {
    pub(crate) fn new(feed: Feed<'a>) -> Assembler<'a> {
        Assembler {
            names: NameTable::default(),
            feed,
            window: OrderWindow::default(),
            tasks: TaskDirectory::default(),
            groups: BTreeMap::new(),
            newest_ns: 0,
            delivered_ns: 0,
            interruptions: Interruptions::default(),
        }
    }
    /// Where notes go.
    pub(crate) fn stats(&mut self) -> &mut ImportStats {
        &mut self.feed.stats
    }
    /// Takes one record.
    pub(crate) fn push(&mut self, record: RawRecord) {
        let cpus = std::iter::once(record.cpu).chain(record.event.cpus().into_iter().flatten());
        for cpu in cpus {
            if !self.feed.holds_cpu(cpu, record.line) {
                return;
            }
        }
        if record.at_ns < self.newest_ns {
            self.feed.stats.time_went_back += 1;
            self.feed.stats.info(record.line, "records are not in order of time: they were sorted");
        }
        self.newest_ns = record.at_ns;
        match record.event {
            RawEvent::Enters(handler) => {
                let before = self.interruptions.enter(record.cpu, record.at_ns, handler);
                self.took(record, before);
            }
            RawEvent::Leaves(handler) => match self.interruptions.leave(record.cpu, record.at_ns, handler) {
                Ok(own) => self.took(record, own),
                Err(()) => self.feed.stats.unused(record.line, "the exit of an interrupt whose entry is not recorded"),
            },
            RawEvent::Switch { .. } => {
                self.interruptions.switch(record.cpu);
                self.hold(record);
            }
            _ => self.hold(record),
        }
    }
    /// A stretch of a handler, once its end is read: it goes to its beginning, if records so old are still held.
    fn took(&mut self, record: RawRecord, stretch: Option<Stretch>) {
        let Some(Stretch { section, from_ns, took_ns }) = stretch else { return };
        let at_ns = from_ns.max(self.delivered_ns);
        if at_ns > from_ns {
            self.feed.stats.info(record.line, "the beginning of an interrupt is too long ago: it counts from later on");
        }
        let took_ns = (from_ns + took_ns).saturating_sub(at_ns);
        self.hold(RawRecord { at_ns, event: RawEvent::Took { section, took_ns }, current: None, ..record });
    }
    /// Into the window.
    fn hold(&mut self, record: RawRecord) {
        if let Some(earliest) = self.window.push(record) {
            self.delivered_ns = earliest.at_ns.max(self.delivered_ns);
            self.deliver(earliest);
        }
    }
    /// Hands on what is still held back and ends the import.
    pub(crate) fn finish(mut self) -> ImportStats {
        while let Some(record) = self.window.pop() {
            self.deliver(record);
        }
        self.feed.finish()
    }
    fn deliver(&mut self, record: RawRecord) {
        if let RawEvent::Group { task, path, hierarchy, comes } = record.event {
            let wanted = self.feed.sink.hierarchy();
            match self.resolve(task, Role::Mentioned) {
                // Samples tell the group of cgroup v2 each time.
                Some(_) if hierarchy != wanted && hierarchy == 0 => {}
                Some(_) if hierarchy != wanted => {
                    let why = match wanted {
                        0 => "moves in a hierarchy of cgroup v1 are not used",
                        _ => "moves in a hierarchy of cgroup v1 without the cpu controller are not used",
                    };
                    self.feed.stats.unused(record.line, why);
                }
                Some(task) => self.set_group((record.at_ns, record.cpu), task, path, comes),
                None => {}
            }
            return;
        }
        match self.event(&record) {
            Some(event) => {
                if let Some(current) = record.current.and_then(|pid| self.tasks.current(pid)) {
                    self.feed.sink.context(CpuId::new(record.cpu), current);
                }
                if let RawEvent::Wakeup { context: Some(context), .. } = record.event {
                    self.feed.sink.interrupted(context);
                }
                record.event.cpus().into_iter().flatten().for_each(|cpu| self.feed.stats.cpus.insert(CpuId::new(cpu)));
                self.feed.emit(record.at_ns, record.cpu, record.line, &event);
            }
            None => self.feed.stats.unused(record.line, "a record about the idle task is not used"),
        }
    }
    /// A task is in a group from now on.
    fn set_group(&mut self, (at_ns, cpu): (u64, u32), task: TaskId, path: NameId, comes: bool) {
        let before = self.groups.insert(task, path);
        if before != Some(path) {
            self.feed.stats.grouped_tasks += u64::from(before.is_none());
            self.feed.stats.group_moves += u64::from(before.is_some());
            let path = self.names.get(path);
            let group = if comes { InGroup::Comes(path) } else { InGroup::Is(path) };
            let at = self.feed.instant(at_ns);
            self.feed.sink.group(at, CpuId::new(cpu), task, group);
        }
    }
    fn resolve(&mut self, who: Who, role: Role) -> Option<TaskId> {
        self.tasks.resolve(who, role, &self.names, self.feed.sink)
    }
    /// The event, or nothing if its subject is the idle task.
    fn event(&mut self, record: &RawRecord) -> Option<TraceEvent> {
        Some(match record.event {
            RawEvent::Waking { task, target_cpu, current, context } => {
                let waker = self.resolve(current, Role::Mentioned);
                let (waker, context) = waking_cause(waker, context);
                TraceEvent::SchedWaking {
                    task: self.resolve(task, Role::Runs)?,
                    target_cpu: CpuId::new(target_cpu),
                    waker,
                    context,
                }
            }
            RawEvent::Wakeup { task, target_cpu, .. } => {
                TraceEvent::SchedWakeup { task: self.resolve(task, Role::Runs)?, target_cpu: CpuId::new(target_cpu) }
            }
            RawEvent::WakeupNew { task, target_cpu } => {
                TraceEvent::SchedWakeupNew { task: self.resolve(task, Role::WokenNew)?, target_cpu: CpuId::new(target_cpu) }
            }
            RawEvent::Switch { prev, prev_state, next } => {
                let prev_task = self.resolve(prev, Role::Mentioned);
                if prev_state == PrevState::Dead {
                    self.tasks.gone(prev.pid);
                }
                TraceEvent::SchedSwitch { prev: prev_task, prev_state, next: self.resolve(next, Role::Runs) }
            }
            RawEvent::MigrateTask { task, orig_cpu, dest_cpu } => TraceEvent::SchedMigrateTask {
                task: self.resolve(task, Role::Mentioned)?,
                orig_cpu: CpuId::new(orig_cpu),
                dest_cpu: CpuId::new(dest_cpu),
            },
            RawEvent::StatRuntime { task, runtime, vruntime } => TraceEvent::SchedStatRuntime {
                task: self.resolve(task, Role::Mentioned)?,
                runtime: Ns(runtime),
                vruntime: vruntime.map(Vruntime),
            },
            RawEvent::Fork { parent, child } => {
                let parent = self.resolve(parent, Role::Mentioned);
                let child = self.resolve(child, Role::Child)?;
                if let Some(&path) = parent.and_then(|parent| self.groups.get(&parent)) {
                    self.set_group((record.at_ns, record.cpu), child, path, false);
                }
                TraceEvent::SchedProcessFork { parent, child }
            }
            RawEvent::Exit { task } => {
                let gone = self.resolve(task, Role::Mentioned)?;
                self.tasks.exiting(task.pid);
                TraceEvent::SchedProcessExit { task: gone }
            }
            RawEvent::CpuFrequency { cpu, khz } => TraceEvent::CpuFrequency { cpu: CpuId::new(cpu), khz },
            RawEvent::Took { section, took_ns } => TraceEvent::KernelSection { section, took: Ns(took_ns) },
            RawEvent::Throttle { group, debt_ns } => decision(Reason::Throttle, Decision::group(TgId::new(group)), debt_ns),
            RawEvent::Unthrottle { group, cpu } => decision(Reason::Unthrottle, Decision::group(TgId::new(group)), cpu),
            RawEvent::ThrottleWork { task } => decision(Reason::ThrottleWork, self.resolve(task, Role::Mentioned)?.get(), 0),
            RawEvent::QueueAct { act, cpu, clock, group, task } => TraceEvent::QueueAct {
                act,
                cpu: CpuId::new(cpu),
                clock: Ns(clock),
                group: group.map(TgId::new),
                task: task.and_then(|task| self.resolve(task, Role::Mentioned)),
            },
            RawEvent::Group { .. } | RawEvent::Enters(_) | RawEvent::Leaves(_) => return None,
        })
    }
}

fn decision(reason: Reason, a: u32, b: u32) -> TraceEvent {
    TraceEvent::Decision(Decision { reason, a, b })
}

/// Who caused a wake-up. `current` is the task of the waking CPU. A hard interrupt is nobody's doing;
/// the idle task wakes nobody itself, so a wake-up from it comes from an interrupt whatever the
/// recorder says; a soft interrupt may be the doing of the current task (loopback network) or not.
pub(super) fn waking_cause(current: Option<TaskId>, context: Option<WakeContext>) -> (Option<TaskId>, WakeContext) {
    match (current, context) {
        (_, Some(WakeContext::Hardirq)) => (None, WakeContext::Hardirq),
        (None, Some(WakeContext::Softirq)) => (None, WakeContext::Softirq),
        (None, _) => (None, WakeContext::Hardirq),
        (current, context) => (current, context.unwrap_or(WakeContext::Task)),
    }
}
