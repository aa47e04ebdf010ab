//! Holds the scheduler core against a recorded kernel, decision by decision.
//!
//! The recorded *events* (wake-ups, sleeps, forks, exits, migrations, ticks) drive the real core through its entry
//! points. At each recorded *decision* the core is asked what it would have done in that very state; the answer is
//! counted; then the record is followed. Time comes from the recorded accounts of run time: each
//! `sched_stat_runtime` is one `update_curr`, and the core's clock of that CPU is set so that its own `update_curr`
//! sees the same length. A recorded virtual time is compared, never copied, but for tasks whose past lies before the
//! record.
//!
//! The accounts of a group with a quota are replayed apart from that ([`replay()`]).
//!
//! Reading order: [`read`] (what was each record part of?), [`lockstep`] (the drive), [`outcome`] (what came of it).
#![deny(clippy::float_arithmetic)]

mod fit;
pub mod lockstep;
mod order;
pub mod outcome;
mod places;
mod quota;
pub mod read;
pub mod recording;
mod world;

pub use fit::{Fit, fit};
pub use lockstep::{GroupMove, Lockstep, Setup};
pub use outcome::{Choice, Kind, KindTally, Mismatch, NOTABLE_PERCENT, Outcome, Share, Tally, VruntimeError, Vruntimes};
pub use places::{BatchRule, MoveKind, MoveTally, Moves, PlaceRule, Placement, RuleTally, Unexplained};
pub use quota::{Below, Quota, QuotaMiss, QuotaOutcome, QuotaSetup, Seen, cpus_of_queues, replay};
pub use read::{Known, Reading};
pub use recording::{GroupRecord, PrioChange, QueueRecord, QuotaAct, QuotaChange, Record, Recording};
