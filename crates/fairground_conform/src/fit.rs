//! Lags that no record tells: an EEVDF kernel thread that slept before the record keeps one number through it.
//!
//! That number can be fitted: the one that leaves the fewest disagreements. The result stands beside the headline, which
//! takes all unknown lags as 0; tasks whose birth is in the record are never touched.

use crate::lockstep::{Lockstep, Setup};
use crate::outcome::{Kind, Outcome};
use crate::read::{Known, Reading};
use crate::recording::Recording;
use fairground_stdx::TaskId;
use std::collections::BTreeMap;
use std::rc::Rc;

/// At most so many threads are fitted: those that stand beside the most disagreements.
const THREADS_MAX: usize = 8;
/// Disagreements that are looked at for such threads.
const LOOKED_AT: usize = 400;
/// Steps between the lags that are tried, and how many of them to either side, coarse to fine. A lag is at most a tick.
const SEARCH: [(i64, i64); 3] = [(500_000, 8), (100_000, 4), (25_000, 3)];

/// A comparison with fitted lags.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The lag in virtual ns of each thread that was fitted.
    pub lags: Vec<(TaskId, i64)>,
    /// What came out with them.
    pub outcome: Outcome,
}

/// Fits the lags of kernel threads; nothing if there is none to fit, nothing to gain, or `stopped`.
pub fn fit(recording: &Recording, setup: &Setup, stopped: &dyn Fn() -> bool) -> Option<Fit> {
    if !setup.profile.pick.is_eevdf() {
        return None;
    }
    let known = Known::of(&setup.profile, setup.tick);
    let reading = Rc::new(Reading::new(recording, setup.machine.cpus.len(), known));
    let walk = |lags: Vec<(TaskId, i64)>, keep: usize| {
        let mut lockstep = Lockstep::over(recording, Rc::clone(&reading), &Setup { lags, keep, ..setup.clone() });
        lockstep.advance(lockstep.len());
        lockstep.finish()
    };
    let threads = threads_in_doubt(recording, &walk(Vec::new(), LOOKED_AT));
    let mut lags: Vec<(TaskId, i64)> = threads.into_iter().map(|task| (task, 0)).collect();
    let mut best = disagreements(&walk(Vec::new(), 1));
    let before = best;
    for row in 0..lags.len() {
        for (step, reach) in SEARCH {
            let middle = lags[row].1;
            for lag in (-reach..=reach).map(|count| middle + count * step) {
                if stopped() {
                    return None;
                }
                let mut tried = lags.clone();
                tried[row].1 = lag;
                let wrong = disagreements(&walk(tried, 1));
                if wrong < best {
                    (best, lags[row].1) = (wrong, lag);
                }
            }
        }
    }
    lags.retain(|row| row.1 != 0);
    (best < before).then(|| Fit { outcome: walk(lags.clone(), setup.keep), lags })
}

/// Kernel threads of unknown past that were queued at a disagreement, most frequent first.
fn threads_in_doubt(recording: &Recording, outcome: &Outcome) -> Vec<TaskId> {
    let mut counts: BTreeMap<TaskId, usize> = BTreeMap::new();
    for task in outcome.mismatches.iter().flat_map(|mismatch| &mismatch.unknown_lag) {
        if recording.is_kernel_thread(*task) {
            *counts.entry(*task).or_insert(0) += 1;
        }
    }
    let mut threads: Vec<(usize, TaskId)> = counts.into_iter().map(|(task, count)| (count, task)).collect();
    threads.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    threads.into_iter().take(THREADS_MAX).map(|row| row.1).collect()
}

fn disagreements(outcome: &Outcome) -> u64 {
    let kinds = [Kind::Pick, Kind::WakeupPreempt, Kind::TickPreempt, Kind::UpdatePreempt, Kind::Shared];
    kinds.iter().filter_map(|kind| outcome.kinds.get(kind)).map(|row| row.all.decisions - row.all.agree).sum()
}
