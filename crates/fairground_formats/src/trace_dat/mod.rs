#![doc = include_str!("README.md")]

mod description;
mod fields;
mod file;
mod import;
mod merge;
mod packing;
mod page;
mod stream;
mod tracepoints;
mod version6;
mod version7;

pub(crate) use import::{RawBuffer, read_raw};
pub use import::{read, sniff};

/// The format's name in the registry.
pub(crate) const NAME: &str = "trace-dat";
