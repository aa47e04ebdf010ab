//! The search for an idle CPU near a wake-up's target as plain loops over CPU numbers: slow, written from the rules
//! alone, and held against what the core chooses.
//!
//! ```text
//! a random system runs ──► between two events: whoever sleeps is woken, on a copy of the scheduler
//!                              │                                     │
//!                          its State, in plain lists             the core's choice, its looks,
//!                              │                                 what it remembers
//!                          the rules' choice, looks, memory ─────────┴──► equal?
//! ```
//!
//! A machine is a table with a row per CPU. Nothing is kept in sets, and caches, clusters and cores are found by going
//! over all CPUs.

mod compare;
mod rules;
mod search;
mod state;

pub use compare::{Tally, compare, compare_with_rules_of};

use rules::Rules;
use state::State;
