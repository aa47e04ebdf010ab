#![doc = include_str!("README.md")]

mod import;
mod load;
mod probe;
mod tasks;

pub use import::{read, sniff};
pub use load::{LoadInput, LoadKind, LoadRow, LoadState, read_load_rows};
pub use probe::read_quota_probes;
pub use tasks::{RecordedTask, read_tasks};

/// The format's name in the registry.
pub(crate) const NAME: &str = "recorded";
