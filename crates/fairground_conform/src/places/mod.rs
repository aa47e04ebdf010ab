//! Where tasks go: the CPU choices and the moves of a recording, held against the rules.
//!
//! A record tells who was queued where, and from that which CPUs were idle ([`Occupancy`]). It does not tell loads,
//! the sync flag, how far a search was allowed to look, or what another CPU had done but not written yet. So a choice
//! is judged twice: by the core's own answer in the lockstep (*strict*), and by the question whether any reading of what
//! is not recorded makes it right (*allowed*), with the rule, or the doubt, that does ([`PlaceRule`]).

mod balance;
mod fork;
mod moves;
mod occupancy;
mod rules;
#[cfg(test)]
mod tests;
mod view;
mod wakes;

pub use balance::{BatchRule, MoveTally, Moves};
pub use moves::MoveKind;
pub use rules::{PlaceRule, Placement, RuleTally, Unexplained};

pub(crate) use balance::{Scene, judge};
pub(crate) use fork::{BirthPlace, explain_fork};
pub(crate) use moves::{Batch, batches};
pub(crate) use occupancy::{Change, Occupancy};
pub(crate) use rules::{Choice, Era, explain};
pub(crate) use view::{Cursor, View};
pub(crate) use wakes::{Wake, wakes};
