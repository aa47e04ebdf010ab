//! The oracle: a heap of full keys, as simple as it can be.

use super::{Class, EventQueue, NEVER, Slot, advanced, checked, key, unpack};
use fairground_stdx::{CpuId, Id, Instant, TimerId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A slot of a CPU or a timer.
#[derive(Clone, Debug)]
struct Source {
    at: u64,
    soft: u64,
    class: Class,
    cpu: usize,
    /// Goes up with every change: entries of the heap with another number are stale.
    epoch: u64,
}

/// An [`EventQueue`] over the standard heap. An entry holds the whole key `(at, class, cpu, own id)`
/// and the epoch of its source; entries of earlier epochs are dropped when they come up.
///
/// Slow and obviously right: runs with it must have the same digest as runs with [`super::FastQueue`].
#[derive(Clone, Debug)]
pub(crate) struct HeapQueue {
    now: u64,
    irqs_held: Vec<u64>,
    /// Three slots per CPU, then the timers; the index is the own id.
    sources: Vec<Source>,
    heap: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

impl HeapQueue {
    fn slot_id(cpu: CpuId, slot: Slot) -> usize {
        cpu.index() * Slot::ALL.len() + slot as usize
    }
    fn timer_id(&self, timer: TimerId) -> usize {
        self.irqs_held.len() * Slot::ALL.len() + timer.index()
    }
    /// Pushes the present state of a source and drops what has become stale.
    fn changed(&mut self, id: usize) {
        let source = &mut self.sources[id];
        source.epoch += 1;
        let held = if source.class == Class::Segment { 0 } else { self.irqs_held[source.cpu] };
        if source.at != NEVER {
            let full = (key(source.at.max(held), source.class, source.cpu), id, source.epoch);
            self.heap.push(Reverse(full));
        }
        while self.heap.peek().is_some_and(|&Reverse((_, id, epoch))| self.sources[id].epoch != epoch) {
            self.heap.pop();
        }
    }
}

impl EventQueue for HeapQueue {
    fn new(nr_cpus: usize, nr_timers: usize) -> HeapQueue {
        let source = |class, cpu| Source { at: NEVER, soft: 0, class, cpu, epoch: 0 };
        let slots = (0..nr_cpus).flat_map(|cpu| Slot::ALL.map(|slot| source(slot.class(), cpu)));
        let timers = (0..nr_timers).map(|_| source(Class::Irq, 0));
        HeapQueue { now: 0, irqs_held: vec![0; nr_cpus], sources: slots.chain(timers).collect(), heap: BinaryHeap::new() }
    }
    fn now(&self) -> Instant {
        Instant::from_ns(self.now)
    }
    fn set(&mut self, cpu: CpuId, slot: Slot, at: Option<Instant>) {
        let id = HeapQueue::slot_id(cpu, slot);
        self.sources[id].at = checked(self.now, at);
        self.changed(id);
    }
    fn get(&self, cpu: CpuId, slot: Slot) -> Option<Instant> {
        let at = self.sources[HeapQueue::slot_id(cpu, slot)].at;
        (at != NEVER).then(|| Instant::from_ns(at))
    }
    fn hold_irqs(&mut self, cpu: CpuId, until: Instant) {
        self.irqs_held[cpu.index()] = until.ns().max(self.now);
        let of_cpu = |id: &usize| self.sources[*id].cpu == cpu.index() && self.sources[*id].class != Class::Segment;
        let ids: Vec<usize> = (0..self.sources.len()).filter(of_cpu).collect();
        ids.into_iter().for_each(|id| self.changed(id));
    }
    fn irqs_held_until(&self, cpu: CpuId) -> Instant {
        Instant::from_ns(self.irqs_held[cpu.index()])
    }
    fn arm_timer(&mut self, cpu: CpuId, timer: TimerId, soft: Instant, hard: Instant) {
        assert!(soft <= hard, "the soft expiry of {timer:?} lies behind its hard expiry");
        let (id, at) = (self.timer_id(timer), checked(self.now, Some(hard.min(Instant::MAX))));
        assert!(self.sources[id].at == NEVER, "{timer:?} is armed twice");
        let source = &mut self.sources[id];
        (source.at, source.soft, source.cpu) = (at, soft.ns(), cpu.index());
        self.changed(id);
    }
    fn cancel_timer(&mut self, timer: TimerId) -> bool {
        let id = self.timer_id(timer);
        let was_armed = std::mem::replace(&mut self.sources[id].at, NEVER) != NEVER;
        self.changed(id);
        was_armed
    }
    fn first_timer(&self, cpu: CpuId) -> Option<(TimerId, Instant, Instant)> {
        let timers = &self.sources[self.irqs_held.len() * Slot::ALL.len()..];
        let armed = timers.iter().enumerate().filter(|row| row.1.at != NEVER && row.1.cpu == cpu.index());
        let (row, timer) = armed.min_by_key(|row| (row.1.at, row.0))?;
        Some((TimerId::from_index(row), Instant::from_ns(timer.soft), Instant::from_ns(timer.at)))
    }
    fn peek(&self) -> Option<(Instant, Class, CpuId)> {
        unpack(self.heap.peek()?.0.0)
    }
    fn first_of_others(&mut self, cpu: CpuId) -> Instant {
        let others = self.sources.iter().filter(|source| source.at != NEVER && source.cpu != cpu.index());
        let due = |source: &Source| match source.class {
            Class::Segment => source.at,
            Class::Irq | Class::Tick => source.at.max(self.irqs_held[source.cpu]),
        };
        others.map(due).min().filter(|&ns| ns != NEVER).map_or(Instant::MAX, Instant::from_ns)
    }
    fn advance(&mut self) -> Option<(Instant, Class, CpuId)> {
        let event = self.peek()?;
        self.now = advanced(self.now, event.0);
        Some(event)
    }
}
