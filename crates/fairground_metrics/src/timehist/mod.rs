//! What `perf sched timehist` and `perf sched latency` compute, from any recorded or simulated run.
//!
//! ```text
//!  switched out     ready        switched in      switched out
//!       |------------|---------------|----------------|
//!       |            '--- delay -----'                |
//!       '---------- wait ------------'---- run -------'    one row of timehist
//! ```
//!
//! * **Wait** is classed by what the task was when it was switched out: runnable (preempted), asleep without
//!   interruption (I/O), otherwise asleep. It contains the delay.
//! * **Delay** of timehist is from the wake-up alone; a task that was not woken since has none.
//! * **Delay** of the latency table also counts waits after a preemption.

mod class;
mod contention;
mod history;
mod latency;
mod summary;
mod windows;

pub use class::{ReadyMark, Wait, WaitClass};
pub use contention::{Antagonist, Contention, CpuQueue, DEPTHS};
pub use history::{TimeHist, TimeHistLine, TimeHistRow, WakeupRow};
pub use latency::{LatencyRow, LatencyTable, LongestDelay, PendingDelay, SchedLatency};
pub use summary::{Span, Summary, SummaryRow};
pub use windows::{Share, Windows};

#[cfg(test)]
mod tests;
