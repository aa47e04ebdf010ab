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
//!
//! In a crowd (hackbench) any thread may wake any other, and no two of them take turns. There a waker waits until the wakee sleeps, as it
//! did when it was recorded. That holds for user threads whose names wake one another, mostly between threads that do not take turns.

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
    /// All wake-ups, for a crowd.
    all: Vec<Hidden>,
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
        let place = |side: Side| u32::try_from(side.place).unwrap_or(u32::MAX);
        let here = Hidden { sleep: place(wakee), wake: place(waker) };
        pair.all.push(here);
        if let Some((sender, receiver)) = message.filter(|_| pair.has_answer || pair.count == 0) {
            let leads = [wakee.ran.saturating_sub(sender), waker.ran.saturating_sub(receiver)];
            let kept = pair.leads.iter_mut().zip(leads).filter(|(kept, _)| kept.len() < SAMPLES);
            kept.for_each(|(kept, lead)| kept.push(lead));
        } else if pair.count > 0 {
            pair.hidden.push(here);
        }
        pair.has_answer = false;
        pair.at_last = (waker.ran, wakee.ran);
        pair.count += 1;
    }
    /// The exchanges of tasks that wake one another, of those pairs (wakee, waker) whose wake-ups are all kept. `name` is that of a user
    /// thread; kernel threads are in no crowd.
    pub(super) fn exchanges<'n>(
        &mut self,
        is_kept: impl Fn(TaskId, TaskId) -> bool,
        name: impl Fn(TaskId) -> Option<&'n str>,
    ) -> Vec<Exchange> {
        let counts: BTreeMap<(TaskId, TaskId), u64> = self.pairs.iter().map(|(key, pair)| (*key, pair.count)).collect();
        let mut of_names: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (&(wakee, waker), count) in &counts {
            if let (Some(wakee), Some(waker)) = (name(wakee), name(waker)) {
                *of_names.entry((wakee, waker)).or_default() += count;
            }
        }
        let take_turns = |a: TaskId, b: TaskId| is_mutual(&counts, a, b) && is_kept(a, b) && is_kept(b, a);
        // Of how many wake-ups between names the two tasks take turns.
        let mut in_turn: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (&(wakee, waker), count) in counts.iter().filter(|((wakee, waker), _)| take_turns(*wakee, *waker)) {
            if let (Some(wakee), Some(waker)) = (name(wakee), name(waker)) {
                *in_turn.entry((wakee, waker)).or_default() += count;
            }
        }
        let are_crowd = |a: TaskId, b: TaskId| {
            let Some(names) = name(a).zip(name(b)) else { return false };
            let few_turns = in_turn.get(&names).copied().unwrap_or(0) * 2 < of_names[&names];
            few_turns && is_mutual(&of_names, names.0, names.1) && is_kept(a, b)
        };
        let exchange = |(&(sender, receiver), pair): (&(TaskId, TaskId), &mut Pair)| {
            let (leads, hidden) = if take_turns(sender, receiver) {
                (pair.leads.each_mut().map(|leads| median(leads)), std::mem::take(&mut pair.hidden))
            } else if are_crowd(sender, receiver) {
                ([Ns::ZERO; 2], std::mem::take(&mut pair.all))
            } else {
                return None;
            };
            Some(Exchange { sender, receiver, leads, hidden }).filter(|made| !made.hidden.is_empty())
        };
        self.pairs.iter_mut().filter_map(exchange).collect()
    }
}

/// Whether the two wake one another, each often enough.
fn is_mutual<K: Ord + Copy>(counts: &BTreeMap<(K, K), u64>, a: K, b: K) -> bool {
    let of = |wakee: K, waker: K| counts.get(&(wakee, waker)).copied().unwrap_or(0);
    let (few, many) = (of(a, b).min(of(b, a)), of(a, b).max(of(b, a)));
    few >= FEWEST && few * 100 >= many * LEAST_PERCENT
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
