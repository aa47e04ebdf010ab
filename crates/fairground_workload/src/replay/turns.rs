//! Messages that left no record, as their receiver was awake.
//!
//! ```text
//! A   run, send ─┐      sleeps ────┐ run, send, sleeps ──────┐
//! B   sleeps ─────┘ run, answer ───┘ preempted ░░ run, answer ┘        B did not sleep: no record tells of A's second send
//! ```
//!
//! Where two tasks wake one another, a wake-up of A by B after which A has slept again needs a message from A to B in between: A would not
//! wait for B else, nor B have anything to tell. If no wake-up of B by A is recorded there, B was awake when it came. Without such messages
//! B would run ahead of A in a replay, and every sleep whose end comes early is lost for both.
//!
//! A sends one as long before it sleeps, and B needs it as long before its answer, as in the median where wake-ups tell both.

use fairground_model::PipeSpec;
use fairground_stdx::{IndexVec, Ns, PipeId, TaskId};
use std::collections::BTreeMap;

/// Wake-ups in each direction from which on two tasks count as waking one another.
const FEWEST: u64 = 5;
/// Or: one direction has at least so many hundredths of the other.
const LEAST_PERCENT: u64 = 10;
/// Distances of which the median is taken.
const SAMPLES: usize = 1000;

/// A message without a record, told by places among the acts of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hidden {
    /// The sleep before which it was sent.
    pub(super) sleep: u32,
    /// The wake-up before which it came.
    pub(super) wake: u32,
}

/// The wake-ups of one task by another.
#[derive(Clone, Default)]
struct Pair {
    count: u64,
    /// Whether the wakee has woken the waker since the last.
    has_answer: bool,
    /// Run time of the waker at the last, and of the wakee.
    at_last: (u64, u64),
    /// Run time of the wakee from its message to its sleep, of the waker from its wake-up to its answer.
    leads: [Vec<u64>; 2],
    hidden: Vec<Hidden>,
}

/// What two tasks that wake one another did without a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Exchange {
    /// Who sent.
    pub(super) sender: TaskId,
    /// Who received.
    pub(super) receiver: TaskId,
    /// Run time of the sender before its sleep, and of the receiver before its answer.
    pub(super) leads: [Ns; 2],
    pub(super) hidden: Vec<Hidden>,
}

/// All pairs: wakee and waker.
#[derive(Default)]
pub(super) struct Turns {
    pairs: BTreeMap<(TaskId, TaskId), Pair>,
}

/// A task at a wake-up.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) task: TaskId,
    /// How long it has run so far.
    pub(super) ran: u64,
    /// The place of the wake-up among its acts, or of the sleep that it ends.
    pub(super) place: usize,
}

impl Turns {
    /// One task wakes another.
    pub(super) fn wakes(&mut self, waker: Side, wakee: Side) {
        let back = self.pairs.get_mut(&(waker.task, wakee.task));
        let message = back.map(|back| {
            back.has_answer = true;
            back.at_last
        });
        let pair = self.pairs.entry((wakee.task, waker.task)).or_default();
        match message {
            Some((sender, receiver)) if pair.has_answer || pair.count == 0 => {
                if pair.leads[0].len() < SAMPLES {
                    pair.leads[0].push(wakee.ran.saturating_sub(sender));
                    pair.leads[1].push(waker.ran.saturating_sub(receiver));
                }
            }
            _ if pair.count > 0 => {
                let place = |side: Side| u32::try_from(side.place).unwrap_or(u32::MAX);
                pair.hidden.push(Hidden { sleep: place(wakee), wake: place(waker) });
            }
            _ => {}
        }
        pair.has_answer = false;
        pair.at_last = (waker.ran, wakee.ran);
        pair.count += 1;
    }
    /// The exchanges of tasks that wake one another, of those pairs (wakee, waker) whose wake-ups are all kept.
    pub(super) fn exchanges(&mut self, is_kept: impl Fn(TaskId, TaskId) -> bool) -> Vec<Exchange> {
        let counts: BTreeMap<(TaskId, TaskId), u64> = self.pairs.iter().map(|(key, pair)| (*key, pair.count)).collect();
        let is_mutual = |wakee: TaskId, waker: TaskId| {
            let there = counts[&(wakee, waker)];
            let back = counts.get(&(waker, wakee)).copied().unwrap_or(0);
            let few = there.min(back);
            few >= FEWEST && few * 100 >= there.max(back) * LEAST_PERCENT && is_kept(wakee, waker) && is_kept(waker, wakee)
        };
        let pairs = self.pairs.iter_mut().filter(|((wakee, waker), pair)| !pair.hidden.is_empty() && is_mutual(*wakee, *waker));
        let made = pairs.map(|(&(sender, receiver), pair)| Exchange {
            sender,
            receiver,
            leads: pair.leads.each_mut().map(|leads| median(leads)),
            hidden: std::mem::take(&mut pair.hidden),
        });
        made.collect()
    }
}

fn median(values: &mut [u64]) -> Ns {
    values.sort_unstable();
    Ns(values.get(values.len() / 2).copied().unwrap_or(0))
}

/// What a task does for messages without a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Insert {
    /// The act before which it does it.
    pub(super) place: u32,
    /// How much run time before that.
    pub(super) lead: Ns,
    pub(super) pipe: PipeId,
    /// Whether it sends, or waits.
    pub(super) sends: bool,
}

/// By task and in the order of their places: what all do for these messages, through pipes that are added to `pipes`.
pub(super) fn inserts(exchanges: &[Exchange], pipes: &mut IndexVec<PipeId, PipeSpec>) -> BTreeMap<TaskId, Vec<Insert>> {
    let mut inserts: BTreeMap<TaskId, Vec<Insert>> = BTreeMap::new();
    for exchange in exchanges {
        let pipe = pipes.push(PipeSpec::new(u32::try_from(exchange.hidden.len()).unwrap_or(u32::MAX)));
        for Hidden { sleep, wake } in &exchange.hidden {
            let mut add = |task, place, lead, sends| {
                inserts.entry(task).or_default().push(Insert { place, lead, pipe, sends });
            };
            add(exchange.sender, *sleep, exchange.leads[0], true);
            add(exchange.receiver, *wake, exchange.leads[1], false);
        }
    }
    inserts.values_mut().for_each(|rows| rows.sort_by_key(|row| row.place));
    inserts
}
