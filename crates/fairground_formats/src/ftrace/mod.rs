#![doc = include_str!("README.md")]

mod body;
mod export;
mod import;
mod line;
mod state;

pub(crate) use export::FtraceWriter;
pub(crate) use import::read_text;
pub use import::{read, sniff};
pub(crate) use state::{from_bits as state_from_bits, from_letters as state_from_letters, parse as parse_prev_state};

/// The name of the lines in which our own runs tell what is done with run queues.
const QUEUE_ACT: &str = "fairground_queue";

/// The format's name in the registry.
pub(crate) const NAME: &str = "ftrace";
