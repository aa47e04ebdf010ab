//! A CPU of the fluid.

use super::Request;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A CPU with the requests that are in work on it.
#[derive(Default)]
pub(super) struct Slot {
    /// Requests: `attained` at which each is done, and when it came.
    pub(super) busy: BinaryHeap<Reverse<(u64, u64)>>,
    /// CPU time that each of them has got since the start, had it been there all the time.
    attained: u64,
    /// What it may still use; below 0 it is a debt.
    pub(super) runtime_remaining: i64,
    pub(super) throttled: bool,
    /// The tick that sees that runtime_remaining is used up.
    pub(super) tick: u64,
    /// What it has come to with the last event.
    pub(super) event: Event,
}

/// What a CPU has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Event {
    /// Nothing.
    #[default]
    None,
    /// Something is done.
    Done,
    /// runtime_remaining is used up, and a tick sees it now.
    UsedUp,
}

impl Slot {
    /// When something happens here by itself.
    pub(super) fn next(&self, now: u64, is_limited: bool) -> Option<u64> {
        let Reverse((first, _)) = self.busy.peek().filter(|_| !self.throttled)?;
        let done = now + (first - self.attained) * self.busy.len() as u64;
        let used_up = match u64::try_from(self.runtime_remaining) {
            Ok(remaining) if remaining > 0 => now + remaining,
            _ => self.tick.max(now),
        };
        Some(if is_limited { done.min(used_up) } else { done })
    }
    /// Runs for so long, which is at most up to its next event.
    pub(super) fn pass(&mut self, passed: u64, now: u64, is_limited: bool) {
        let Some(Reverse((first, _))) = self.busy.peek() else { return };
        let is_done = (first - self.attained) * self.busy.len() as u64 == passed;
        self.attained = if is_done { *first } else { self.attained + passed / self.busy.len() as u64 };
        let had = self.runtime_remaining > 0;
        if is_limited {
            self.runtime_remaining -= passed.cast_signed();
        }
        // Either it has just run out, or it had before and the tick is here.
        let is_seen = is_limited && self.runtime_remaining <= 0 && (had || now >= self.tick);
        self.event = match (is_done, is_seen) {
            (true, _) => Event::Done,
            (_, true) => Event::UsedUp,
            _ => Event::None,
        };
    }
    /// The request that is done, if one is: when it came.
    pub(super) fn done(&mut self) -> Option<u64> {
        let Reverse((_, arrival)) = *self.busy.peek().filter(|row| row.0.0 <= self.attained)?;
        self.busy.pop();
        Some(arrival)
    }
    pub(super) fn begin(&mut self, request: Request) {
        self.busy.push(Reverse((self.attained + request.demand, request.arrival)));
    }
}
