//! `service`: requests that come from outside, one queue, and workers: what a container with a CPU limit mostly is.

mod client;
mod params;
mod plan;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use params::WORKLOAD;
pub use params::of_args;
pub use plan::{Arrivals, Background, Batch, Demand, Service, State};
