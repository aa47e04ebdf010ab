//! Moves of runnable tasks: what balance did by the record, held against the rules in the core's state.

use super::Lockstep;
use crate::outcome::Kind;
use crate::places::{Batch, MoveKind, Scene, judge};
use fairground_model::TraceEvent;
use fairground_stdx::Instant;

/// Balance after a tick comes so soon: its soft interrupt, or after a kick that of another CPU.
const AFTER_TICK_NS: u64 = 400_000;
/// An idle CPU looks for somebody to run so soon after a task was queued on it.
const AFTER_WAKEUP_NS: u64 = 20_000;

impl Lockstep<'_> {
    /// A record that moves a task: if it is the first one of a balance, that is judged.
    pub(super) fn balanced(&mut self, index: usize, at: Instant) {
        let Some(mut batch) =
            self.reading.batches.get(self.places.next_batch).copied().filter(|batch| batch.first as usize == index)
        else {
            return;
        };
        self.places.next_batch += 1;
        let before = self.places.moves.kind();
        let after_tick = self.after_tick(&batch, at);
        self.count_held();
        if self.is_woken_in_vain(&batch, at) {
            batch.kind = MoveKind::Newidle;
        }
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
            // The leaving task is off its queue already, and whoever is out of quota. Who came since then does not end the balance.
            let runnable = if self.cpus[batch.to].found_nobody { 0 } else { sched.cfs_rq(batch.to).h_nr_runnable };
            queues[batch.to].nr = runnable + 1;
        }
        let scene = Scene { queues: &queues, view, machine, sched, after_tick, source: (fewest, most) };
        judge(&batch, &scene, &mut places.moves);
        let after = self.places.moves.kind();
        let row = self.kinds.entry(Kind::Migrate).or_default();
        row.all.decisions += after.decisions - before.decisions;
        row.all.agree += after.agree - before.agree;
    }

    /// Whether an idle CPU balances since somebody was queued on it who may not run for want of quota: its schedule() finds nobody.
    fn is_woken_in_vain(&self, batch: &Batch, at: Instant) -> bool {
        let queued_on = |event: &TraceEvent| match *event {
            TraceEvent::SchedWakeup { target_cpu, .. } | TraceEvent::SchedWakeupNew { target_cpu, .. } => Some(target_cpu),
            _ => None,
        };
        let before = self.recording.records[..batch.first as usize].iter().rev();
        let mut recent = before.take_while(|record| at.since(record.at).0 <= AFTER_WAKEUP_NS);
        batch.kind == MoveKind::IdleTick
            && self.places.cursor.is_held_back(batch.to)
            && recent.any(|record| queued_on(&record.event) == Some(batch.to))
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
