//! Random whole systems under every check there is, and slow models of CFS and EEVDF beside the fast ones.
//!
//! A seed makes a [`Case`]: a machine, mostly a small one, a kernel with random switches and tunables, random
//! tasks and random changes in mid-run. [`run_case`] runs it again and again (in another thread, with
//! another event queue, from a clone taken in mid-run) under the [`oracle`]s; what fails is made smaller as
//! long as it fails in the same way, and printed as a scenario file. [`hunt()`] does so for many seeds.
//!
//! [`reference`](mod@reference) is CFS of one CPU as naive lists, EEVDF of a few, and the search for an idle CPU on any
//! machine, written from the rules and not from the core; the two are compared decision by decision.
#![deny(clippy::float_arithmetic)]

mod case;
mod coverage;
mod dice;
mod generate;
mod hunt;
mod mechanism;
pub mod oracle;
pub mod reference;
mod run;
mod shrink;

pub use case::Case;
pub use coverage::{Coverage, Decided, RuleRow};
pub use generate::Told;
pub use hunt::{Found, Hunt, hunt, replay, time_limit};
pub use mechanism::Mechanism;
pub use run::{CaseReport, Failure, Watch, failure_as_it_is, failure_of, run_case, run_case_watched, run_this};
pub use shrink::shrink;
