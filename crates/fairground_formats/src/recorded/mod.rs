#![doc = include_str!("README.md")]

mod import;
mod tasks;

pub use import::{read, sniff};
pub use tasks::{RecordedTask, read_tasks};

/// The format's name in the registry.
pub(crate) const NAME: &str = "recorded";
