//! Records that wait because another one may have to stand before them.

use crate::import::recording::GroupOf;
use fairground_model::{Sink, TaskInfo, TraceEvent};
use fairground_stdx::{CpuId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a reader hands on.
pub(super) enum Item {
    Task(TaskId, TaskInfo),
    /// The group that a task is in from there on.
    Group(GroupOf),
    Record(Instant, CpuId, TraceEvent),
}

/// A place between two items, and the time of a record that is put there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// The number of the item before which it lies.
    pub(super) before: u64,
    pub(super) at: Instant,
}

/// Who needs a place to stay reachable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    /// A switch of the CPU may be missing there.
    Cpu(CpuId),
    /// The CPU that the task waits for began to idle there.
    Task(TaskId),
    /// The task was moved there while it slept: its wake-up may have begun.
    Moved(TaskId),
}

/// The items that wait, in order.
#[derive(Default)]
pub(super) struct Held {
    items: VecDeque<Item>,
    /// The number of the first of them.
    first: u64,
    /// The time of the last record that was handed on.
    released_at: Instant,
    /// What is put before the item of a number.
    inserted: BTreeMap<u64, Vec<(Instant, CpuId, TraceEvent)>>,
    /// Places that must stay reachable.
    open: BTreeSet<(u64, Owner)>,
}

impl Held {
    /// The place behind all items so far.
    pub(super) fn end(&self, at: Instant) -> Place {
        Place { before: self.first + self.items.len() as u64, at }
    }
    /// The place itself, or the first behind it that can be reached still.
    pub(super) fn reachable(&self, place: Place) -> Place {
        if place.before >= self.first { place } else { Place { before: self.first, at: self.released_at } }
    }
    pub(super) fn open(&mut self, place: Place, owner: Owner) {
        self.open.insert((place.before, owner));
    }
    pub(super) fn close(&mut self, place: Place, owner: Owner) {
        self.open.remove(&(place.before, owner));
    }
    /// Who holds the earliest place, if more than so many items wait for it.
    pub(super) fn holds_too_much(&self, most: usize) -> Option<Owner> {
        if self.items.len() <= most { None } else { self.open.first().map(|&(_, owner)| owner) }
    }
    pub(super) fn insert(&mut self, place: Place, cpu: CpuId, event: TraceEvent) {
        self.inserted.entry(place.before).or_default().push((place.at, cpu, event));
    }
    /// Takes back the last switch that was put there on `cpu`.
    pub(super) fn take_back(&mut self, place: Place, cpu: CpuId) {
        let Some(rows) = self.inserted.get_mut(&place.before) else { return };
        if let Some(last) = rows.iter().rposition(|row| row.1 == cpu && matches!(row.2, TraceEvent::SchedSwitch { .. })) {
            rows.remove(last);
        }
    }
    pub(super) fn push(&mut self, item: Item) {
        self.items.push_back(item);
    }
    /// Hands on everything before the earliest open place.
    pub(super) fn release(&mut self, sink: &mut dyn Sink) {
        let end = self.first + self.items.len() as u64;
        let until = self.open.first().map_or(end, |&(before, _)| before);
        while self.first < until {
            self.release_inserted(sink);
            match self.items.pop_front() {
                Some(Item::Task(task, info)) => sink.task(task, &info),
                Some(Item::Group(of)) => sink.group(of.at, of.cpu, of.task, of.group()),
                Some(Item::Record(at, cpu, event)) => {
                    self.released_at = at;
                    sink.record(at, cpu, &event);
                }
                None => {}
            }
            self.first += 1;
        }
    }
    fn release_inserted(&mut self, sink: &mut dyn Sink) {
        if self.inserted.is_empty() {
            return;
        }
        let mut rows = self.inserted.remove(&self.first).unwrap_or_default();
        // What stands behind the item before comes first.
        rows.sort_by_key(|row| row.0);
        for (at, cpu, event) in rows {
            self.released_at = at;
            sink.inferred(at, cpu, &event);
        }
    }
}
