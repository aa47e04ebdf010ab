//! Random services with a goal, and the smallest limit that meets it, found by trying.
//!
//! ```text
//! draw.rs    a service, its machine, its neighbours and its goal
//! truth.rs   the smallest limit by brute force, with seeds that `advise` does not use
//! known.rs   truths of an earlier exam
//! score.rs   how near the answers are, kind by kind
//! ```

mod draw;
mod known;
mod score;
mod truth;

pub use draw::{KINDS, Kind, Service, draw};
pub use known::Truths;
pub(crate) use score::reaches;
pub use score::{Advised, Nearness, are_good, examine_services, nearness, services_table};
pub use truth::{Truth, truth};
