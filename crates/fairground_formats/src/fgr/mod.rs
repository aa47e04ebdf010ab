#![doc = include_str!("README.md")]

mod container;
mod groups;
mod import;
mod json;
mod snapshot;

pub use container::{Container, MANIFEST, Manifest, RECORDINGS, VERSION, is_manifest};
pub(crate) use import::{holds, read};
pub use snapshot::{Host, Settings, SnapGroup, SnapTask, Snapshot};

/// The format's name in the registry.
pub(crate) const NAME: &str = "fgr";
