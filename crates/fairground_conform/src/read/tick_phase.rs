//! Ticks have no record of their own. Their accounts of run time stand at a constant phase.

use super::{Start, is_fair};
use crate::recording::Recording;
use fairground_model::TraceEvent;
use fairground_stdx::{CpuId, Id, IndexVec, Ns};

/// Lengths of a tick that kernels are built with: HZ 100, 250, 300 and 1000.
const LENGTHS_NS: [u64; 4] = [10_000_000, 4_000_000, 3_333_333, 1_000_000];
/// Width of the bins in which phases are counted.
const BIN_NS: u64 = 2_000;
/// An account so soon after a wake-up or a switch belongs to that.
const QUIET_NS: u64 = 60_000;
/// How far from the phase an account of a tick may stand at least: before it and after it.
const BEFORE_NS: i64 = 8_000;
const AFTER_NS: i64 = 40_000;
/// Where many CPUs share the host, interrupts come later; but never more than this far from the phase.
const WIDEST_NS: i64 = 150_000;
/// Accounts further from their neighbours than that are no ticks: on one CPU, and on several.
const GAP_NS: i64 = 8_000;
const GAP_SMP_NS: i64 = 60_000;

/// When the ticks of a CPU come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TickPhase {
    /// From tick to tick.
    pub length: Ns,
    /// The phase: ticks stand at this time plus multiples of the length.
    pub phase: Ns,
    /// How far before its instant a tick may be seen.
    pub before: Ns,
    /// How far after its instant a tick may be seen.
    pub after: Ns,
}

impl TickPhase {
    /// The number of the tick in whose window `at` lies.
    #[inline]
    pub fn number_at(&self, at: u64) -> Option<u64> {
        let (at, phase, length) = (at + self.length.0, self.phase.0, self.length.0);
        let since = at.checked_sub(phase)? + self.before.0;
        (since % length <= self.before.0 + self.after.0).then_some(since / length)
    }
    /// Whether `at` lies nearer to the tick after it than to the one before it, and not just there.
    pub(crate) fn is_before(&self, at: u64) -> bool {
        let since = (at + self.length.0 - self.phase.0 % self.length.0) % self.length.0;
        since > self.length.0 / 2 && since + BIN_NS < self.length.0
    }
    /// Whether `at` lies at most so long after a tick.
    pub(crate) fn is_after(&self, at: u64, within: u64) -> bool {
        (at + self.length.0 - self.phase.0 + self.before.0) % self.length.0 <= self.before.0 + within
    }
}

/// The ticks of all CPUs. Without a given length the longest one is taken that explains as much as the best.
pub(super) fn find_all(
    recording: &Recording,
    nr_cpus: usize,
    start: &Start,
    length: Option<Ns>,
) -> IndexVec<CpuId, Option<TickPhase>> {
    let quiet = quiet_accounts(recording, nr_cpus, start);
    let length = length.map(|length| length.0).or_else(|| likeliest_length(&quiet));
    let mut ticks = IndexVec::new();
    let gap = if nr_cpus > 1 { GAP_SMP_NS } else { GAP_NS };
    for times in &quiet {
        let mut phase = length.and_then(|length| find(times, length, gap));
        // Our own ticks never come early.
        if let Some(phase) = phase.as_mut().filter(|_| !recording.queue_acts.is_empty()) {
            phase.before = Ns(BIN_NS);
        }
        ticks.push(phase);
    }
    ticks
}

/// Accounts that a CPU wrote of its own running task and that no wake-up or switch explains.
fn quiet_accounts(recording: &Recording, nr_cpus: usize, start: &Start) -> Vec<Vec<u64>> {
    let mut quiet = vec![Vec::new(); nr_cpus];
    let mut noisy_until = vec![0; nr_cpus];
    let mut running = start.running.clone();
    for record in &recording.records {
        let (cpu, at) = (record.cpu.index(), record.at.ns());
        match record.event {
            TraceEvent::SchedWaking { .. } => noisy_until[cpu] = at + QUIET_NS,
            TraceEvent::SchedSwitch { next, .. } => {
                noisy_until[cpu] = at + QUIET_NS;
                running[record.cpu] = next;
            }
            TraceEvent::SchedStatRuntime { task, .. }
                if at >= noisy_until[cpu] && running[record.cpu] == Some(task) && is_fair(&recording.tasks, task) =>
            {
                quiet[cpu].push(at);
            }
            _ => {}
        }
    }
    quiet
}

fn likeliest_length(quiet: &[Vec<u64>]) -> Option<u64> {
    let explained = |length: u64| -> usize { quiet.iter().map(|times| fullest_bin(times, length).map_or(0, |bin| bin.1)).sum() };
    let counts = LENGTHS_NS.map(|length| (length, explained(length)));
    let best = counts.iter().map(|row| row.1).max().filter(|&best| best > 0)?;
    // A tick of 4 ms stands at a constant phase of 1 ms too.
    counts.into_iter().find(|row| row.1 * 10 >= best * 9).map(|row| row.0)
}

/// The most frequent phase with the number of times that stand there.
fn fullest_bin(times: &[u64], length: u64) -> Option<(u64, usize)> {
    let mut bins: Vec<u64> = times.iter().map(|at| at % length / BIN_NS).collect();
    bins.sort_unstable();
    let fullest = bins.chunk_by(|a, b| a == b).max_by_key(|chunk| chunk.len())?;
    Some((fullest[0] * BIN_NS + BIN_NS / 2, fullest.len()))
}

/// The phase of one CPU and how far ticks stray from it.
fn find(times: &[u64], length: u64, gap: i64) -> Option<TickPhase> {
    let phase = fullest_bin(times, length)?.0;
    let half = length / 2;
    let offset = |at: &u64| ((at + length - phase + half) % length) as i64 - half as i64;
    let mut offsets: Vec<i64> = times.iter().map(offset).filter(|offset| offset.abs() <= WIDEST_NS).collect();
    offsets.sort_unstable();
    let middle = offsets.partition_point(|&offset| offset < 0);
    let last = spread(offsets[middle..].iter().copied(), gap);
    let first = spread(offsets[..middle].iter().rev().map(|offset| -offset), gap);
    let before = (first + gap).clamp(BEFORE_NS, WIDEST_NS);
    let after = (last + gap).clamp(AFTER_NS, WIDEST_NS);
    Some(TickPhase { length: Ns(length), phase: Ns(phase), before: Ns(before as u64), after: Ns(after as u64) })
}

/// How far distances, smallest first, go on without a gap.
fn spread(distances: impl Iterator<Item = i64>, gap: i64) -> i64 {
    let mut reached = 0;
    for distance in distances {
        if distance - reached > gap {
            break;
        }
        reached = distance;
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairground_model::{PrevState, Sink, TaskInfo, WakeContext};
    use fairground_stdx::{Instant, TaskId};

    fn ticks(length: u64, phase: u64, n: u64) -> Vec<u64> {
        (1..=n).map(|tick| tick * length + phase + tick % 7 * 100).collect()
    }

    #[test]
    fn the_phase_and_its_window_are_found() {
        let found = find(&ticks(4_000_000, 570_000, 100), 4_000_000, GAP_NS).unwrap();
        assert!(found.phase.0.abs_diff(570_000) <= BIN_NS);
        assert!(found.before.0 <= 10_000 && found.after == Ns(40_000));
        assert_eq!(found.number_at(4_000_000 * 9 + 575_000), found.number_at(4_000_000 * 9 + 600_000));
        assert_eq!(found.number_at(4_000_000 * 9 + 700_000), None);
        assert_eq!(found.number_at(4_000_000 * 9 + 300_000), None);
    }

    #[test]
    fn a_phase_near_the_wrap_holds_on_both_sides() {
        let found = find(&ticks(4_000_000, 3_999_000, 50), 4_000_000, GAP_NS).unwrap();
        let one = found.number_at(4_000_000 * 3 + 3_999_500);
        assert!(one.is_some());
        assert_eq!(one, found.number_at(4_000_000 * 4 + 10_000));
    }

    #[test]
    fn the_longest_length_that_explains_as_much_wins() {
        assert_eq!(likeliest_length(&[ticks(4_000_000, 570_000, 100)]), Some(4_000_000));
        assert_eq!(likeliest_length(&[ticks(1_000_000, 1_000, 100)]), Some(1_000_000));
        assert_eq!(likeliest_length(&[Vec::new()]), None);
    }

    /// A job that wakes at every tick's distance leaves more accounts at its phase than the tick does.
    #[test]
    fn accounts_after_wakeups_and_switches_have_no_vote() {
        let (cpu, hog, job) = (CpuId::new(0), TaskId::new(0), TaskId::new(1));
        let mut recording = Recording::default();
        for (task, pid) in [(hog, 100), (job, 101)] {
            recording.task(task, &TaskInfo { name: format!("t{pid}"), pid, prio: 120 });
        }
        let mut record = |at: u64, event: TraceEvent| recording.record(Instant::from_ns(at), cpu, &event);
        let ran = |task| TraceEvent::SchedStatRuntime { task, runtime: Ns(1_000), vruntime: None };
        let switch = |prev, next| TraceEvent::SchedSwitch { prev: Some(prev), prev_state: PrevState::Running, next: Some(next) };
        for start in (1..=50).map(|tick| tick * 4_000_000) {
            record(start + 570_000, ran(hog));
            let wakes = start + 2_000_000;
            record(wakes, TraceEvent::SchedWaking { task: job, target_cpu: cpu, waker: None, context: WakeContext::Hardirq });
            (0..3).for_each(|number| record(wakes + 300 + number, ran(hog)));
            record(wakes + 20_000, switch(hog, job));
            (0..3).for_each(|number| record(wakes + 40_000 + number, ran(job)));
            record(wakes + 50_000, switch(job, hog));
        }
        let start = Start::find(&recording, 1);
        let found = find_all(&recording, 1, &start, Some(Ns(4_000_000)))[cpu].unwrap();
        assert!(found.phase.0.abs_diff(570_000) <= BIN_NS, "{found:?}");
    }
}
