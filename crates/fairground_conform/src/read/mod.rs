//! Reading states out of a trace: what each record was part of, derived from the records alone.
//!
//! `sched_stat_runtime` marks one `update_curr`, but not why it was made. The events that the same CPU wrote just
//! before and after say so ([`Mark`]); ticks are known by their phase.

mod calls;
mod hrtick;
mod known;
mod mark;
mod quota;
mod start;
mod tick_phase;

pub(crate) use calls::Calls;
pub use known::{Known, is_fair};
pub use mark::Mark;
pub(crate) use mark::ONE_CALL;
pub use start::Start;
pub use tick_phase::TickPhase;

use crate::order::Order;
use crate::places::{Batch, Occupancy, Wake, batches, wakes};
use crate::recording::Recording;
use fairground_stdx::{CpuId, IndexVec};
use std::collections::BTreeSet;

/// What was read out of a recording.
pub struct Reading {
    /// For each record what it was part of.
    pub marks: Vec<Mark>,
    /// For each task whether it reads its own clock now and then, so that accounts come at any time.
    pub reads_clock: Vec<bool>,
    /// The tick of each CPU, where one was found.
    pub ticks: IndexVec<CpuId, Option<TickPhase>>,
    /// Who was where when the recording began.
    pub start: Start,
    /// Whether run time was recorded; otherwise timestamps must do.
    pub has_runtime: bool,
    /// For each act of quota the account of run time that it makes.
    pub(crate) quota_accounts: Vec<Option<usize>>,
    /// Whether the record tells when hrticks fire; else they are guessed.
    pub tells_hrticks: bool,
    /// The numbers of those of them, among the rows about queues, that made an account.
    pub(crate) accounted_hrticks: BTreeSet<usize>,
    /// Calls that the record tells.
    pub(crate) calls: Calls,
    pub(crate) order: Order,
    pub(crate) wakes: Vec<Wake>,
    pub(crate) occupancy: Occupancy,
    pub(crate) batches: Vec<Batch>,
}

impl Reading {
    /// Reads a recording.
    pub fn new(recording: &Recording, nr_cpus: usize, known: Known) -> Reading {
        let order = Order::new(recording, nr_cpus);
        let start = Start::find(recording, nr_cpus);
        let ticks = tick_phase::find_all(recording, nr_cpus, &start, known.tick);
        let hrticks = hrtick::accounts(recording);
        let accounts = hrticks.values().copied().collect();
        let calls = Calls::find(recording, &start, nr_cpus);
        let (mut marks, reads_clock) = mark::mark_all(recording, &order, &start, &ticks, (known, &accounts, &calls));
        let quota_accounts = match recording.tells_quotas_in_place() {
            true => vec![None; recording.quota_acts.len()],
            false => quota::accounts(recording, &start, known.stops_tasks),
        };
        quota_accounts.iter().flatten().for_each(|&account| marks[account] = Mark::Quota);
        let has_runtime =
            recording.records.iter().any(|record| matches!(record.event, fairground_model::TraceEvent::SchedStatRuntime { .. }));
        let wakes = wakes(recording, &order);
        let occupancy = Occupancy::new(recording, &order, &start, &wakes);
        let batches = batches(recording, &order, &start, &marks);
        let tells_hrticks = !recording.queue_acts.is_empty();
        let accounted_hrticks = hrticks.into_keys().collect();
        Reading {
            marks,
            reads_clock,
            ticks,
            start,
            has_runtime,
            quota_accounts,
            tells_hrticks,
            accounted_hrticks,
            calls,
            order,
            wakes,
            occupancy,
            batches,
        }
    }
}
