#![doc = include_str!("README.md")]

mod attrs;
mod bytes;
mod cgroups;
mod header;
mod import;
mod inflater;
mod notes;
mod record_kinds;
mod rounds;
mod sample;
mod session;
mod tracepoints;
mod tracing_data;

pub use import::{read, sniff};
pub(crate) use import::{read_pipe, sniff_pipe};

/// The format's name in the registry.
pub(crate) const NAME: &str = "perf-data";
