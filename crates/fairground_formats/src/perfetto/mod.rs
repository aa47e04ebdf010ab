#![doc = include_str!("README.md")]

mod export;
mod proto;
mod tracks;

pub(crate) use export::PerfettoWriter;

/// The format's name in the registry.
pub(crate) const NAME: &str = "perfetto";
