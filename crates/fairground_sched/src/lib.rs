//! The scheduler: run queues, PELT, the fair class; no clock, no cost, no I/O
#![deny(clippy::float_arithmetic)]

/// The fair class.
pub mod fair {
    pub mod tunables;
    pub mod weight;
}
pub mod features;
pub mod pelt;
pub mod profile;
pub mod seam;
pub mod version;
