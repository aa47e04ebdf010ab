//! Moves of runnable tasks: what balance did by the record, held against the rules in the core's state.

use super::Lockstep;
use crate::outcome::Kind;
use crate::places::{Batch, MoveKind, Scene, judge};
use fairground_stdx::Instant;

/// Balance after a tick comes so soon: its soft interrupt, or after a kick that of another CPU.
const AFTER_TICK_NS: u64 = 400_000;

impl Lockstep<'_> {
    /// A record that moves a task: if it is the first one of a balance, that is judged.
    pub(super) fn balanced(&mut self, index: usize, at: Instant) {
        let Some(batch) = self.reading.batches.get(self.places.next_batch).copied().filter(|batch| batch.first as usize == index)
        else {
            return;
        };
        self.places.next_batch += 1;
        let before = self.places.moves.kind();
        let after_tick = self.after_tick(&batch, at);
        self.count_held();
        let reading = &*self.reading;
        let places = &mut self.places;
        places.cursor.advance(&reading.occupancy, index);
        let late = Some(places.late);
        let view = places.cursor.until(&reading.occupancy, self.recording, batch.to, batch.first, late);
        let (fewest, most) = places.cursor.tasks_until(&reading.occupancy, self.recording, batch.from, batch.first, places.late);
        // A sleeper in delayed dequeue counts too.
        let most = most.max(self.world.sched.rq(batch.from).nr_running);
        let (mut queues, machine, sched) = (places.cursor.queues(), &places.machine, &self.world.sched);
        if self.told.calls && batch.kind == MoveKind::Newidle {
            // The leaving task is off its queue already, and whoever is out of quota.
            queues[batch.to].nr = sched.cfs_rq(batch.to).h_nr_runnable + 1;
        }
        let scene = Scene { queues: &queues, view, machine, sched, after_tick, source: (fewest, most) };
        judge(&batch, &scene, &mut places.moves);
        let after = self.places.moves.kind();
        let row = self.kinds.entry(Kind::Migrate).or_default();
        row.all.decisions += after.decisions - before.decisions;
        row.all.agree += after.agree - before.agree;
    }

    /// Whether a tick that may have led to the balance lies close before; none if no tick was found.
    fn after_tick(&self, batch: &Batch, at: Instant) -> Option<bool> {
        let ticks = &self.reading.ticks;
        let mut phases = ticks.iter().flatten().peekable();
        match batch.kind {
            MoveKind::BusyTick => ticks[batch.to].map(|phase| phase.is_after(at.ns(), AFTER_TICK_NS)),
            _ => phases.peek().is_some().then(|| phases.any(|phase| phase.is_after(at.ns(), AFTER_TICK_NS))),
        }
    }
}
