//! What ended the sleeps of a recording: a task, a message through a soft interrupt, a timer, a device, or something outside.
//!
//! A send to a socket of the same machine wakes the receiver in a soft interrupt, on the sender's CPU and in its context. A soft interrupt
//! that has nothing to do with the task that it interrupts (a network card, the tick) looks the same. Two tests tell them apart:
//!
//! ```text
//! answers  A and B wake one another in soft interrupts in turn: the share of A's wake-ups of B with one of A by B before it, or the
//!          share in the other direction, if that is not rare beside this one
//! chance   n soft interrupts woke B, in k of them tasks of A's name were current, which are on a CPU for a share p of the time.
//!          Of those k, (k - n p) / (1 - p) are more than chance explains: their share of k, if k lies 3 deviations above n p
//! ```
//!
//! The larger of the two is the confidence that a message of A woke B.

use super::track::Track;
use fairground_model::TaskInfo;
use fairground_stdx::{IndexVec, Ns, TaskId};
use std::collections::BTreeMap;

/// From this confidence on, in thousandths, a wake-up in a soft interrupt counts as a message of the task that was current.
const LIKELY_PERMILLE: u64 = 500;
/// Wake-ups below which neither test says anything.
const FEWEST: u64 = 5;
/// The rarer direction of two that speak for one another has at least so many of the other's wake-ups, in percent.
const LEAST_PERCENT: u64 = 10;
/// Shares are counted in millionths.
const WHOLE: u128 = 1_000_000;

/// How many sleeps each cause ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Causes {
    /// A running task: the sleeper waits for it in the replay too.
    pub task: u64,
    /// A message of a task through a soft interrupt: likewise.
    pub message: u64,
    /// The mean confidence in these, in thousandths.
    pub confidence_permille: u64,
    /// A soft interrupt that no task is known to have caused: at the recorded time.
    pub outside: u64,
    /// A timer that rings at fixed times: at the recorded time.
    pub timer: u64,
    /// A timer that runs from the beginning of the sleep: as long after it as recorded.
    pub timeout: u64,
    /// A device (uninterruptible sleeps): as long after the beginning of the sleep as recorded.
    pub device: u64,
    /// Not told by the recording: at the time of the next sign of life.
    pub unknown: u64,
}

impl Causes {
    /// The name of the cause that is a judgement.
    pub const MESSAGE: &str = "a message through a soft interrupt";
    /// All sleeps.
    pub fn sum(&self) -> u64 {
        self.task + self.message + self.outside + self.timer + self.timeout + self.device + self.unknown
    }
    /// The rows of a table: what ended the sleeps, how many, and what a replay does about it.
    pub fn rows(&self) -> [(&'static str, u64, &'static str); 7] {
        [
            ("a running task", self.task, "waits for that task"),
            (Causes::MESSAGE, self.message, "waits for the sender"),
            ("a soft interrupt from outside", self.outside, "at the recorded time"),
            ("a timer at fixed times", self.timer, "at the recorded time"),
            ("a timer set by the sleeper", self.timeout, "as long after the sleep began as recorded"),
            ("a device", self.device, "as long after the sleep began as recorded"),
            ("not recorded", self.unknown, "at the next sign of life"),
        ]
    }
}

/// The wake-ups of one task in soft interrupts in which another was current.
#[derive(Clone, Copy, Default)]
struct Pair {
    count: u64,
    /// Those with one in the other direction since the last.
    answers: u64,
    /// How many there were in the other direction at the last.
    back: u64,
}

/// Wake-ups in soft interrupts: wakee and current task.
#[derive(Default)]
pub(super) struct Messages {
    pairs: BTreeMap<(TaskId, TaskId), Pair>,
    /// All wake-ups of a task in soft interrupts, on idle CPUs too.
    all: BTreeMap<TaskId, u64>,
}

impl Messages {
    /// A wake-up on an idle CPU.
    pub(super) fn by_idle(&mut self, wakee: TaskId) {
        *self.all.entry(wakee).or_default() += 1;
    }
    /// A wake-up in the context of `current`.
    pub(super) fn beside(&mut self, wakee: TaskId, current: TaskId) {
        self.by_idle(wakee);
        let back = self.pairs.get(&(current, wakee)).map_or(0, |pair| pair.count);
        let pair = self.pairs.entry((wakee, current)).or_default();
        pair.answers += u64::from(back > pair.back);
        (pair.back, pair.count) = (back, pair.count + 1);
    }
    /// Whether soft interrupts woke a task beside this one.
    pub(super) fn has(&self, wakee: TaskId, current: TaskId) -> bool {
        self.pairs.contains_key(&(wakee, current))
    }
    /// The pairs (wakee, sender) that are taken for messages, with the confidence in thousandths.
    pub(super) fn judged(
        &self,
        infos: &IndexVec<TaskId, TaskInfo>,
        tracks: &IndexVec<TaskId, Track>,
        length: Ns,
    ) -> BTreeMap<(TaskId, TaskId), u64> {
        let name = |task: TaskId| infos.get(task).map_or("", |info| &info.name);
        let mut ran: BTreeMap<&str, u64> = BTreeMap::new();
        for task in tracks.ids() {
            *ran.entry(name(task)).or_default() += tracks[task].ran_in_all;
        }
        let mut beside: BTreeMap<(TaskId, &str), u64> = BTreeMap::new();
        for (&(wakee, current), pair) in &self.pairs {
            *beside.entry((wakee, name(current))).or_default() += pair.count;
        }
        let confidence = |&(wakee, current): &(TaskId, TaskId)| {
            let back = if self.is_mutual(wakee, current) { self.answers(current, wakee) } else { 0 };
            let answers = self.answers(wakee, current).max(back);
            let share = u128::from(ran[name(current)]) * WHOLE / u128::from(length.0.max(1));
            answers.max(beyond_chance(self.all[&wakee], beside[&(wakee, name(current))], share.min(WHOLE)))
        };
        let judged = self.pairs.keys().map(|pair| (*pair, confidence(pair)));
        judged.filter(|(_, confidence)| *confidence >= LIKELY_PERMILLE).collect()
    }
    /// Whether neither direction is rare beside the other: a few answers by chance would speak for all of the many.
    fn is_mutual(&self, a: TaskId, b: TaskId) -> bool {
        let count = |pair| self.pairs.get(&pair).map_or(0, |pair| pair.count);
        let (one, other) = (count((a, b)), count((b, a)));
        one.min(other) * 100 >= one.max(other) * LEAST_PERCENT
    }
    fn answers(&self, wakee: TaskId, current: TaskId) -> u64 {
        let pair = self.pairs.get(&(wakee, current)).filter(|pair| pair.count >= FEWEST);
        pair.map_or(0, |pair| pair.answers * 1000 / pair.count)
    }
}

/// The share, in thousandths, of `k` of `n` events that chance does not explain, where it hits with `share` millionths.
fn beyond_chance(n: u64, k: u64, share: u128) -> u64 {
    let (of_all, hits) = (u128::from(n), u128::from(k));
    let by_chance = of_all * share;
    let Some(more) = (hits * WHOLE).checked_sub(by_chance).filter(|_| k >= FEWEST && share < WHOLE) else { return 0 };
    // Nine variances of a binomial distribution, n p (1 - p), all in squared millionths.
    if more * more <= 9 * by_chance * (WHOLE - share) {
        return 0;
    }
    let permille = more * 1000 / ((WHOLE - share) * hits);
    u64::try_from(permille.min(1000)).expect("invariant: at most 1000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_explains_is_no_message() {
        // Current for a fifth of the time, and in a fifth of the interrupts.
        assert_eq!(beyond_chance(1000, 200, 200_000), 0);
        assert_eq!(beyond_chance(1000, 230, 200_000), 0, "within three deviations");
        assert_eq!(beyond_chance(1000, 1000, 200_000), 1000);
        // Half of all are messages; of the other half a fifth finds the sender by chance: 500 of 600.
        assert_eq!(beyond_chance(1000, 600, 200_000), 833);
        assert_eq!(beyond_chance(4, 4, 200_000), 0, "too few");
        assert_eq!(beyond_chance(1000, 1000, 1_000_000), 0, "always current: says nothing");
    }
}
