//! Groups on a few CPUs as plain rows: slow, and written from docs/model/03-groups.md and 01-pelt.md.
//!
//! Random calls go to the core and to the model; after each of them all loads, weights, counts and averages of every
//! queue and entity must be the same, to the last bit. The model knows no virtual time: who is picked, and who sleeps on
//! its queue, it is told. Picks are checked against a search through everything that stands on each level. The ageing of
//! a single average is that of the `pelt` module.

mod calls;
mod changes;
mod compare;
mod model;
mod picks;
mod rules;
mod tree;

pub use compare::compare;
