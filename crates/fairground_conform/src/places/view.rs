//! Which CPUs were idle at a moment, as far as the record can tell.

use super::occupancy::Queue;
use super::{Change, Occupancy};
use crate::recording::Recording;
use fairground_stdx::{CpuId, CpuMask, IndexVec};

/// The queues at a place in the record.
pub(crate) struct Cursor {
    queues: IndexVec<CpuId, Queue>,
    /// How many of the tasks of each CPU are held back for want of quota.
    held: IndexVec<CpuId, u32>,
    idle: CpuMask,
    busy: CpuMask,
    next: usize,
}

/// What may be idle and what may be busy. A CPU of which the record cannot tell is in both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) may_idle: CpuMask,
    pub(crate) may_busy: CpuMask,
    /// Whether the waking CPU may have had just one runnable task.
    pub(crate) alone: bool,
}

impl Cursor {
    pub(crate) fn new(occupancy: &Occupancy) -> Cursor {
        let queues = occupancy.start.clone();
        let of = |wanted: bool| queues.iter_enumerated().filter(|row| row.1.is_idle() == wanted).map(|row| row.0).collect();
        let (idle, busy) = (of(true), of(false));
        let held = IndexVec::filled(0, queues.len());
        Cursor { queues, held, idle, busy, next: 0 }
    }
    /// Goes on to before the record of that number.
    pub(crate) fn advance(&mut self, occupancy: &Occupancy, index: usize) {
        while let Some(change) = occupancy.changes.get(self.next).filter(|change| (change.index as usize) < index) {
            self.next += 1;
            self.queues[change.cpu] = change.queue;
            let (on, off) = match change.queue.is_idle() {
                true => (&mut self.idle, &mut self.busy),
                false => (&mut self.busy, &mut self.idle),
            };
            on.insert(change.cpu);
            off.remove(change.cpu);
        }
    }
    /// So many tasks of each CPU are held back for want of quota at this place: they count as sleeping.
    pub(crate) fn hold(&mut self, held: IndexVec<CpuId, u32>) {
        self.held = held;
    }
    /// Whether tasks are held back on a CPU.
    pub(crate) fn is_held_back(&self, cpu: CpuId) -> bool {
        self.held[cpu] > 0
    }
    /// All queues.
    pub(crate) fn queues(&self) -> IndexVec<CpuId, Queue> {
        let free = |(cpu, queue): (CpuId, &Queue)| Queue { nr: queue.nr.saturating_sub(self.held[cpu]), ..*queue };
        self.queues.iter_enumerated().map(free).collect()
    }
    /// The fewest and the most tasks that `cpu` has from here on until `late` after record `until`.
    pub(crate) fn tasks_until(
        &self,
        occupancy: &Occupancy,
        recording: &Recording,
        cpu: CpuId,
        until: u32,
        late: u64,
    ) -> (u32, u32) {
        let limit = recording.records[until as usize].at.ns() + late;
        let reached = |change: &&Change| recording.records[change.index as usize].at.ns() <= limit;
        let changes = occupancy.changes[self.next..].iter().take_while(reached);
        // The move itself takes the task off.
        let others = changes.filter(|change| change.cpu == cpu && change.index > until).map(|change| change.queue.nr + 1);
        let now = self.queues[cpu].nr;
        let (fewest, most) = others.fold((now, now), |(fewest, most), nr| (fewest.min(nr), most.max(nr)));
        (fewest.saturating_sub(self.held[cpu]), most.saturating_sub(self.held[cpu]))
    }
    /// What the record says at this very place, for a choice made on `this`.
    pub(crate) fn exact(&self, this: CpuId) -> View {
        let mut view = View { may_idle: self.idle, may_busy: self.busy, alone: self.queues[this].nr <= 1 + self.held[this] };
        for (cpu, _) in self.queues.iter_enumerated().filter(|row| self.held[row.0] > 0 && self.is_all_held(row.0, *row.1)) {
            view.may_idle.insert(cpu);
            view.may_busy.remove(cpu);
        }
        view
    }
    fn is_all_held(&self, cpu: CpuId, queue: Queue) -> bool {
        Queue { nr: queue.nr.saturating_sub(self.held[cpu]), ..queue }.is_idle()
    }
    /// The same where each CPU may already be in any state that is recorded up to record `until`, or, if there is a
    /// `late` time, up to so much later; then a CPU that a task is on its way to may count as idle too.
    pub(crate) fn until(&self, occupancy: &Occupancy, recording: &Recording, this: CpuId, until: u32, late: Option<u64>) -> View {
        let mut view = self.exact(this);
        let limit = late.map(|late| recording.records[until as usize].at.ns() + late);
        let reached = |change: &Change| {
            change.index <= until || limit.is_some_and(|limit| recording.records[change.index as usize].at.ns() <= limit)
        };
        if late.is_some() {
            for (cpu, queue) in self.queues.iter_enumerated() {
                if !queue.runs && queue.nr <= queue.held {
                    view.may_idle.insert(cpu);
                }
            }
        }
        for change in occupancy.changes[self.next..].iter().take_while(|change| reached(change)) {
            let empty = !change.queue.runs && change.queue.nr <= change.queue.held;
            if change.queue.is_left_idle() || (late.is_some() && empty) {
                view.may_idle.insert(change.cpu);
            }
            if !change.queue.is_left_idle() {
                view.may_busy.insert(change.cpu);
            }
            view.alone |= change.cpu == this && change.queue.nr <= 1;
        }
        view
    }
}
