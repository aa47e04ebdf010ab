//! Recordings of real kernels: what lies in the folder of a recorded set, and how close our own decisions, load tracking and
//! quotas come to it.
//!
//! ```text
//! workload.txt    what ran                    set.rs       a set as a scenario
//! summary.json    figures with their limits   figures/     the same figures of any run, from its records
//! trace.csv.zst   what the kernel decided     conform/     the same decisions asked of our core
//! pelt.csv.zst    its updates of load         load_tracking/ the same updates by our arithmetic
//! system/         machine, kernel, switches   system.rs, kernel.rs, capacity.rs
//! ```

pub mod beside;
mod capacity;
mod clock;
pub mod conform;
pub mod figures;
mod kernel;
mod load;
pub mod load_tracking;
mod quota_record;
mod set;
mod system;

pub use clock::{Record, last_group};
pub use kernel::profile_of_release;
pub use set::RecordedSet;
pub use system::System;
