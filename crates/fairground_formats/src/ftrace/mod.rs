#![doc = include_str!("README.md")]

mod body;
mod export;
mod import;
mod line;
mod state;

pub(crate) use export::FtraceWriter;
pub use import::{read, sniff};
pub(crate) use state::parse as parse_prev_state;

/// The format's name in the registry.
pub(crate) const NAME: &str = "ftrace";
