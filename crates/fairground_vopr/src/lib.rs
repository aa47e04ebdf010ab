//! Random whole systems under every check there is, and slow models of CFS and EEVDF beside the fast ones.
//!
//! A seed makes a [`Case`]: a small machine, a kernel with random switches and tunables, random
//! tasks and random changes in mid-run. [`run_case`] runs it again and again (in another thread, with
//! another event queue, from a clone taken in mid-run) under the [`oracle`]s; what fails is made smaller as
//! long as it fails, and printed with its seed.
//!
//! [`reference`](mod@reference) is CFS of one CPU as naive lists, and EEVDF of a few, written from the rules and not
//! from the core; the two are compared decision by decision.
#![deny(clippy::float_arithmetic)]

mod case;
mod dice;
mod generate;
pub mod oracle;
pub mod reference;
mod run;
mod shrink;

pub use case::{Case, ProfileChange};
pub use run::{CaseReport, Failure, Watch, fails, run_case, run_case_watched};
