//! 128 bits that stand for a whole run: equal digests, equal runs.

use crate::event::{PrevState, TraceEvent, WakeContext};
use fairground_stdx::{CpuId, Id, Instant, TaskId};

/// Running digest of a record stream. Samples do not enter it.
///
/// Two 64-bit lanes: not cryptographic, a tripwire for differences between runs. A record is three words:
/// its head (time, CPU, kind) enters both lanes, its contents one each. The encoding is fixed for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    lanes: [u64; 2],
    records: u64,
}

impl Default for Digest {
    fn default() -> Self {
        Digest { lanes: [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344], records: 0 }
    }
}

const fn task(id: Option<TaskId>) -> u64 {
    match id {
        Some(id) => id.get() as u64 + 1,
        None => 0,
    }
}
const fn pair(a: u64, b: u64) -> u64 {
    a << 32 | b
}
const fn state(state: PrevState) -> u64 {
    match state {
        PrevState::Running => 0,
        PrevState::Sleeping => 1,
        PrevState::DiskSleep => 2,
        PrevState::Dead => 3,
        PrevState::IdleWait => 4,
    }
}
const fn context(context: WakeContext) -> u64 {
    match context {
        WakeContext::Task => 0,
        WakeContext::Softirq => 1,
        WakeContext::Hardirq => 2,
    }
}

/// Two words into a lane: each step is a bijection of the lane, so that no difference is ever lost.
#[inline]
const fn absorb(lane: u64, first: u64, second: u64) -> u64 {
    let half = (lane ^ first).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    (half ^ second).wrapping_mul(0xc2b2_ae3d_27d4_eb4f).rotate_left(32)
}

impl Digest {
    /// Mixes one record in. Where a record is made its kind is known, and in place only the words of that kind are left.
    #[inline(always)]
    pub fn record(&mut self, at: Instant, cpu: CpuId, event: &TraceEvent) {
        let (kind, a, b) = match *event {
            TraceEvent::SchedWaking { task: wakee, target_cpu, waker, context: from } => {
                (1, pair(task(Some(wakee)), target_cpu.get() as u64), pair(task(waker), context(from)))
            }
            TraceEvent::SchedWakeup { task: wakee, target_cpu } => (2, task(Some(wakee)), target_cpu.get() as u64),
            TraceEvent::SchedWakeupNew { task: wakee, target_cpu } => (3, task(Some(wakee)), target_cpu.get() as u64),
            TraceEvent::SchedSwitch { prev, prev_state, next } => (4, pair(task(prev), task(next)), state(prev_state)),
            TraceEvent::SchedMigrateTask { task: moved, orig_cpu, dest_cpu } => {
                (5, task(Some(moved)), pair(orig_cpu.get() as u64, dest_cpu.get() as u64))
            }
            TraceEvent::SchedStatRuntime { task: ran, runtime, vruntime } => {
                (6, task(Some(ran)) ^ runtime.0 << 24, vruntime.map_or(0, |v| v.0))
            }
            TraceEvent::SchedProcessFork { parent, child } => (7, task(parent), task(Some(child))),
            TraceEvent::SchedProcessExit { task: gone } => (8, task(Some(gone)), 0),
            TraceEvent::Decision(decision) => (9, pair(decision.a as u64, decision.b as u64), decision.reason as u64),
            TraceEvent::Marker { task: who, marker, value } => (10, pair(task(Some(who)), marker.index() as u64), value),
            TraceEvent::CpuFrequency { cpu: changed, khz } => (11, changed.get() as u64, khz as u64),
            TraceEvent::KernelWarn(warn) => (12, warn as u64, 0),
            TraceEvent::KernelSection { .. }
            | TraceEvent::CfsSample { .. }
            | TraceEvent::SeSample { .. }
            | TraceEvent::QueueAct { .. } => return,
        };
        self.records += 1;
        let head = at.ns() << 14 | (cpu.get() as u64) << 4 | kind;
        self.lanes = [absorb(self.lanes[0], head, a), absorb(self.lanes[1], !head, b)];
    }
    /// Mixes bytes in (for the digest of an input text).
    pub fn bytes(&mut self, bytes: &[u8]) {
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let (place, word) = (index as u64 * 16 + chunk.len() as u64, u64::from_le_bytes(word));
            self.lanes = [absorb(self.lanes[0], place, word), absorb(self.lanes[1], word, place)];
        }
    }
    /// The number of records mixed in.
    pub fn records(&self) -> u64 {
        self.records
    }
    /// The digest so far.
    pub fn value(&self) -> u128 {
        let finish = |lane: u64| {
            let z = (lane ^ lane >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
            z ^ z >> 32
        };
        u128::from(finish(self.lanes[0])) << 64 | u128::from(finish(self.lanes[1] ^ self.records))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differs_by_time_cpu_content_and_order() {
        let exit = |task| TraceEvent::SchedProcessExit { task: TaskId::new(task) };
        let run = |rows: &[(u64, u32, u32)]| {
            let mut digest = Digest::default();
            rows.iter().for_each(|&(at, cpu, task)| digest.record(Instant::from_ns(at), CpuId::new(cpu), &exit(task)));
            digest.value()
        };
        let base = run(&[(1, 0, 0), (2, 0, 1)]);
        assert_eq!(base, run(&[(1, 0, 0), (2, 0, 1)]));
        for other in [run(&[(1, 0, 0), (3, 0, 1)]), run(&[(1, 0, 0), (2, 1, 1)]), run(&[(1, 0, 1), (2, 0, 0)]), run(&[(1, 0, 0)])]
        {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn samples_leave_no_mark() {
        let mut digest = Digest::default();
        digest.record(Instant::ZERO, CpuId::new(0), &TraceEvent::CfsSample { nr_running: 1, util_avg: 2, load_avg: 3 });
        assert_eq!(digest, Digest::default());
    }
}
