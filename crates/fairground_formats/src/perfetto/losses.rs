//! What the kernel's buffers say of lost events.

use crate::perfetto::wire::Fields;
use fairground_stdx::CpuMask;
use std::collections::BTreeMap;

// FtraceStats.
const PHASE: u32 = 1;
const CPU_STATS: u32 = 2;
const START_OF_TRACE: u64 = 1;
// FtraceCpuStats.
const CPU: u32 = 1;
const OVERRUN: u32 = 3;
const COMMIT_OVERRUN: u32 = 4;
const DROPPED_EVENTS: u32 = 8;

/// Events lost by the buffer of each CPU since it was made.
#[derive(Default)]
pub(super) struct Losses {
    at_start: BTreeMap<u64, u64>,
    at_end: BTreeMap<u64, u64>,
}

impl Losses {
    /// Takes a message FtraceStats. The first one of the start and the last one of the end count.
    pub(super) fn take(&mut self, stats: &[u8]) {
        let fields = || Fields::of(stats).flatten();
        let at_start = fields().any(|(number, value)| (number, value.number()) == (PHASE, Some(START_OF_TRACE)));
        for cpu_stats in fields().filter_map(|(number, value)| value.bytes().filter(|_| number == CPU_STATS)) {
            let (mut cpu, mut lost) = (0, 0u64);
            for (number, value) in Fields::of(cpu_stats).flatten() {
                match (number, value.number()) {
                    (CPU, Some(number)) => cpu = number,
                    (OVERRUN | COMMIT_OVERRUN | DROPPED_EVENTS, Some(number)) => lost = lost.saturating_add(number),
                    _ => {}
                }
            }
            match () {
                () if cpu >= CpuMask::CAPACITY as u64 => {}
                () if at_start => drop(self.at_start.entry(cpu).or_insert(lost)),
                () => drop(self.at_end.insert(cpu, lost)),
            }
        }
    }
    /// Events lost between the start and the end.
    pub(super) fn total(&self) -> u64 {
        let lost = |(cpu, &end): (&u64, &u64)| end.saturating_sub(self.at_start.get(cpu).copied().unwrap_or(0));
        self.at_end.iter().map(lost).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `phase` and the counters of CPUs 0 and 1.
    fn stats(phase: u8, counters: [[u8; 3]; 2]) -> Vec<u8> {
        let mut message = vec![PHASE as u8 * 8, phase];
        for (cpu, [overrun, commit_overrun, dropped]) in counters.into_iter().enumerate() {
            message.extend([
                CPU_STATS as u8 * 8 + 2,
                10,
                8,
                cpu as u8,
                3 * 8,
                overrun,
                4 * 8,
                commit_overrun,
                8 * 8,
                dropped,
                9 * 8,
                99,
            ]);
        }
        message
    }

    #[test]
    fn what_was_lost_before_the_start_does_not_count() {
        let mut losses = Losses::default();
        assert_eq!(losses.total(), 0);
        losses.take(&stats(1, [[5, 0, 0], [0, 0, 7]]));
        losses.take(&stats(1, [[90, 0, 0], [0, 0, 90]]));
        assert_eq!(losses.total(), 0);
        losses.take(&stats(2, [[9, 1, 0], [0, 0, 7]]));
        losses.take(&stats(2, [[10, 1, 1], [0, 0, 6]]));
        assert_eq!(losses.total(), 7);
        losses.take(&[PHASE as u8 * 8, 2, 0x12, 99]);
        assert_eq!(losses.total(), 7);
    }
}
