//! Puts records in order of time with the help of perf's rounds.
//!
//! perf copies the buffers of the CPUs one after the other and then writes a mark: a round. A record
//! of a later round is never earlier than all of the round before the last, so at each mark everything
//! up to the latest time of the previous round can be handed on. Without marks, or if the rounds are huge,
//! the earlier half is handed on whenever [`HELD_MAX`] records are held.

use crate::import::RawRecord;

/// Records held at most; about 100 MB.
const HELD_MAX: usize = 1 << 20;

/// Records that wait for their turn.
pub(super) struct Rounds {
    held: Vec<RawRecord>,
    held_max: usize,
    /// Latest time of this round and of those before.
    latest_ns: u64,
    /// The same when the last mark was met.
    safe_ns: u64,
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds::holding(HELD_MAX)
    }
    fn holding(held_max: usize) -> Rounds {
        Rounds { held: Vec::new(), held_max, latest_ns: 0, safe_ns: 0 }
    }
    /// Takes a record; hands on what there is no more room for.
    pub(super) fn push(&mut self, record: RawRecord, each: impl FnMut(RawRecord)) {
        self.latest_ns = self.latest_ns.max(record.at_ns);
        self.held.push(record);
        if self.held.len() >= self.held_max {
            self.hand_on(self.held_max / 2, each);
        }
    }
    /// A mark: the round ends here.
    pub(super) fn end_round(&mut self, each: impl FnMut(RawRecord)) {
        let safe_ns = std::mem::replace(&mut self.safe_ns, self.latest_ns);
        let ready = self.held.iter().filter(|record| record.at_ns <= safe_ns).count();
        self.hand_on(ready, each);
    }
    /// Nothing follows.
    pub(super) fn finish(&mut self, each: impl FnMut(RawRecord)) {
        self.hand_on(self.held.len(), each);
    }
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
    /// Hands on the `count` earliest. The sort is stable: records of one time stay in the file's order.
    fn hand_on(&mut self, count: usize, each: impl FnMut(RawRecord)) {
        if count > 0 {
            self.held.sort_by_key(|record| record.at_ns);
            self.held.drain(..count).for_each(each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{RawEvent, Who};

    fn record(at_ns: u64, line: u64) -> RawRecord {
        let task = Who { pid: 1, prio: None, name: None, name_is_stale: false };
        RawRecord { at_ns, cpu: 0, line, event: RawEvent::Exit { task }, current: None }
    }
    /// Times in; `None` is a mark. What comes out, a list per step.
    fn steps(held_max: usize, input: &[Option<u64>]) -> Vec<Vec<u64>> {
        let mut rounds = Rounds::holding(held_max);
        let mut out: Vec<Vec<u64>> = input
            .iter()
            .map(|step| {
                let mut times = Vec::new();
                match step {
                    Some(at) => rounds.push(record(*at, 0), |record| times.push(record.at_ns)),
                    None => rounds.end_round(|record| times.push(record.at_ns)),
                }
                times
            })
            .collect();
        out.push(Vec::new());
        rounds.finish(|record| out.last_mut().unwrap().push(record.at_ns));
        out.retain(|times| !times.is_empty());
        out
    }

    #[test]
    fn a_mark_releases_what_the_round_before_had() {
        // The example in perf's own documentation of its rounds.
        let input = [1, 2, 2, 3, 4, 0, 3, 4, 5, 5, 6, 7, 0, 6, 7, 8, 9, 10, 0];
        let input: Vec<Option<u64>> = input.into_iter().map(|at| (at > 0).then_some(at)).collect();
        assert_eq!(steps(100, &input), [vec![1, 2, 2, 3, 3, 4, 4], vec![5, 5, 6, 6, 7, 7], vec![8, 9, 10]]);
    }

    #[test]
    fn without_marks_memory_stays_bounded() {
        let input = [5, 1, 4, 2, 9, 8, 3, 7].map(Some);
        assert_eq!(steps(4, &input), [vec![1, 2], vec![4, 5], vec![3, 7], vec![8, 9]]);
    }

    #[test]
    fn equal_times_stay_in_order() {
        let mut rounds = Rounds::new();
        (0..40).for_each(|line| rounds.push(record(7, line), |_| {}));
        let mut lines = Vec::new();
        rounds.finish(|record| lines.push(record.line));
        assert!(lines.is_sorted() && lines.len() == 40 && rounds.is_empty());
    }
}
