//! Counters of /proc/schedstat: what happened between two snapshots, and sums over CPUs.

mod difference;
mod total;

pub use difference::{Difference, difference};
pub use total::{LevelTotal, total_by_level, total_of_cpus};

#[cfg(test)]
mod tests;
